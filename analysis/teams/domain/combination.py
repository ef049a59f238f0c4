"""What every way of combining judgments is: fitted on training folds, it gives probabilities on the held-out rows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from analysis.stats.arrays import Bools, Floats
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Folds
from analysis.teams.results import About, Method, NearChance


@dataclass(frozen=True)
class HeldOut:
    """p_original: (n,) probability that a row's original is the original, from a fit that saw no trial of its fold.

    is_right: (n,) whether the team chose the original; by itself p_original > 1/2 (a tie is wrong).
    about: how it was fitted. folds: those really used, where a method makes others of the given ones; None: those given.
    near_chance: where no member can be told from chance, what chance gives.
    """

    p_original: Floats
    is_right: Bools
    about: About
    folds: Folds | None = None
    near_chance: NearChance | None = None


class Combination(Protocol):
    """A way of combining."""

    @property
    def name(self) -> Method: ...

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """All members of `evidence` are combined; its row r is predicted by a fit on folds.train(folds.fold[r]).

        Where it needs fewer folds it says which in HeldOut.folds: every one of them trains on a part of the training
        rows of each row it holds out. What is true of a held-out row must not have any part in its own prediction.

        Raises:
            NotEnough: these judgments do not suffice for a fit.
        """
        ...


def decided(p_original: Floats, about: About) -> HeldOut:
    """The choice that goes with the probabilities."""
    return HeldOut(p_original, np.asarray(p_original > 0.5), about)
