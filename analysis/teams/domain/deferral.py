"""Deferral: models alone where they are certain, else a person is asked; on which trials, and how often the answer is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.teams.domain.combination import calibrated
from analysis.teams.domain.evidence import Names
from analysis.teams.domain.folds import Draws, Folds, difference, share_intervals
from analysis.teams.domain.logistic import coarser
from analysis.teams.domain.runs import Runs
from analysis.teams.results import ChosenPolicy, Method, Policy, PolicyPoint, Team
from lib.points import RIGHT, TIE

SHARES = tuple(step / 20 for step in range(21))
# Certainties nearer than this are equal but for rounding
DIGITS = 12


@dataclass(frozen=True)
class Judges:
    """Judgments of models and people on n trials.

    p_model: (n,) held-out probability of the original from a model or a team of models; model: (n,) points of its own
    choice. others: policy -> (n,) points of whoever decides where a person is asked.
    """

    p_model: Floats
    model: Floats
    others: Mapping[Policy, Floats]

    def asked(self, policy: Policy, threshold: float, where: Bools) -> "Asked":
        """A person is asked on the trials `where`."""
        points = np.where(where, self.others[policy], self.model)
        return Asked(policy, threshold, where, points)

    def random_accuracy(self, asked: "Asked") -> float:
        """Expected accuracy where as many trials are asked, whichever they are."""
        s = asked.share
        return float(s * self.others[asked.policy].mean() + (1 - s) * self.model.mean())


@dataclass(frozen=True)
class Asked:
    """On which trials a person is asked, and what the choices then count: (n,) each.

    threshold: a person is asked where certainty is below it (1: everywhere, 0.5: nowhere; where several items are exactly
    as certain as the threshold, the first of them); of several folds their median.
    """

    policy: Policy
    threshold: float
    where: Bools
    points: Floats

    @property
    def share(self) -> float:
        """Share of trials; one person is asked, so this is also what it costs in judgments per trial."""
        return float(self.where.mean())

    @property
    def accuracy(self) -> float:
        return float(self.points.mean())


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
    certain = certainty(judges.p_model)
    order = np.lexsort((item, certain))
    # One may stop before all and after each item
    new = (np.diff(certain[order]) > 0) | (np.diff(item[order]) != 0)
    ends = np.concatenate([[0], np.flatnonzero(new) + 1, [len(order)]])
    sure = certain[order[ends[:-1]]]
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    found = []
    for policy in judges.others:
        for share in SHARES:
            stop = int(np.argmin(np.abs(ends - share * len(order))))
            found.append((share, judges.asked(policy, _between(sure, stop), rank < ends[stop])))
    return found


def choose_threshold(folds: Folds, judges: Judges, *, seed: int = 42) -> list[Asked]:
    """For each policy, the honest result of a threshold chosen on training folds.

    Fold f asks where certainty < t_f, t_f half way between two neighbouring certainties of its training rows (0.5: never,
    1: always), the most accurate on its training rows; of equals the lowest. More than 20 folds are merged as by
    logistic.coarser.
    """
    folds = coarser(folds, seed)
    sure = certainty(judges.p_model)
    order = np.argsort(sure, kind="stable")
    chosen = []
    for policy, other in judges.others.items():
        gain = other - judges.model  # of deferring
        thresholds = np.empty(folds.n)
        for fold in range(folds.n):
            rows = order[folds.train(fold)[order]]
            last = np.append(np.flatnonzero(np.diff(sure[rows]) > 0), len(rows) - 1)
            gains = np.concatenate([[0], np.cumsum(gain[rows])[last]]) if len(rows) else np.zeros(1)
            around = sure[rows[last]] if len(rows) else sure[:0]
            thresholds[fold] = _between(around, int(np.argmax(gains)))
        where = sure < thresholds[folds.fold]
        chosen.append(judges.asked(policy, float(np.median(thresholds)), where))
    return chosen


def _between(sure: Floats, stop: int) -> float:
    """The threshold of a stop: half way between the last that is asked and the first that is not."""
    if stop == 0:
        return 0.5
    return 1.0 if stop == len(sure) else float((sure[stop - 1] + sure[stop]) / 2)


ORDER = (
    "A person is asked on the test cases with the lowest held-out certainty of the model, max(p, 1 - p); equal "
    "certainties are taken in the order of test cases. All trials of a test case are asked together, so the share "
    "asked is the nearest possible to the intended one."
)
POLICIES = (
    "“human”: the person's choice replaces the model's where asked; “team”: the combination of both decides where asked; "
    "elsewhere the model decides. Asking at random: the expected accuracy when a person is asked on the same number of trials, drawn at random."
)
CHOSEN = (
    "The threshold is the one with the highest accuracy on the training trials (among equals, the one that asks least), and is "
    "evaluated on the held-out trials. If there are more than 20 folds, they are merged. The folds here: {folds}. The model's certainties "
    "are the held-out ones and are not fitted again within training."
)


@dataclass(frozen=True)
class Policies:
    """Policies of a team's result: policies, policies_chosen and policies_method."""

    points: tuple[PolicyPoint, ...]
    chosen: tuple[ChosenPolicy, ...]
    method: str


def policies(runs: Runs, method: Method, of: Sequence[Names] | None = None) -> Policies:
    """Policies for these models and teams of models (None: each model that was tried, and the largest team of them).

    A model's certainty is its calibrated probability, which never goes against its choice; a team's is its own.
    The seed of `runs` draws the blocks in which thresholds are tried. Nothing without a human.
    """
    evidence, folds, draws, seed = runs.evidence, runs.folds, runs.draws, runs.draws.seed
    points: list[PolicyPoint] = []
    chosen: list[ChosenPolicy] = []
    if evidence.n_humans:
        sure = calibrated(evidence, folds)
        if of is None:
            people = {m.name for m in evidence.members if m.is_human}
            models = list(dict.fromkeys(names for names, _ in runs.held if not people & set(names)))
            largest = max(models, key=len, default=())
            of = [names for names in models if len(names) == 1]
            of += [largest] if len(largest) > 1 else []
        for names in of:
            held = runs.get(names, method)
            if held is None:  # these models were not tried
                continue
            p_model = (
                sure[:, evidence.names.index(names[0])] if len(names) == 1 else held.p_original
            )
            others = {Policy.HUMAN: evidence.points[:, 0]}
            if beside := runs.get((evidence.names[0], *names), method):
                others[Policy.TEAM] = beside.points
            judges = Judges(p_model, held.points, others)
            team = evidence.of(names).team
            found = who_decides(evidence.item, judges)
            all_asked = np.column_stack([asked.points for _, asked in found])
            intervals = share_intervals(all_asked, draws)
            points += [
                PolicyPoint(
                    **_numbers(team, asked),
                    share=share,
                    random_accuracy=judges.random_accuracy(asked),
                    accuracy_ci95=ci95,
                )
                for (share, asked), ci95 in zip(found, intervals, strict=True)
            ]
            chosen += _chosen(team, judges, folds, draws, seed)
    words = f"{ORDER} {POLICIES} {CHOSEN.format(folds=coarser(folds, seed).words)}"
    return Policies(tuple(points), tuple(chosen), words)


def _numbers(team: Team, asked: Asked) -> dict[str, Any]:
    return {
        "team": team,
        "policy": asked.policy,
        "threshold": asked.threshold,
        "share_asked": asked.share,
        "n_asked": int(asked.where.sum()),
        "n_trials": len(asked.where),
        "n_correct": int((asked.points == RIGHT).sum()),
        "n_ties": int((asked.points == TIE).sum()),
        "accuracy": asked.accuracy,
        "cost": asked.share,
    }


def _chosen(
    team: Team, judges: Judges, folds: Folds, draws: Draws, seed: int
) -> list[ChosenPolicy]:
    words = coarser(folds, seed).words
    alone = float(judges.model.mean())

    def of(asked: Asked) -> ChosenPolicy:
        return ChosenPolicy(
            **_numbers(team, asked),
            folds=words,
            accuracy_ci95=share_intervals(asked.points[:, None], draws)[0],
            gain=asked.accuracy - alone,
            gain_ci95=(change := difference(asked.points, judges.model, draws)).ci95,
            gain_p=change.p,
        )

    return [of(asked) for asked in choose_threshold(folds, judges, seed=seed)]


def deferring(
    confidence: npt.ArrayLike, model_good: npt.ArrayLike, person_good: npt.ArrayLike
) -> Judges:
    """Judgments that `who_decides` and `choose_threshold` take, for n questions that a model and a person answered: (n,) each.

    confidence: 0 to 1 that the model's answer is good. Choices of two are never less sure than .5, so certainty is
    (1 + confidence) / 2; a threshold t of theirs is a confidence of 2 t - 1. Raises ValueError for what is no confidence.

    >>> judges = deferring([0.0, 0.8], [False, True], [True, True])
    >>> judges.p_model.tolist(), judges.asked(Policy.HUMAN, 0.6, judges.p_model < 0.6).accuracy
    ([0.5, 0.9], 1.0)
    """
    sure = np.asarray(confidence, dtype=np.float64)
    if not ((sure >= 0) & (sure <= 1)).all():
        raise ValueError("A confidence is from 0 to 1.")
    model, person = (np.asarray(good, dtype=np.float64) for good in (model_good, person_good))
    return Judges((1 + sure) / 2, model, {Policy.HUMAN: person})
