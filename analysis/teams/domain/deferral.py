"""Who decides: models alone where they are certain, else a person is asked; on which trials, and who ends right."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.folds import Folds
from analysis.teams.domain.improved import coarser
from analysis.teams.results import Policy

SHARES = tuple(step / 20 for step in range(21))
# Certainties nearer than this are equal but for rounding
DIGITS = 12


@dataclass(frozen=True)
class Judges:
    """What models and people say on n trials.

    p_model: (n,) held-out probability of the original from a model or a team of models; model_right: (n,) whether its own
    choice is right. others_right: policy -> (n,) whether who decides where a person is asked is right.
    """

    p_model: Floats
    model_right: Bools
    others_right: Mapping[Policy, Bools]

    def asked(self, policy: Policy, threshold: float, where: Bools) -> "Asked":
        """A person is asked on the trials `where`."""
        right = np.where(where, self.others_right[policy], self.model_right)
        return Asked(policy, threshold, where, right)

    def random_accuracy(self, asked: "Asked") -> float:
        """Expected accuracy where as many trials are asked, whichever they are."""
        s = asked.share
        return float(s * self.others_right[asked.policy].mean() + (1 - s) * self.model_right.mean())


@dataclass(frozen=True)
class Asked:
    """On which trials a person is asked, and which then end right: (n,) each.

    threshold: a person is asked where certainty is below it (1: everywhere, 0.5: nowhere; where several items are exactly
    as certain as the threshold, the first of them); of several folds their median.
    """

    policy: Policy
    threshold: float
    where: Bools
    right: Bools

    @property
    def share(self) -> float:
        """Of trials; one person is asked, so this is also what it costs in judgments per trial."""
        return float(self.where.mean())

    @property
    def accuracy(self) -> float:
        return float(self.right.mean())


def certainty(p_model: Floats) -> Floats:
    """(n,) max(p, 1 - p): the same whichever side is called A.

    >>> certainty(np.array([0.2, 0.5, 0.9]))
    array([0.8, 0.5, 0.9])
    """
    sure = np.round(np.maximum(p_model, 1 - p_model), DIGITS)
    return np.asarray(sure, dtype=np.float64)


def who_decides(item: Ints, judges: Judges) -> list[tuple[float, Asked]]:
    """For each policy and share of trials wished for, 0 to 1 in steps of .05: where a person is asked.

    The least certain items first, equally certain ones in the order of items (n,), all trials of an item together, so that
    the share asked is the nearest to the one wished for.
    """
    order, ends, sure = _order(item, certainty(judges.p_model))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    found = []
    for policy in judges.others_right:
        for share in SHARES:
            stop = int(np.argmin(np.abs(ends - share * len(order))))
            found.append((share, judges.asked(policy, _between(sure, stop), rank < ends[stop])))
    return found


def choose_threshold(folds: Folds, judges: Judges, *, seed: int = 42) -> list[Asked]:
    """For each policy, the honest result of a threshold chosen on training folds.

    Fold f asks where certainty < t_f, t_f half way between two neighbouring certainties of its training rows (0.5: never,
    1: always), the one with the most training rows right; of equals the lowest. More than 20 folds are merged as by
    improved.coarser.
    """
    folds = coarser(folds, seed)
    sure = certainty(judges.p_model)
    chosen = []
    for policy, other in judges.others_right.items():
        gain = other.astype(np.int64) - judges.model_right.astype(np.int64)
        thresholds = _best_thresholds(sure, gain, folds)
        where = sure < thresholds[folds.fold]
        chosen.append(judges.asked(policy, float(np.median(thresholds)), where))
    return chosen


def _order(item: Ints, sure: Floats) -> tuple[Ints, Ints, Floats]:
    """Rows from the least certain; where one may stop (0 and after each item); the certainties around those stops."""
    order = np.lexsort((item, sure))
    new = (np.diff(sure[order]) > 0) | (np.diff(item[order]) != 0)
    ends = np.concatenate([[0], np.flatnonzero(new) + 1, [len(order)]])
    return order, ends, sure[order[ends[:-1]]]


def _between(sure: Floats, stop: int) -> float:
    """The threshold of a stop: half way between the last that is asked and the first that is not."""
    if stop == 0:
        return 0.5
    return 1.0 if stop == len(sure) else float((sure[stop - 1] + sure[stop]) / 2)


def _best_thresholds(sure: Floats, gain: Ints, folds: Folds) -> Floats:
    """(folds,) the threshold below which deferring would have gained most in training; gain: (n,) -1, 0, 1 of deferring."""
    order = np.argsort(sure, kind="stable")
    best = np.empty(folds.n)
    for fold in range(folds.n):
        rows = order[folds.train(fold)[order]]
        last = np.append(np.flatnonzero(np.diff(sure[rows]) > 0), len(rows) - 1)
        gains = np.concatenate([[0], np.cumsum(gain[rows])[last]]) if len(rows) else np.zeros(1)
        best[fold] = _between(sure[rows[last]] if len(rows) else sure[:0], int(np.argmax(gains)))
    return best
