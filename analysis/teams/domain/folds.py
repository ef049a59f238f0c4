"""Which rows are held out together: never is an item in training that is predicted."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.evidence import Evidence, need_two_items
from analysis.teams.results import FoldsKind

# Rows times folds of one fit; beyond, items are held out in blocks
MOST_ROW_FITS = 20_000_000
N_BLOCKS = 20
PEOPLE_BLOCKS = ITEM_BLOCKS = 10

BY_ITEM = "leave one item out: all its trials at once"
BY_BLOCK = "items in {n} random blocks (seed {seed}), one held out at a time"
BY_BOTH = (
    "items in {items} and participants in {people} random blocks (seed {seed}); predicted are the trials of one block of "
    "people on one block of items, from trials of other people on other items"
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
            "Participants can be held out only where each trial is of one participant.",
            "Choose one human member, in a study with trials, or hold out items alone.",
        )
    rng = np.random.default_rng(seed)
    items, place = np.unique(evidence.item, return_inverse=True)
    people, who = np.unique(evidence.participant[:, 0], return_inverse=True)
    if len(people) < 2:
        raise NotEnough("All trials are of one participant.", "At least two are needed.")
    n_items, n_people = min(ITEM_BLOCKS, len(items)), min(PEOPLE_BLOCKS, len(people))
    item_block = (rng.permutation(len(items)) % n_items)[place]
    people_block = (rng.permutation(len(people)) % n_people)[who]
    fold = np.unique(item_block * n_people + people_block, return_inverse=True)[1]
    words = BY_BOTH.format(items=n_items, people=n_people, seed=seed)
    return Folds(fold, item_block, people_block, words, FoldsKind.ITEM_AND_PEOPLE_BLOCK)
