"""The assignment of items to participants, with their sides and their order. Pure: knows nothing about rows or requests.

Every draw takes the item of a stratum with the lowest *expected exposure*::

    expected(i) = valid(i) + sum over live participants holding i of P(finish | the page they are on)
    P(finish | page) = (finished + 1) / (reached + 2)

where `valid(i)` counts the valid judgments of finished participants, `reached` the participants whose
outcome is known (finished, or gone) that got at least as far as that page, and `finished` those of them
that finished: Laplace's rule of succession, so a new study starts at 1/2. Whether answers were right
never enters, so the draw cannot lean on the outcome that the study measures.
"""

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, Self

Side = Literal["A", "B"]
Stratum = Literal["human", "machine", "catch", "question"]
SIDES: tuple[Side, Side] = ("A", "B")
OPPOSITE: dict[str, Side] = {"A": "B", "B": "A"}
QUESTION: Stratum = "question"
PAPER = "paper"  # the policy that draws from those assigned least often, all at the start

# Sums of the same chances in another order differ in the last bits; scores closer than this are equal.
SCORE_DECIMALS = 9


# A record is kept of each draw: enough to make it again, in at most 200 bytes
# Of the tied items, as many as are kept beside the drawn one: 48 ids take at most 5 + 47 * 3 bytes up to id 2 million
WINDOW = 48


@dataclass(frozen=True, slots=True)
class DrawRecord:
    """A draw at random from items of equal score.

    n_before: items of the stratum that had been assigned in the study before; says which state of the counters was read.
    n_tied: items with the lowest score, one of which was drawn.
    window: of their ids in ascending order, the stretch of `WINDOW` that holds the drawn one; all of them where they are
    no more than that.
    """

    n_before: int
    n_tied: int
    window: tuple[int, ...]

    @classmethod
    def of(cls, tied: Sequence[int], key: str, n_before: int = 0) -> Self:
        """A new draw from these ids, in ascending order.

        >>> DrawRecord.of([4, 9, 11], "7/draw/1").window
        (4, 9, 11)
        """
        start = _place(key, len(tied)) // WINDOW * WINDOW
        return cls(n_before, len(tied), tuple(tied[start : start + WINDOW]))

    def item_id(self, key: str) -> int:
        """The item that the generator seeded with `key` draws, every id with the same chance.

        >>> DrawRecord.of([4], "any").item_id("any")
        4
        """
        return self.window[_place(key, self.n_tied) % WINDOW]

    def pack(self) -> bytes:
        """Two numbers, the first id and the distances between ids, each in groups of seven bits.

        >>> DrawRecord(300, 3, (4, 9, 11)).pack().hex()
        'ac0203040502'
        """
        first, *rest = self.window
        distances = (b - a for a, b in zip(self.window, rest, strict=False))
        return b"".join(map(_packed, (self.n_before, self.n_tied, first, *distances)))

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """The record from its bytes.

        >>> DrawRecord.unpack(bytes.fromhex("ac0203040502"))
        DrawRecord(n_before=300, n_tied=3, window=(4, 9, 11))
        """
        n_before, n_tied, *distances = _numbers(data)
        ids, last = [], 0
        for distance in distances:
            last += distance
            ids.append(last)
        return cls(n_before, n_tied, tuple(ids))


def _place(key: str, n: int) -> int:
    return random.Random(key).randrange(n)


def _packed(number: int) -> bytes:
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _numbers(data: Iterable[int]) -> Iterator[int]:
    number = shift = 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield number
            number = shift = 0


class NoItemLeftError(Exception):
    """No item of the stratum may be given to this participant."""


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One position of a participant's session: the stratum to draw from and the side of the original.

    A question has no sides: its side is "".
    """

    stratum: Stratum
    original_side: Side | Literal[""]


class Candidate(NamedTuple):
    """An item that could be drawn.

    work: names the publication. Two abstracts of one work never meet in a session, nor an abstract and a question about it.
    template: what a question was made from; 0 of any other item.
    """

    item_id: int
    work: str
    score: float
    template: int = 0


@dataclass(frozen=True, slots=True)
class Draw:
    """A draw, what is kept of it, and the scores of all that could have been drawn."""

    item_id: int
    record: DrawRecord
    scores: dict[int, float]


def participant_rng(seed: int, *purpose: Hashable) -> random.Random:
    """A generator for one purpose of one participant, the same whenever it is asked for.

    >>> participant_rng(1, "draw", 3).random() == participant_rng(1, "draw", 3).random()
    True
    """
    return random.Random(rng_key(seed, *purpose))


def rng_key(seed: int, *purpose: Hashable) -> str:
    """The text that seeds `participant_rng`.

    >>> rng_key(7, "draw", 2)
    '7/draw/2'
    """
    return "/".join(str(part) for part in (seed, *purpose))


def balanced_sides(n: int, rng: random.Random) -> list[Side]:
    """Sides of `n` originals, as equal as `n` allows, in random order; the odd one falls at random.

    >>> sorted(balanced_sides(4, random.Random(1)))
    ['A', 'A', 'B', 'B']
    """
    sides = list(SIDES) * (n // 2)
    if n % 2:
        sides.append(rng.choice(SIDES))
    rng.shuffle(sides)
    return sides


def plan_trials(counts: Mapping[Stratum, int], rng: random.Random) -> list[PlannedTrial]:
    """Order the strata at random and balance the original's side within each stratum that has sides.

    Args:
        counts: trials per stratum, e.g. {"human": 6, "machine": 3, "catch": 2}.
        rng: source of randomness.
    Returns:
        One `PlannedTrial` per position; every order of the strata is equally likely.
    Raises:
        ValueError: a count is negative, or no trial is asked for.

    >>> plan = plan_trials({"human": 6, "machine": 3, "catch": 2}, random.Random(1))
    >>> len(plan), sum(trial.stratum == "catch" for trial in plan)
    (11, 2)
    """
    if any(count < 0 for count in counts.values()) or sum(counts.values()) == 0:
        raise ValueError(
            f"a session needs at least one trial and no negative count, not {dict(counts)}"
        )
    # An odd stratum's extra side would make the whole session lopsided if every stratum's fell on the
    # same side; extras are dealt alternately instead.
    sided = {stratum: count for stratum, count in counts.items() if stratum != QUESTION}
    extras = balanced_sides(sum(count % 2 for count in sided.values()), rng)
    plan = [PlannedTrial(QUESTION, "")] * counts.get(QUESTION, 0)
    for stratum, count in sided.items():
        sides = balanced_sides(count - count % 2, rng)
        if count % 2:
            sides.append(extras.pop())
        plan.extend(PlannedTrial(stratum, side) for side in sides)
    rng.shuffle(plan)
    return plan


def finish_chance(finished: int, reached: int) -> float:
    """Laplace estimate of the chance to finish: (finished + 1) / (reached + 2).

    >>> finish_chance(0, 0), finish_chance(2, 8)
    (0.5, 0.3)
    """
    if not 0 <= finished <= reached:
        raise ValueError(f"finished must lie between 0 and reached, not {finished} of {reached}")
    return (finished + 1) / (reached + 2)


def finish_chances(
    gone_at: Mapping[int, int], finished: int, pages: Iterable[int]
) -> dict[int, float]:
    """Chance to finish from each page, from the participants whose outcome is known.

    Args:
        gone_at: furthest page -> number of participants who left there for good.
        finished: number who finished (they reached every page).
        pages: the pages asked for.

    >>> finish_chances({0: 6, 3: 2}, finished=2, pages=[0, 1, 4])
    {0: 0.25, 1: 0.5, 4: 0.75}
    """
    return {
        page: finish_chance(finished, finished + sum(n for at, n in gone_at.items() if at >= page))
        for page in pages
    }


def expected_exposures(
    valid: Mapping[int, int],
    held: Iterable[tuple[int, int, int]],
    chances: Mapping[int, float],
) -> dict[int, float]:
    """Expected exposure of every item: valid judgments plus the chances of those who hold it now.

    Args:
        valid: item id -> number of valid judgments of finished participants; every item of the stratum.
        held: (item id, page the holder is on, number of such holders), live participants only.
        chances: page -> chance to finish from it.

    >>> expected_exposures({1: 2, 2: 1}, [(2, 5, 3)], {5: 0.5})
    {1: 2.0, 2: 2.5}
    """
    scores = {item_id: float(count) for item_id, count in valid.items()}
    for item_id, page, n_holders in held:
        if item_id in scores:
            scores[item_id] += n_holders * chances[page]
    return {item_id: round(score, SCORE_DECIMALS) for item_id, score in scores.items()}


def draw_item(
    candidates: Sequence[Candidate],
    taken_works: Iterable[str],
    taken_items: Iterable[int],
    key: str,
    n_before: int = 0,
    taken_templates: Mapping[int, int] = MappingProxyType({}),
) -> Draw:
    """Draw the candidate with the lowest score; of equals one of the template that was met least, and of these at random.

    Args:
        candidates: the stratum's items with their scores.
        taken_works: works (DOIs) that are closed to this participant.
        taken_items: item ids that this participant has met.
        key: seeds the tie-break (see `rng_key`), so that the draw can be made again.
        n_before: items of the stratum assigned before; kept with the draw.
        taken_templates: how many questions of each template this participant has met.
    Raises:
        NoItemLeftError: nothing may be drawn.

    >>> draw_item([Candidate(1, "a", 2.0), Candidate(2, "b", 1.0)], [], [], "1/draw/1").item_id
    2
    """
    works, items = set(taken_works), set(taken_items)
    scores = {
        candidate.item_id: candidate.score
        for candidate in candidates
        if candidate.item_id not in items and (not candidate.work or candidate.work not in works)
    }
    if not scores:
        raise NoItemLeftError(f"none of {len(candidates)} items is left for this participant")
    equal = lowest(scores)
    if taken_templates:
        of = {candidate.item_id: candidate.template for candidate in candidates}
        equal = lowest({item_id: taken_templates.get(of[item_id], 0) for item_id in equal})
    record = DrawRecord.of(equal, key, n_before)
    return Draw(record.item_id(key), record, scores)


def lowest(scores: Mapping[int, float]) -> list[int]:
    """The ids that share the lowest score, in ascending order.

    >>> lowest({9: 0.25, 4: 0.5, 2: 0.25})
    [2, 9]
    """
    least = min(scores.values())
    return sorted(item_id for item_id, score in scores.items() if score == least)


class PoolItem(NamedTuple):
    """An item that may be drawn, and its counters as they were read."""

    item_id: int
    work: str
    sha256: str
    counter_id: int | None
    assigned: int
    valid: int
    template: int  # 0: none


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters that a draw goes by, read at one moment.

    pool: in the order of the items' ids. held: (item id, page its holder is on, number of such holders), live ones.
    left_at: page -> how many left there; those who withdrew are not counted: their rows do not say how far they came.
    """

    pool: list[PoolItem]
    held: list[tuple[int, int, int]]
    left_at: dict[int, int]
    finished: int

    def scores(self, policy: str) -> dict[int, float]:
        """By item id: expected exposure, or under the paper's policy how often it was assigned."""
        if policy == PAPER:
            return {row.item_id: float(row.assigned) for row in self.pool}
        pages = {page for _, page, _ in self.held}
        chances = finish_chances(self.left_at, self.finished, pages)
        valid = {row.item_id: row.valid for row in self.pool}
        return expected_exposures(valid, self.held, chances)


class Met(NamedTuple):
    """An item that a participant was given, of a stratum; template: 0 where it is none's."""

    stratum: str
    item_id: int
    work: str
    template: int


class Decision(NamedTuple):
    """The item that a participant is given, the packed record of its draw, and what it was drawn by: the key and all scores."""

    item: PoolItem
    record: bytes
    key: str
    scores: Mapping[int, float]


def decide(
    counters: Counters, policy: str, stratum: str, met: Sequence[Met], seed: int, position: int
) -> Decision:
    """Draw the item of one position of a participant's plan, by the counters of its stratum.

    Args:
        met: the items that the participant was given before.
    Raises:
        NoItemLeftError: nothing may be drawn.

    >>> pool = [PoolItem(1, "a", "", 7, 2, 2, 0), PoolItem(2, "b", "", 8, 1, 1, 0)]
    >>> counters = Counters(pool, held=[], left_at={}, finished=0)
    >>> decide(counters, "balanced", "human", [], seed=1, position=1).item.item_id
    2
    >>> decide(counters, "balanced", "human", [Met("human", 3, "b", 0)], seed=1, position=2).item.item_id
    1
    """
    key, scores = rng_key(seed, "draw", position), counters.scores(policy)
    # An abstract gives away what is asked about it; two questions about one article are as good as any two
    closed = [one.work for one in met if {stratum, one.stratum} != {QUESTION}]
    drawn = draw_item(
        [
            Candidate(row.item_id, row.work, scores[row.item_id], row.template)
            for row in counters.pool
        ],
        closed,
        [one.item_id for one in met],
        key,
        n_before=sum(row.assigned for row in counters.pool),
        taken_templates=Counter(one.template for one in met if one.template),
    )
    chosen = next(row for row in counters.pool if row.item_id == drawn.item_id)
    return Decision(chosen, drawn.record.pack(), key, drawn.scores)
