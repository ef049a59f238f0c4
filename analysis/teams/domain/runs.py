"""Teams tried on held-out trials, one after another, by the ways of combining that users choose; as results and as tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from analysis.codec import to_json
from analysis.data.dataset import SourceData
from analysis.stats import NotEnough
from analysis.stats.arrays import Ints
from analysis.teams.domain.bayes.combination import Bayesian
from analysis.teams.domain.chance import SymmetricHalves, learns_noise
from analysis.teams.domain.combination import (
    Alone,
    AsPublished,
    AverageProbability,
    Combination,
    HeldOut,
    Majority,
    MostConfident,
)
from analysis.teams.domain.evaluation import evaluate_all
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Draws, Folds, by_item, differences, holm
from analysis.teams.domain.logistic import Logistic
from analysis.teams.results import (
    AddingHuman,
    ChosenPolicy,
    Gain,
    MemberResult,
    Method,
    NotPossible,
    PolicyPoint,
    Team,
    TeamResult,
)

ALONE = Alone()
BAYESIAN = Bayesian()
METHODS: dict[str, Combination] = {
    way.name: way
    for way in (
        Logistic(),
        AsPublished(),
        BAYESIAN,
        Majority(),
        MostConfident(),
        AverageProbability(),
    )
}


def method_named(name: str, seed: int = 42) -> Combination:
    """The method of that name; `seed` is for what the bayesian one draws, and the logistic one's blocks of items.

    Raises KeyError for an unknown name.

    >>> method_named("logistic", 7).seed
    7
    """
    way = METHODS[name]
    return replace(way, seed=seed) if isinstance(way, (Bayesian, Logistic)) else way


Progress = Callable[[str], None]


@dataclass(frozen=True)
class Runs:
    """On which rows, what is held out and what is resampled; `held`: (members, method) -> predictions.

    A member by itself is `alone`, whatever the method. not_possible: what could not be fitted.
    """

    evidence: Evidence
    folds: Folds
    draws: Draws
    held: dict[tuple[Names, Method], HeldOut] = field(default_factory=dict)
    not_possible: list[NotPossible] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        evidence: Evidence,
        data: SourceData,
        hold_out: Callable[..., Folds] = by_item,
    ) -> "Runs":
        """Raises NotEnough where nothing can be held out."""
        draws = Draws.of(evidence, resamples=data.resamples, seed=data.seed)
        return cls(evidence, hold_out(evidence, seed=data.seed), draws)

    def add(
        self,
        teams: Iterable[Names],
        method: Combination,
        progress: Progress = lambda _: None,
    ) -> None:
        """Try these teams; one that was tried before is not tried again. `progress` gets a team's label before its turn."""
        for names in teams:
            way = ALONE if len(names) == 1 else method
            if (names, way.name) in self.held:
                continue
            evidence = self.evidence.of(names)
            progress(evidence.team.label)
            if way.name == Method.LOGISTIC and learns_noise(evidence, way.name):
                way = SymmetricHalves()
            try:
                self.held[names, way.name] = way.held_out(evidence, self.folds)
            except NotEnough as missing:
                row = NotPossible(evidence.team, way.name, missing.reason, missing.needed)
                if row not in self.not_possible:
                    self.not_possible.append(row)

    def results(self) -> list[TeamResult]:
        """Every team's numbers, on the same draws; Holm's correction is over the teams of a method."""
        by_method: dict[Method, list[tuple[Names, Method, HeldOut]]] = {}
        for (names, method), held in self.held.items():
            by_method.setdefault(method, []).append((names, method, held))
        return [
            row
            for runs in by_method.values()
            for row in evaluate_all(self.evidence, runs, self.draws)
        ]

    def get(self, names: Names, method: Method) -> HeldOut | None:
        return self.held.get((names, ALONE.name if len(names) == 1 else method))

    def adding_human(self) -> list[AddingHuman]:
        """For every team with people: itself against the same team with one person less, on the same trials."""
        pairs: list[tuple[Team, Team, Method]] = []
        after, before = [], []
        for (names, method), held in self.held.items():
            team = self.evidence.of(names).team
            last = team.humans[-1:]
            rest = tuple(name for name in names if name not in [m.name for m in last])
            alone = self.get(rest, method) if last and rest else None
            if alone is not None:
                pairs.append((team, self.evidence.of(rest).team, method))
                after.append(held.is_right)
                before.append(alone.is_right)
        if not pairs:
            return []
        gains = [
            Gain(gain.value, None, None, gain.n, None, None) if self._noise(pair) else gain
            for pair, gain in zip(
                pairs,
                differences(np.column_stack(after), np.column_stack(before), self.draws),
                strict=True,
            )
        ]
        rows = [
            AddingHuman(
                team=rest,
                with_human=team.label,
                added=team.humans[-1],
                method=method,
                gain=gain,
                p_holm=None,
            )
            for (team, rest, method), gain in zip(pairs, gains, strict=True)
        ]
        return corrected_adding(rows)

    def _noise(self, pair: tuple[Team, Team, Method]) -> bool:
        """Whether one of the two errs on all its rows together, so that resampling them says nothing."""
        return any(learns_noise(self.evidence.of(team.names), pair[2]) for team in pair[:2])

    @property
    def folds_of(self) -> dict[Method, Folds]:
        """What was held out together, by method: folds of its own, else the given ones."""
        return {method: held.folds or self.folds for (_, method), held in self.held.items()}


def corrected_adding(rows: list[AddingHuman]) -> list[AddingHuman]:
    """With Holm's correction over all rows of the same method that have a p."""
    adjusted = holm([row.gain.p for row in rows], [row.method for row in rows])
    return [replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True)]


def corrected_gains(rows: list[TeamResult]) -> list[TeamResult]:
    """With Holm's correction over all teams of the same method that have a p."""
    adjusted = holm([row.gain_p for row in rows], [row.method for row in rows])
    return [replace(row, gain_p_holm=p) for row, p in zip(rows, adjusted, strict=True)]


def member_results(
    evidence: Evidence, missing: Mapping[str, int], left_out: Iterable[MemberResult] = ()
) -> tuple[MemberResult, ...]:
    """How each member does by itself on the teams' trials; then those that are left out."""
    right = evidence.is_right
    rows = [
        MemberResult(
            name=m.name,
            kind=m.kind,
            display_name=m.display_name,
            family=m.family,
            method=m.method,
            n_correct=int(right[:, k].sum()),
            accuracy=float(right[:, k].mean()),
            n_missing=missing.get(m.name, 0),
        )
        for k, m in enumerate(evidence.members)
    ]
    return (*rows, *left_out)


TEAM_COLUMNS = (
    "team=team.label", "display_name=team.display_name", "method", "n_humans", "n_models", "n_trials", "n_items", "n_participants", "n_correct",
    "accuracy", "accuracy_ci95", "log_loss=log_loss_nats", "log_loss_ci95=log_loss_nats_ci95", "brier", "brier_ci95", "calibration_error",
    "calibration_error_ci95", "best_member", "best_member_accuracy", "gain", "gain_ci95", "gain_p", "gain_p_holm",
    "gain_two_way_se", "gain_two_way_ci95", "selector_accuracy", "selector_ci95=selector_accuracy_ci95",
)  # fmt: skip
POLICY_COLUMNS = (
    "model=team.label", "display_name=team.display_name", "policy", "share", "share_asked", "threshold", "n_asked", "n_trials", "n_correct",
    "accuracy", "random_accuracy", "cost", "accuracy_ci95",
)  # fmt: skip
CHOSEN_COLUMNS = (
    "model=team.label", "display_name=team.display_name", "policy", "threshold", "share_asked", "n_asked", "n_trials", "n_correct", "accuracy",
    "cost", "folds", "accuracy_ci95", "gain", "gain_ci95",
)  # fmt: skip
END = "_ci95"


def team_table(rows: Sequence[TeamResult]) -> pd.DataFrame:
    """One row per team and method."""
    return _table(rows, TEAM_COLUMNS)


def policy_table(rows: Sequence[PolicyPoint]) -> pd.DataFrame:
    return _table(rows, POLICY_COLUMNS)


def chosen_policy_table(rows: Sequence[ChosenPolicy]) -> pd.DataFrame:
    return _table(rows, CHOSEN_COLUMNS)


def _table(
    rows: Sequence[TeamResult | PolicyPoint | ChosenPolicy], names: Sequence[str]
) -> pd.DataFrame:
    """The fields of these names; `name=path` stands under another."""
    columns = [part for name in names for part in _parts(name.partition("=")[0])]
    return pd.DataFrame([_cells(row, names) for row in rows], columns=columns)


def _parts(name: str) -> list[str]:
    stem = name.removesuffix(END)
    return [f"{stem}_low", f"{stem}_high"] if name.endswith(END) else [name]


def _cells(row: Any, names: Sequence[str]) -> list[Any]:
    cells: list[Any] = []
    for name in names:
        value = to_json(attrgetter(name.rpartition("=")[2])(row))
        cells += (value or (None, None)) if name.endswith(END) else (value,)
    return cells


def prediction_table(
    runs: Runs, items: pd.DataFrame, only: Sequence[Names] | None = None
) -> pd.DataFrame:
    """One row per team and trial: what was held out together, who judged, the probability of the original, right or not.

    `trial` and `participant` are numbers from 1 in the study's order ("" where rows are items; several joined by +).
    """
    evidence = runs.evidence
    common = pd.DataFrame(
        {
            "trial": _joined(evidence.trial),
            "participant": _joined(evidence.participant),
            "item": items["key"].to_numpy()[evidence.item],
            "original_side": np.where(evidence.truth > 0, "B", "A"),
        }
    )
    parts = [
        common.assign(
            team=evidence.of(names).team.label,
            method=method.value,
            fold=(held.folds or runs.folds).fold + 1,
            p_original=held.p_original,
            p_b=np.where(evidence.truth > 0, held.p_original, 1 - held.p_original),
            is_right=held.is_right,
        )
        for (names, method), held in runs.held.items()
        if only is None or names in only
    ]
    if not parts:
        return common.iloc[:0]
    return pd.concat(parts, ignore_index=True)


def _joined(numbers: Ints) -> list[str]:
    return ["+".join(str(n) for n in row) for row in (numbers + 1).tolist()]
