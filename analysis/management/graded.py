"""Input and output of `graded_metrics`: a line of JSON for each graded answer, counted as it comes."""

import hashlib
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from analysis.stats.graded.rates import ClusteredRates, Share
from lib import strict_json
from lib.commands import table_lines
from lib.formatting import DASH
from scoring.domain.grading.reading import read_points
from scoring.domain.grading.rubric import Fate, Rubric
from scoring.domain.thinking import answer_in

LONGEST = 10 * 2**20  # bytes of a line
FATES = tuple(Fate)


class BadLine(ValueError):
    """A line that is none: `number` from 1, and why, as the end of a sentence."""

    def __init__(self, number: int, reason: str) -> None:
        self.number = number
        super().__init__(f"line {number:,}: {reason}")


@dataclass(frozen=True, slots=True)
class GradedLine:
    """template: None for a question of its own. raw: what the judge said, None where it said nothing.

    texts: the answer and the expert's, where both are there.
    """

    number: int
    model: str
    question: Hashable
    template: Hashable
    raw: str | None
    texts: tuple[str, str] | None

    @property
    def answered(self) -> bytes:
        """A name for the model and its question: 16 bytes, however long these are."""
        return hashlib.blake2b(repr((self.model, self.question)).encode(), digest_size=16).digest()

    @property
    def cluster(self) -> Hashable:
        named = self.template not in (None, "")
        return ("template", self.template) if named else ("question", self.question)


@dataclass
class Counts:
    """A model's answers by cluster: [good, abstained, bad, unparsed], in the order of `FATES`."""

    by_cluster: dict[Hashable, list[int]] = field(default_factory=dict)

    def add(self, line: GradedLine, fate: Fate) -> None:
        counts = self.by_cluster.setdefault(line.cluster, [0] * len(FATES))
        counts[FATES.index(fate)] += 1

    @property
    def is_read(self) -> bool:
        """True if a grade could be read at all."""
        return any(
            sum(counts) > counts[FATES.index(Fate.UNPARSED)] for counts in self.by_cluster.values()
        )

    @property
    def totals(self) -> dict[Fate, int]:
        return {
            fate: sum(counts[n] for counts in self.by_cluster.values())
            for n, fate in enumerate(FATES)
        }


Also = Callable[[GradedLine, float | None], None]


def tally(file: BinaryIO, rubric: Rubric, also: Also | None = None) -> dict[str, Counts]:
    """Each model's counts, models in the order in which they come; `also` sees each line with its points. Raises BadLine."""
    found: dict[str, Counts] = {}
    seen: dict[bytes, int] = {}
    for line in read_lines(file):
        first = seen.setdefault(line.answered, line.number)
        if first != line.number:
            raise BadLine(
                line.number, f"{line.model} has answered this question in line {first:,}."
            )
        points = None if line.raw is None else read_points(answer_in(line.raw), rubric)
        found.setdefault(line.model, Counts()).add(line, rubric.fate(points))
        if also is not None:
            also(line, points)
    return found


def read_lines(file: BinaryIO) -> Iterator[GradedLine]:
    """One line in memory at a time; empty ones are passed over. Raises BadLine."""
    number = 0
    while data := file.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST:
            raise BadLine(number, f"it has more than {LONGEST:,} bytes.")
        try:
            text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadLine(number, "it is not UTF-8 text.") from error
        if text:
            yield _line(number, text)


def _line(number: int, text: str) -> GradedLine:
    try:
        values = strict_json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadLine(number, "it is not JSON.") from error
    if not isinstance(values, dict):
        raise BadLine(number, "it is not a JSON object.")
    if missing := [key for key in ("model", "question", "raw") if key not in values]:
        raise BadLine(number, f"it does not have {' and '.join(missing)}.")
    model = values["model"]
    if not isinstance(model, str) or not model.strip():
        raise BadLine(number, "the name of the model is missing.")
    question, template = values["question"], values.get("template")
    for key, name in (("question", question), ("template", template)):
        is_none = name is None and key == "template"
        if isinstance(name, bool) or not (isinstance(name, str | int) or is_none):
            raise BadLine(number, f"its {key} is neither a text nor a whole number.")
    if not isinstance(values.get("categories") or {}, dict):
        raise BadLine(number, "its categories are not an object of dimensions.")
    raw = values["raw"]
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        raw = str(raw)
    if not isinstance(raw, str | None):
        raise BadLine(number, "raw, the judge's reply, is not a text.")
    texts = values.get("answer"), values.get("expert_answer")
    return GradedLine(
        number, model, question, template, raw,
        (answer_in(texts[0]), texts[1]) if isinstance(texts[0], str) and isinstance(texts[1], str) else None,
    )  # fmt: skip


RATES = ("rqr", "sr", "ar")


Rated = tuple[Counts, ClusteredRates | None]  # None where no grade could be read


def values_of(one: Rated) -> dict[str, Any]:
    """For --json: what is not defined is null."""
    counts, found = one
    totals = counts.totals
    values: dict[str, Any] = {
        "n": sum(totals.values()),
        **{f"n_{fate}": n for fate, n in totals.items()},
        "n_clusters": len(counts.by_cluster),
        "quadrant": found.rates.quadrant if found else None,
    }
    for name in RATES:
        share: Share | None = getattr(found, name, None)
        values[name] = share.value if share else None
        values[f"{name}_ci95"] = share.ci95 if share else None
        method = "clustered" if share and share.is_clustered else "wilson"
        values[f"{name}_ci95_method"] = method if share else None
        values[f"{name}_ci95_wilson"] = share.wilson_ci95 if share else None
        values[f"{name}_ci95_clustered"] = share.clustered_ci95 if share else None
    return values


def rate_lines(models: Mapping[str, tuple[int, int, ClusteredRates | None]]) -> Iterator[str]:
    """A row for each model, and what its intervals are; of each its answers, the unparsed among them, and its rates."""
    rows = [
        {
            "model": name,
            "n": f"{n:,}",
            "unparsed": f"{n_unparsed:,}",
            "RQR": _cell(found.rqr if found else None),
            "SR": _cell(found.sr if found else None),
            "AR": _short(found.ar.value) if found else DASH,
            "quadrant": (found.rates.quadrant if found else None) or DASH,
        }
        for name, (n, n_unparsed, found) in models.items()
    ]
    yield from table_lines(rows, left=("model", "RQR", "SR", "quadrant"))
    clustered = [name for name, (*_, found) in models.items() if found and found.rqr.is_clustered]
    yield ""
    yield (
        "95% intervals treat rows of one template as a cluster."
        if clustered
        else "95% intervals are Wilson's and treat rows as independent."
    )


def _cell(share: Share | None) -> str:
    if share is None:
        return DASH
    low, high = map(_short, share.ci95)
    return f"{_short(share.value)} [{low}{DASH}{high}]"  # a terminal breaks no interval without a space


def _short(value: float) -> str:
    """Two digits without the leading zero, as the method's tables have them."""
    return f"{value:.2f}".removeprefix("0")
