"""Folds of rows that are held out together: never is an item in training that is predicted; and resampling of items and people.

The pigeonhole bootstrap of analysis.stats.crossed_bootstrap, for rows that may join several people's judgments.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.crossed_bootstrap import times_drawn
from analysis.stats.two_way_clustered import (
    FEWEST_CLUSTERS,
    TwoWay,
    of_changes,
    over_items,
    two_way,
)
from analysis.teams.domain.evidence import Evidence, need_two_items
from analysis.teams.results import FoldsKind, Gain

# Rows times folds of one fit; beyond, items are held out in blocks
MOST_ROW_FITS = 20_000_000
N_BLOCKS = 20
PEOPLE_BLOCKS = ITEM_BLOCKS = 10

BY_ITEM = "leave one test case out, with all its trials"
BY_BLOCK = "test cases in {n} random blocks (seed {seed}), one held out at a time"
BY_BOTH = (
    "test cases in {items} and participants in {people} random blocks (seed {seed}); the trials of one block of "
    "people on one block of test cases are predicted from trials of other people on other test cases"
)


@dataclass(frozen=True)
class Folds:
    """fold: (n,) number from 0 of the fold in which a row is held out.

    item_block: (n,) and people_block: (n,) or None. Fold f trains on the rows that share neither its block of items nor,
    where there are any, its block of people.
    """

    fold: Ints
    item_block: Ints
    people_block: Ints | None
    words: str
    kind: FoldsKind = FoldsKind.ITEM_BLOCK

    @property
    def sentence(self) -> str:
        """`words` with a capital."""
        return self.words[:1].upper() + self.words[1:]

    @property
    def n(self) -> int:
        return int(self.fold.max()) + 1 if len(self.fold) else 0

    def train(self, fold: int) -> Bools:
        """(n,) whether a row is of that fold's training."""
        one = int(np.argmax(self.fold == fold))
        trains: Bools = self.item_block != self.item_block[one]
        if self.people_block is not None:
            trains &= self.people_block != self.people_block[one]
        return trains

    def rows(self, chosen: Ints) -> "Folds":
        """The same folds of the chosen rows alone."""
        people = None if self.people_block is None else self.people_block[chosen]
        return Folds(self.fold[chosen], self.item_block[chosen], people, self.words, self.kind)

    def weights(self, chunk: int | None = None) -> Iterator[tuple[slice, Floats]]:
        """Folds in turn, as many as fit in memory at once: which, and (folds, n) 1 for training rows, else 0."""
        chunk = chunk or max(1, 4_000_000 // max(1, len(self.fold)))
        first = np.unique(self.fold, return_index=True)[1]
        for start in range(0, self.n, chunk):
            ones = first[start : start + chunk]
            trains = self.item_block[None, :] != self.item_block[ones, None]
            if self.people_block is not None:
                trains &= self.people_block[None, :] != self.people_block[ones, None]
            yield slice(start, start + len(ones)), trains.astype(float)


def by_item(evidence: Evidence, *, seed: int = 42) -> Folds:
    """Leave one item out; in 20 random blocks of items where that would be more than 20 million rows to fit.

    Raises NotEnough below two items.
    """
    need_two_items(evidence)
    items, place = np.unique(evidence.item, return_inverse=True)
    if len(items) * len(evidence) <= MOST_ROW_FITS:
        return Folds(place, place, None, BY_ITEM, FoldsKind.ITEM)
    return in_blocks(evidence, N_BLOCKS, seed=seed)


def in_blocks(evidence: Evidence, n: int, *, seed: int = 42) -> Folds:
    """n random blocks of items (as many as items, if these are fewer), as equal as can be.

    Raises NotEnough below two items.
    """
    need_two_items(evidence)
    items, place = np.unique(evidence.item, return_inverse=True)
    n = min(n, len(items))
    block = (np.random.default_rng(seed).permutation(len(items)) % n)[place]
    return Folds(block, block, None, BY_BLOCK.format(n=n, seed=seed))


def by_item_and_participant(evidence: Evidence, *, seed: int = 42) -> Folds:
    """Neither the item nor the participant of a predicted trial is in training: 10 x 10 random blocks.

    Raises NotEnough where a row joins several participants, or has none, and below two items or people.
    """
    need_two_items(evidence)
    if evidence.participant.shape[1] != 1:
        raise NotEnough(
            "Participants can only be held out if each trial belongs to one participant.",
            "Choose one human member in a study with trials, or hold out only test cases.",
        )
    rng = np.random.default_rng(seed)
    items, place = np.unique(evidence.item, return_inverse=True)
    people, who = np.unique(evidence.participant[:, 0], return_inverse=True)
    if len(people) < 2:
        raise NotEnough("All trials belong to one participant.", "At least two are needed.")
    n_items, n_people = min(ITEM_BLOCKS, len(items)), min(PEOPLE_BLOCKS, len(people))
    item_block = (rng.permutation(len(items)) % n_items)[place]
    people_block = (rng.permutation(len(people)) % n_people)[who]
    fold = np.unique(item_block * n_people + people_block, return_inverse=True)[1]
    words = BY_BOTH.format(items=n_items, people=n_people, seed=seed)
    return Folds(fold, item_block, people_block, words, FoldsKind.ITEM_AND_PEOPLE_BLOCK)


Counts = npt.NDArray[np.uint16]

RESAMPLES, FEWEST = 10_000, 200
MOST_WEIGHTS = 500_000_000  # rows times resamples; with more rows, fewer resamples
MOST_COUNTS, MOST_SUMS, CHUNK = 40_000_000, 10_000_000, 2_000  # held at once
BLOCK = 2_000_000  # weights, and values, of one block of rows


@dataclass(frozen=True)
class Draws:
    """How often each row counts in each resample: its item's count times the counts of all people whose judgments it joins.

    item: (n,) and people: (n, humans) numbers from 0 of what is drawn; humans is 0 where rows are items: items alone vary.
    """

    item: Ints
    people: Ints
    n_items: int
    n_people: int
    resamples: int
    seed: int

    @classmethod
    def of(cls, evidence: Evidence, resamples: int = RESAMPLES, seed: int = 42) -> "Draws":
        """Draws for these rows; fewer than asked for, but 200 at least, where rows x resamples would pass 5e8."""
        items, item = np.unique(evidence.item, return_inverse=True)
        people, who = np.unique(evidence.participant, return_inverse=True)
        if len(evidence) * resamples > MOST_WEIGHTS:
            resamples = min(resamples, max(FEWEST, MOST_WEIGHTS // len(evidence)))
        who = who.reshape(evidence.participant.shape)
        return cls(item, who, len(items), len(people), resamples, seed)

    @classmethod
    def of_items(cls, n: int, resamples: int = RESAMPLES, seed: int = 42) -> "Draws":
        """Draws for values of which there is one per item."""
        return cls(np.arange(n), np.empty((n, 0), dtype=np.int64), n, 0, resamples, seed)

    @property
    def n_clusters(self) -> int:
        """The smaller number of what is drawn."""
        return min(self.n_items, self.n_people) if self.people.shape[1] else self.n_items

    @property
    def can_vary(self) -> bool:
        """True if there are three items and people or more: of fewer, too little is known about how others would differ."""
        return self.n_clusters >= FEWEST_CLUSTERS

    def means(self, values: Floats) -> Floats:
        """(resamples, k) weighted means of values (n, k); NaN where no row was drawn, no resample where nothing can vary.

        mean[r, k] = sum_t w[r, t] values[t, k] / sum_t w[r, t]

        >>> Draws.of_items(3, resamples=2).means(np.ones((3, 1))).ravel()
        array([1., 1.])
        """
        found = np.empty((self.resamples if self.can_vary else 0, values.shape[1]))
        for which, means in self.each_mean(lambda rows: values[rows], values.shape[1]):
            found[which] = means
        return found

    def each_mean(
        self, values: Callable[[slice], Floats], k: int
    ) -> Iterator[tuple[slice, Floats]]:
        """As `means`, resamples in turn: which, and (resamples, k) means of what `values` gives for rows: (rows, k)."""
        n, block = len(self.item), max(1, BLOCK // max(k, 1))
        streams = [np.random.default_rng(s) for s in np.random.SeedSequence(self.seed).spawn(2)]
        held = MOST_COUNTS // max(1, self.n_items, self.n_people), MOST_SUMS // max(1, k)
        most = max(1, min(CHUNK, *held))
        for first in range(0, self.resamples if self.can_vary else 0, most):
            drawn = min(most, self.resamples - first)
            # How often each was drawn: (people, resamples) and (items, resamples)
            people = _counts(streams[0], drawn, self.n_people)
            items = _counts(streams[1], drawn, self.n_items)
            sums, total = np.zeros((drawn, k)), np.zeros((drawn, 1))
            size = max(1, min(block, BLOCK // drawn))
            for start in range(0, n, size):
                rows = slice(start, start + size)
                weights = items[self.item[rows]].astype(float)  # (rows, resamples)
                for column in self.people[rows].T:
                    weights *= people[column]
                sums += weights.T @ values(rows)
                total += weights.sum(axis=0)[:, None]
            with np.errstate(invalid="ignore"):
                yield slice(first, first + drawn), sums / total


def _counts(rng: np.random.Generator, size: int, n: int) -> Counts:
    """(n, size): times_drawn, a few resamples at a time, as small numbers; transposed, so that one row's lie together."""
    found = np.empty((n, size), dtype=np.uint16)
    few = max(1, BLOCK // max(1, n))
    for start in range(0, size, few):
        found[:, start : start + few] = times_drawn(rng, min(few, size - start), n).T
    return found


def difference(a: Floats, b: Floats, draws: Draws) -> Gain:
    """How much more accurate a is than b, by their points on the same rows (n,)."""
    return differences(a[:, None], b[:, None], draws)[0]


def differences(a: Floats, b: Floats, draws: Draws) -> list[Gain]:
    """The same for each column of (n, k).

    >>> a, b = np.array([[1.0], [1.0], [0.0], [1.0]]), np.array([[1.0], [0.0], [0.0], [0.0]])
    >>> differences(a, b, Draws.of_items(4, resamples=10))[0].value
    0.5
    """
    found = []
    for more in (a - b).T:
        value, n, clustered = float(more.mean()), len(more), changes_of(more, draws)
        found.append(
            Gain(value, clustered.within(), clustered.p, n, clustered.se)
            if clustered
            else Gain(value, None, None, n, None)
        )
    return found


def changes_of(more: Floats, draws: Draws) -> TwoWay | None:
    """`two_way_of` the changes (n,) of points on the same rows, which is wide where few rows changed."""
    if two_way_of(more, draws) is None:
        return None
    return of_changes(more, lambda rows: _mean(rows, draws), draws.item)


def two_way_of(more: Floats, draws: Draws) -> TwoWay | None:
    """Mean of differences (n,) with an error robust to clusters of participants and items, as analysis.stats.two_way_clustered has it.

    A row that joins several people's judgments counts among those of its first. Where rows are items these alone vary.
    None with fewer than three items, or participants.

    >>> two_way_of(np.array([1.0, 0.0, 0.0, 1.0]), Draws.of_items(4)).se.__round__(6)
    0.288675
    """
    found = _mean(more, draws) if draws.can_vary else None
    return found if found and found.is_known else None


def _mean(values: Floats, draws: Draws) -> TwoWay:
    has_people = draws.people.shape[1] > 0
    return two_way(draws.people[:, 0], draws.item, values) if has_people else over_items(values)


def share_intervals(right: Floats, draws: Draws) -> list[Interval | None]:
    """95% interval of the mean of each column of (n, k) values from 0 to 1; None below three items or participants."""
    found = [two_way_of(column, draws) for column in right.T]
    return [one.share_ci95 if one else None for one in found]
