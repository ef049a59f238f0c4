"""The texts that a model reads under a condition: an item's in full, sentence by sentence, or with swapped results.

docs/decisions/0006-conditions.md says what the paper's authors did, and where and why this differs. An abstract is cut into
sentences that are the same units in both versions: a place is a boundary when a sentence begins there in the original *and*
in the altered text, and it does not lie inside an alternation. So a passage that holds a full stop, or stretches over one,
joins the sentences that it touches.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from experiment.domain.markup import WHITESPACE, Abstract, Alternation, Plain, parse
from lib.sentences import sentence_spans

KEPT = 4096  # abstracts: conditions, prompts and models of one command read the same ones
Span = tuple[int, int]
# A place that both versions have: the number of a segment, and characters into it.
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text, and where its alternations' passages stand in it, in characters: (start, end) each, in order."""

    text: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A unit of an abstract in both versions, and the whitespace that parts it from the next one."""

    original: MarkedText
    altered: MarkedText
    after: str

    @property
    def is_result(self) -> bool:
        """True if it holds an alternation: what the paper calls a result."""
        return bool(self.original.spans)


@lru_cache(maxsize=KEPT)
def parsed(markup: str) -> Abstract:
    """An abstract with its alternations; the same text is parsed once.

    Raises:
        MarkupError: as `experiment.domain.markup.parse` raises it.
    """
    return parse(markup)


def whole(abstract: Abstract) -> tuple[MarkedText, MarkedText]:
    """The original and the altered version in full.

    >>> from experiment.domain.markup import parse
    >>> whole(parse("Rats [[ran, swam]]."))[1]
    MarkedText(text='Rats swam.', spans=((5, 9),))
    """
    original, altered = _versions(abstract)
    return original.marked(), altered.marked()


@lru_cache(maxsize=KEPT)
def sentences(abstract: Abstract) -> tuple[Sentence, ...]:
    """An abstract's sentences, in order; the same abstract is cut once.

    >>> from experiment.domain.markup import parse
    >>> [s.altered.text for s in sentences(parse("It [[rose. Then it fell, fell]]. It was late."))]
    ['It fell.', 'It was late.']
    """
    original, altered = _versions(abstract)
    inner = sorted(original.boundaries() & altered.boundaries())
    places = pairwise([(0, 0), *inner, (len(abstract.segments), 0)])
    return tuple(
        Sentence(original.sentence(*place), altered.sentence(*place), original.whitespace(*place))
        for place in places
    )


@dataclass(frozen=True, slots=True)
class _Version:
    """One version: its text, where each segment starts in it (and the text's end), which segments are alternations."""

    text: str
    starts: tuple[int, ...]
    alternations: tuple[int, ...]

    def boundaries(self) -> set[Place]:
        """Where a sentence begins, save the first one."""
        places = set()
        for start, _ in sentence_spans(self.text)[1:]:
            segment = max(n for n, first in enumerate(self.starts[:-1]) if first <= start)
            offset = start - self.starts[segment]
            if offset == 0 or segment not in self.alternations:
                places.add((segment, offset))
        return places

    def marked(self) -> MarkedText:
        return MarkedText(self.text, self._spans((0, 0), (len(self.starts), 0), 0))

    def sentence(self, start: Place, end: Place) -> MarkedText:
        """The text between two places, without the whitespace around it (no passage begins or ends with it)."""
        piece = self._between(start, end)
        core = piece.strip(WHITESPACE)
        return MarkedText(core, self._spans(start, end, self._at(start) + piece.index(core)))

    def whitespace(self, start: Place, end: Place) -> str:
        """The whitespace after the last word between two places."""
        piece = self._between(start, end)
        return piece[len(piece.rstrip(WHITESPACE)) :]

    def _at(self, place: Place) -> int:
        return self.starts[place[0]] + place[1]

    def _between(self, start: Place, end: Place) -> str:
        return self.text[self._at(start) : self._at(end)]

    def _spans(self, start: Place, end: Place, origin: int) -> tuple[Span, ...]:
        return tuple(
            (self.starts[n] - origin, self.starts[n + 1] - origin)
            for n in self.alternations
            if start <= (n, 0) < end
        )


def _versions(abstract: Abstract) -> list[_Version]:
    """The original and the altered one."""
    alternations = tuple(
        n for n, segment in enumerate(abstract.segments) if isinstance(segment, Alternation)
    )
    versions = []
    for name in ("original", "altered"):
        texts = [s.text if isinstance(s, Plain) else getattr(s, name) for s in abstract.segments]
        starts = tuple(accumulate(map(len, texts), initial=0))
        versions.append(_Version("".join(texts), starts, alternations))
    return versions


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
        raise ConditionError(
            f"“{condition}” is not a condition. Choose from {', '.join(CONDITIONS)}"
        )
    if condition == "swapped" and seed is None:
        raise ConditionError("the swapped sentences are drawn at random. Give a seed")
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
        pairs = [
            TextPair(item.key, unit, sentence.original, sentence.altered)
            for item in fitting
            for unit, sentence in enumerate(sentences(item.abstract))
            if sentence.is_result
        ]
    else:
        # Subfield -> work -> the items about it, whose results can be swapped in
        works: dict[str, dict[str, list[ConditionItem]]] = {}
        # By key: a draw must not depend on the order in which the items came
        for item in sorted(items, key=lambda item: item.key):
            if item.abstract.alternations:
                works.setdefault(item.subfield, {}).setdefault(item.work, []).append(item)
        for item in fitting:
            swapped = _swapped(item, works[item.subfield], random.Random(f"{seed}:{item.key}"))
            if isinstance(swapped, TextPair):
                pairs.append(swapped)
            else:
                problems.append(swapped)
    return pairs, problems


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
    results = []
    for work in rng.sample(works, needed):
        cut_up = (unit for other in of_subfield[work] for unit in sentences(other.abstract))
        results.append(rng.choice([unit for unit in cut_up if unit.is_result]))
    drawn = iter(results)
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
