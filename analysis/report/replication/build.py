"""Sets the printed beside the recomputed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from analysis.codec import MissingResult, present, try_estimate
from analysis.data import read
from analysis.data.filters import OF_STUDY, SOURCES, ReportOptions
from analysis.report.chapters.accuracy.results import Subfields
from analysis.report.replication.facts import Facts, facts
from analysis.report.replication.printed import (
    HUMAN,
    MACHINE,
    NO_MACHINE_SCORES,
    PLACES,
    ROWS,
    Place,
    Printed,
)
from analysis.report.replication.values import Recomputed
from analysis.report.report import Report
from experiment.models import Item, Study
from lib.formatting import is_known

SOURCE_LEFT_OUT = MissingResult(
    "The report does not include these test cases.", "Compute the report with --source all."
)


class Verdict(StrEnum):
    """NOT_PRINTED: the figure shows the value but no number. NOT_IN_FILES: the imported files cannot give the value. ABSENT:
    they could, but it is not in this report."""

    AGREES = "agrees"
    DIFFERS = "differs"
    NOT_PRINTED = "not_printed"
    NOT_IN_FILES = "not_in_files"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A printed number beside the recomputed one.

    missing: why there is none, with ABSENT. instead: the value that explains the difference, where it does; explained:
    whether anything is known to.
    """

    row: Printed
    verdict: Verdict
    recomputed: float | None = None
    missing: MissingResult | None = None
    instead: float | None = None
    explained: bool = False


@dataclass(frozen=True, slots=True)
class Cells:
    """Every model less people in every subfield (the paper's figure S5), in percentage points, on the test cases of one source.

    models: label, and a value per subfield; None where it scored nothing of it.
    """

    source: str
    subfields: tuple[str, ...]
    models: tuple[tuple[str, tuple[float | None, ...]], ...]

    @property
    def known(self) -> list[float]:
        return [value for _, row in self.models for value in row if value is not None]


@dataclass(frozen=True)
class Replication:
    """`cells`: of the sources whose test cases people judged and models scored."""

    comparisons: Sequence[Comparison]
    cells: Sequence[Cells]
    facts: Facts

    def of(self, *verdicts: Verdict) -> list[Comparison]:
        return [one for one in self.comparisons if one.verdict in verdicts]

    @property
    def by_place(self) -> list[tuple[Place, list[Comparison]]]:
        """In the paper's order."""
        found: dict[Place, list[Comparison]] = {place: [] for place in PLACES.values()}
        for one in self.comparisons:
            found[one.row.place].append(one)
        return list(found.items())


def replicate(study: Study, report: Report) -> Replication:
    """`report`: of this study, with human-created test cases among its sources."""
    options = ReportOptions(participants="imported", texts=report.header.options.texts)
    data = read.read(study, options)
    del data[OF_STUDY]
    results = {
        source: replace(own, results={**report.of_study.results, **own.results})
        for source, own in report.sources.items()
    }
    # Machine-created test cases whose original and altered text are those of a human-created one
    texts = {}
    for source in (HUMAN, MACHINE):
        published = Item.objects.filter(
            key__in=set(data[source].items["key"]), texts=Item.Texts.AS_PUBLISHED
        )
        texts[source] = list(published.order_by().values_list("original", "altered"))
    human = set(texts[HUMAN])
    n_identical = sum(pair in human for pair in texts[MACHINE])
    by_source = {s: Recomputed(own, data[s], n_identical) for s, own in results.items()}
    cells = []
    for own in (results[source] for source in SOURCES if source in results):
        subfields = present(own.of(Subfields).subfields) or ()
        judged = [(one, one.humans.accuracy) for one in subfields if one.humans and one.models]
        if not judged:
            continue
        # Models in the order in which subfields name them first; a subfield may lack some
        labels = {model.name: model.label for one, _ in judged for model in one.models}
        columns = []
        for one, people in judged:
            less_people = {m.name: 100 * (m.share.accuracy - people) for m in one.models}
            columns.append([less_people.get(name) for name in labels])
        rows = zip(labels.values(), zip(*columns, strict=True), strict=True)
        cells.append(Cells(own.source, tuple(one.subfield for one, _ in judged), tuple(rows)))
    compared = [compare(row, by_source) for row in ROWS]
    return Replication(compared, cells, facts(study, data, results[HUMAN]))


def compare(row: Printed, by_source: Mapping[str, Recomputed]) -> Comparison:
    """A printed number beside the recomputed one."""
    value = _compute(row, row.value, by_source)
    if not isinstance(value, float):
        is_lacking = bool(row.not_in_files) and value is not SOURCE_LEFT_OUT
        if is_lacking and row.not_in_files == NO_MACHINE_SCORES:  # they may be from elsewhere
            is_lacking = not len(by_source[row.source].data.set_models)
        if is_lacking:
            return Comparison(row, Verdict.NOT_IN_FILES)
        return Comparison(row, Verdict.ABSENT, missing=value)
    if not row.printed:
        return Comparison(row, Verdict.NOT_PRINTED, value)
    if row.agrees(value):
        return Comparison(row, Verdict.AGREES, value)
    if not row.instead:
        return Comparison(row, Verdict.DIFFERS, value, explained=bool(row.why))
    # A reason that names another value explains the difference only if that is what was printed
    instead = _compute(row, row.instead, by_source)
    if not isinstance(instead, float) or not row.agrees(instead):
        return Comparison(row, Verdict.DIFFERS, value)
    return Comparison(row, Verdict.DIFFERS, value, instead=instead, explained=True)


def _compute(
    row: Printed, path: str, by_source: Mapping[str, Recomputed]
) -> float | MissingResult | None:
    """None: nothing could be computed for this row."""
    if not path:
        return None
    if row.source not in by_source:
        return SOURCE_LEFT_OUT
    found = try_estimate(by_source[row.source].value, path)
    if isinstance(found, MissingResult):
        return found
    if not is_known(found):
        return MissingResult("The value is not defined on these data.")
    return row.times * found
