"""What a model reads under a condition: an item's texts in full, sentence by sentence, or with swapped results.

docs/decisions/0006-conditions.md says what the paper's authors did, and where and why this differs.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from experiment.domain.markup import Abstract
from scoring.domain.marked_texts import MarkedText, Sentence, sentences, whole

__all__ = (
    "CONDITIONS",
    "ConditionError",
    "ConditionItem",
    "ConditionProblem",
    "MarkedText",
    "TextPair",
    "text_pairs",
)

CONDITIONS = ("full", "isolated", "swapped")


class ConditionError(ValueError):
    """The condition cannot be made at all: it is unknown, or the swaps have no seed."""


@dataclass(frozen=True, slots=True)
class ConditionProblem:
    """An item that does not fit the condition, and why, in words that go on after its name."""

    item_key: str
    reason: str


@dataclass(frozen=True, slots=True)
class TextPair:
    """The two versions of a text that are compared; `unit` numbers an item's texts."""

    item_key: str
    unit: int
    original: MarkedText
    altered: MarkedText


@dataclass(frozen=True, slots=True)
class ConditionItem:
    """An item as the conditions see it. Items of one `work` are about the same publication."""

    key: str
    subfield: str
    work: str
    abstract: Abstract


# Subfield -> work -> the items about it, whose results can be swapped in
Works = Mapping[str, Mapping[str, Sequence[ConditionItem]]]


def text_pairs(
    condition: str,
    items: Sequence[ConditionItem],
    seed: int | None = None,
    keys: Collection[str] | None = None,
) -> tuple[list[TextPair], list[ConditionProblem]]:
    """The texts to score, in the items' order, and the items that do not fit the condition.

    Args:
        condition: `full` is the whole text, unit 0. `isolated` is every sentence that holds an alternation, alone;
            its unit is the sentence's number in the abstract, from 0. `swapped` is the whole text with each of
            these sentences replaced by such a sentence of another work of the same subfield, no work twice; unit 0.
        items: also those that `swapped` takes sentences from. Their order changes nothing but the order.
        seed: of the swaps, and of nothing else.
        keys: of the items whose texts are wanted; all by default. They read as they do among all.
    Raises:
        ConditionError: the condition is unknown, or `swapped` has no seed.

    >>> from experiment.domain.markup import parse
    >>> item = ConditionItem("a", "", "a", parse("Rats slept. Mice [[ran, swam]]. So they did."))
    >>> [(pair.unit, pair.altered) for pair in text_pairs("isolated", [item])[0]]
    [(1, MarkedText(text='Mice swam.', spans=((5, 9),)))]
    """
    if condition not in CONDITIONS:
        raise ConditionError(f"there is no condition “{condition}”: choose {', '.join(CONDITIONS)}")
    if condition == "swapped" and seed is None:
        raise ConditionError("the sentences to swap in are drawn: give a seed")
    pairs: list[TextPair] = []
    wanted = [item for item in items if keys is None or item.key in keys]
    problems = [
        ConditionProblem(item.key, "has no alternation")
        for item in wanted
        if not item.abstract.alternations
    ]
    fitting = [item for item in wanted if item.abstract.alternations]
    if condition == "full":
        pairs = [TextPair(item.key, 0, *whole(item.abstract)) for item in fitting]
    elif condition == "isolated":
        pairs = [pair for item in fitting for pair in _isolated(item)]
    else:
        works = _works_by_subfield(items)
        for item in fitting:
            swapped = _swapped(item, works[item.subfield], random.Random(f"{seed}:{item.key}"))
            if isinstance(swapped, TextPair):
                pairs.append(swapped)
            else:
                problems.append(swapped)
    return pairs, problems


def _isolated(item: ConditionItem) -> list[TextPair]:
    return [
        TextPair(item.key, unit, sentence.original, sentence.altered)
        for unit, sentence in enumerate(sentences(item.abstract))
        if sentence.is_result
    ]


def _works_by_subfield(items: Sequence[ConditionItem]) -> Works:
    works: dict[str, dict[str, list[ConditionItem]]] = {}
    # By key: a draw must not depend on the order in which the items came
    for item in sorted(items, key=lambda item: item.key):
        if item.abstract.alternations:
            works.setdefault(item.subfield, {}).setdefault(item.work, []).append(item)
    return works


def _results(items: Sequence[ConditionItem]) -> list[Sentence]:
    return [unit for item in items for unit in sentences(item.abstract) if unit.is_result]


def _swapped(
    item: ConditionItem, of_subfield: Mapping[str, Sequence[ConditionItem]], rng: random.Random
) -> TextPair | ConditionProblem:
    own = sentences(item.abstract)
    works = [work for work in of_subfield if work != item.work]
    needed = sum(sentence.is_result for sentence in own)
    if len(works) < needed:
        wanted = "1 result of another work" if needed == 1 else f"{needed} results of other works"
        each = ", one each" if needed > 1 else ""
        found = {0: "is none", 1: "is 1"}.get(len(works), f"are {len(works)}")
        reason = f"needs {wanted} of “{item.subfield}” to swap in{each}; there {found}"
        return ConditionProblem(item.key, reason)
    # Only what is drawn is cut into sentences: of a few items of a large set, a few others
    drawn = iter([rng.choice(_results(of_subfield[work])) for work in rng.sample(works, needed)])
    swapped = [next(drawn) if sentence.is_result else sentence for sentence in own]
    gaps = [sentence.after for sentence in own[:-1]]
    original = _joined([sentence.original for sentence in swapped], gaps)
    altered = _joined([sentence.altered for sentence in swapped], gaps)
    return TextPair(item.key, 0, original, altered)


def _joined(texts: Sequence[MarkedText], gaps: Sequence[str]) -> MarkedText:
    """Texts in a row, with what stands between them."""
    whole_text = ""
    spans: list[tuple[int, int]] = []
    for text, gap in zip(texts, [*gaps, ""], strict=True):
        spans.extend((start + len(whole_text), end + len(whole_text)) for start, end in text.spans)
        whole_text += text.text + gap
    return MarkedText(whole_text, tuple(spans))
