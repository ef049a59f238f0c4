"""The texts that a run scores, in order and by name; and the same as tokens, or why one cannot be scored.

They are a study's test cases, or a reference corpus: a table or JSONL file with a text a row, that a model is asked how well it
knows.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiment.models import Item
from lib.confined import ConfinedError, confined
from lib.files import read_regular
from scoring.domain.backend import ScoringError, TextError, TokenText
from scoring.domain.conditions import ConditionItem, MarkedText, parsed, text_pairs
from scoring.domain.encoding import Encoded
from scoring.domain.perplexity import VERSIONS, encode_versions
from scoring.domain.prompts import Prompt
from scoring.models import ScoringRun
from scoring.training.corpus.read.reference import read_texts


def describe_corpus(path: Path, text_column: str = "text", id_column: str = "id") -> dict[str, str]:
    """The facts about a corpus' file by which a run reads the same texts again.

    Raises:
        ScoringError: the file cannot be read.
    """
    digest = hashlib.sha256(_bytes(path)).hexdigest()
    return {
        "path": str(path.resolve()),
        "sha256": digest,
        "text_column": text_column,
        "id_column": id_column,
    }


def read_corpus(about: Mapping[str, Any]) -> list["RunText"]:
    """The texts of a file that `describe_corpus` described, numbered from 1 in its order.

    Raises:
        ScoringError: it cannot be read, holds no text, or is not the same any more; line numbers are named.
    """
    path = Path(about["path"])
    content = _bytes(path)
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise ScoringError(f"{path} has changed since the run began. Start a new run.")
    columns = (about["text_column"], about["id_column"])
    try:
        found = confined(read_texts, content, path, *columns, refusals=[ScoringError])
    except ConfinedError as error:
        raise ScoringError(f"{path}: {error}") from error
    texts = []
    for n, one in enumerate(found, start=1):
        name = f"row {n} ({one.id})" if one.id else f"row {n}"
        texts.append(RunText(name, None, n, (MarkedText(one.text, ()),), one.id))
    return texts


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise ScoringError(f"{path} cannot be read: {error.strerror or error}.") from error


@dataclass(frozen=True)
class RunText:
    """The unit that is scored as one: both versions of an item or of one of its sentences, or one text of a corpus."""

    name: str
    item: Item | None
    unit: int  # sentence of the item, from 0; row of the corpus, from 1
    texts: tuple[MarkedText, ...]
    text_id: str = ""

    @property
    def place(self) -> tuple[int | None, int]:
        """The key by which its rows are found in the database."""
        return (self.item.pk if self.item else None, self.unit)

    @property
    def versions(self) -> tuple[str, ...]:
        return VERSIONS if len(self.texts) == 2 else ("text",)


@dataclass(frozen=True)
class Unscorable:
    """A text that cannot be scored, and why."""

    name: str
    item: Item | None
    unit: int
    reason: str


@dataclass(frozen=True)
class RunTexts:
    """All texts of a run, and what its condition leaves no text of."""

    texts: Sequence[RunText]
    unscorable: Sequence[Unscorable]

    @property
    def total(self) -> int:
        return len(self.texts) + len(self.unscorable)

    @property
    def sha256(self) -> str:
        """The hash of all that a model will see and of whose it is."""
        said = [
            (text.name, text.item and text.item.version, text.unit, [m.text for m in text.texts])
            for text in self.texts
        ]
        left_out = [(text.name, text.reason) for text in self.unscorable]
        return hashlib.sha256(json.dumps([said, left_out]).encode()).hexdigest()


def texts_of(run: ScoringRun) -> RunTexts:
    """The run's texts as they are now.

    Raises:
        ScoringError: there are none, or the corpus' file cannot be read or has changed.
    """
    if run.corpus:
        return RunTexts(read_corpus(run.corpus_file)[: run.limit], ())
    if run.study is None:
        raise ScoringError("The study whose test cases were to be scored has been deleted.")
    pinned = run.study.items.filter(kind=Item.Kind.TEST)
    pinned = pinned.filter(source=run.source) if run.source else pinned
    # Sorted here: databases disagree on the order of texts
    items = {item.key: item for item in sorted(pinned, key=lambda item: item.key)}
    if not items:
        created = f"{Item.Source(run.source).label} " if run.source else ""
        raise ScoringError(f"Study {run.study.slug} has no {created}test case to score.")
    return item_texts(list(items.values()), run.condition, run.seed, run.limit)


def item_texts(
    sorted_items: Sequence[Item], condition: str, seed: int | None, limit: int | None = None
) -> RunTexts:
    """The texts of items under a condition: of the first so many, in their order."""
    items = {item.key: item for item in sorted_items}
    chosen = dict(list(items.items())[:limit])
    # Swaps draw from the whole subfield: the first n of a limited run read as they do in a whole one
    drawn_from = {i.subfield for i in chosen.values()} if condition == "swapped" else set()
    about = [
        ConditionItem(i.key, i.subfield, i.work, parsed(i.markup))
        for i in items.values()
        if i.key in chosen or i.subfield in drawn_from
    ]
    pairs, problems = text_pairs(condition, about, seed, chosen)
    reasons = defaultdict(list)
    for problem in problems:
        reasons[problem.item_key].append(problem.reason)
    texts = [
        RunText(
            f"{pair.item_key}, sentence {pair.unit + 1}"
            if condition == "isolated"
            else pair.item_key,
            items[pair.item_key],
            pair.unit,
            (pair.original, pair.altered),
        )
        for pair in pairs
    ]
    unscorable = [Unscorable(key, items[key], 0, "; ".join(why)) for key, why in reasons.items()]
    return RunTexts(texts, unscorable)


@dataclass(frozen=True)
class EncodedText:
    """A run's text as the model sees it; `index` is its place among all texts of the run."""

    index: int
    text: RunText
    encoded: tuple[Encoded, ...]

    @property
    def group(self) -> tuple[TokenText, ...]:
        names = (f"{self.text.name}, {version}" for version in self.text.versions)
        return tuple(TokenText(n, e.ids) for n, e in zip(names, self.encoded, strict=True))

    @property
    def n_tokens(self) -> int:
        return sum(len(encoded.ids) for encoded in self.encoded)


def encode_all(
    texts: Sequence[RunText],
    tokenizer: Any,
    prompt: Prompt,
    context_tokens: int | None,
    truncate: bool = False,
) -> tuple[dict[int, EncodedText], list[Unscorable]]:
    """Tokenise all texts, by index; those that cannot be scored are named and left out.

    truncate: cut what is longer than `context_tokens`, in place of leaving it out.
    """
    fitting: dict[int, EncodedText] = {}
    unscorable = []
    for index, text in enumerate(texts):
        try:
            encoded = encode_versions(
                tokenizer, prompt, text.versions, text.texts, context_tokens, truncate
            )
            fitting[index] = EncodedText(index, text, encoded)
        except TextError as error:
            unscorable.append(Unscorable(text.name, text.item, text.unit, str(error)))
    return fitting, unscorable
