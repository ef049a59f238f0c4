"""Policies of who decides, for the models and teams of models that were tried; with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.arrays import Floats, Ints
from analysis.teams.domain.calibration import calibrated
from analysis.teams.domain.deferral import Asked, Judges, choose_threshold, who_decides
from analysis.teams.domain.evidence import Names
from analysis.teams.domain.folds import Folds
from analysis.teams.domain.improved import coarser
from analysis.teams.domain.resampling import Draws, difference, share_intervals
from analysis.teams.domain.runs import Runs
from analysis.teams.results import ChosenPolicy, Method, Policy, PolicyPoint, Team

ORDER = (
    "A person is asked on the items where the model's held-out certainty, max(p, 1 - p), is lowest; equal certainties in the "
    "order of items, all trials of an item together, so that the share asked is the nearest to the one wished for."
)
POLICIES = (
    "“human”: the person's choice replaces the model's where asked; “team”: the combination of both decides where asked; "
    "elsewhere the model decides. Asking at random: the expected accuracy when as many trials are asked, whichever they are."
)
CHOSEN = (
    "The threshold is the one with the most training trials right, the one that asks least among equals, and is tried on "
    "the trials held out; more than 20 folds are merged for that: {folds}. The model's certainties are its held-out ones "
    "and are not fitted again within training."
)


@dataclass(frozen=True)
class Policies:
    """Of a team's result: policies, policies_chosen and policies_method."""

    points: tuple[PolicyPoint, ...]
    chosen: tuple[ChosenPolicy, ...]
    method: str


def policies(
    runs: Runs,
    folds: Folds,
    method: Method,
    draws: Draws,
    of: Sequence[Names] | None = None,
    *,
    seed: int,
) -> Policies:
    """Policies for these models and teams of models (None: each model that was tried, and the largest team of them).

    A model's certainty is its calibrated probability, which never goes against its choice; a team's is its own.
    `seed` draws the blocks in which thresholds are tried. Nothing without a human.
    """
    evidence = runs.evidence
    points: list[PolicyPoint] = []
    chosen: list[ChosenPolicy] = []
    if evidence.n_humans:
        sure = calibrated(evidence, folds)
        for names in _deciders(runs) if of is None else of:
            judges = _judges(runs, names, sure, method)
            if judges is None:
                continue
            team = evidence.of(names).team
            points += _points(team, evidence.item, judges, draws)
            chosen += _chosen(team, judges, folds, draws, seed)
    words = f"{ORDER} {POLICIES} {CHOSEN.format(folds=coarser(folds, seed).words)}"
    return Policies(tuple(points), tuple(chosen), words)


def _deciders(runs: Runs) -> list[Names]:
    people = {m.name for m in runs.evidence.members if m.is_human}
    models = list(dict.fromkeys(names for names, _ in runs.held if not people & set(names)))
    single = [names for names in models if len(names) == 1]
    return single + [names for names in [max(models, key=len, default=())] if len(names) > 1]


def _judges(runs: Runs, names: Names, sure: Floats, method: Method) -> Judges | None:
    """None where these models were not tried."""
    held = runs.get(names, method)
    if held is None:
        return None
    evidence = runs.evidence
    p_model = sure[:, evidence.names.index(names[0])] if len(names) == 1 else held.p_original
    others = {Policy.HUMAN: evidence.is_right[:, 0]}
    team = runs.get((evidence.names[0], *names), method)
    if team is not None:
        others[Policy.TEAM] = team.is_right
    return Judges(p_model, held.is_right, others)


def _points(team: Team, item: Ints, judges: Judges, draws: Draws) -> list[PolicyPoint]:
    found = who_decides(item, judges)
    intervals = share_intervals(
        np.column_stack([asked.right.astype(float) for _, asked in found]), draws
    )
    return [
        PolicyPoint(
            team=team,
            policy=asked.policy,
            share=share,
            share_asked=asked.share,
            threshold=asked.threshold,
            n_asked=int(asked.where.sum()),
            n_trials=len(asked.where),
            n_correct=int(asked.right.sum()),
            accuracy=asked.accuracy,
            random_accuracy=judges.random_accuracy(asked),
            cost=asked.share,
            accuracy_ci95=ci95,
        )
        for (share, asked), ci95 in zip(found, intervals, strict=True)
    ]


def _chosen(
    team: Team, judges: Judges, folds: Folds, draws: Draws, seed: int
) -> list[ChosenPolicy]:
    words = coarser(folds, seed).words
    alone = float(judges.model_right.mean())

    def of(asked: Asked) -> ChosenPolicy:
        return ChosenPolicy(
            team=team,
            policy=asked.policy,
            threshold=asked.threshold,
            share_asked=asked.share,
            n_asked=int(asked.where.sum()),
            n_trials=len(asked.where),
            n_correct=int(asked.right.sum()),
            accuracy=asked.accuracy,
            cost=asked.share,
            folds=words,
            accuracy_ci95=share_intervals(asked.right[:, None].astype(float), draws)[0],
            gain=asked.accuracy - alone,
            gain_ci95=difference(asked.right, judges.model_right, draws).ci95,
        )

    return [of(asked) for asked in choose_threshold(folds, judges, seed=seed)]
