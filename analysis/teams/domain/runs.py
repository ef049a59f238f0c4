"""Teams tried on held-out trials, one after another, by the ways of combining that users choose."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.data.dataset import SourceData
from analysis.stats import NotEnough
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
from analysis.teams.domain.folds import Draws, Folds, by_item, differences
from analysis.teams.domain.logistic import Logistic
from analysis.teams.results import (
    AddingHuman,
    MemberResult,
    Method,
    NotPossible,
    Team,
    TeamResult,
)
from lib.points import RIGHT, TIE

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
            if way.name == Method.LOGISTIC and learns_noise(evidence):
                way = SymmetricHalves()
            try:
                self.held[names, way.name] = way.held_out(evidence, self.folds)
            except NotEnough as missing:
                row = NotPossible(evidence.team, way.name, missing.reason, missing.needed)
                if row not in self.not_possible:
                    self.not_possible.append(row)

    def results(self) -> list[TeamResult]:
        """Every team's numbers, on the same draws, before their correction."""
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
                after.append(held.points)
                before.append(alone.points)
        if not pairs:
            return []
        gains = differences(np.column_stack(after), np.column_stack(before), self.draws)
        is_near_chance = [
            any(learns_noise(self.evidence.of(one.names)) for one in (larger, smaller))
            for larger, smaller, _method in pairs
        ]
        for n, is_near in enumerate(is_near_chance):
            # One that errs on all its rows together: resampling them says nothing
            if is_near:
                gains[n] = replace(gains[n], ci95=None, p=None, se=None)
        return [
            AddingHuman(
                team=rest,
                with_human=team.label,
                added=team.humans[-1],
                method=method,
                gain=gain,
                n_items=self.draws.n_items,
                n_participants=self.draws.n_people,
                is_near_chance=is_near,
            )
            for (team, rest, method), gain, is_near in zip(
                pairs, gains, is_near_chance, strict=True
            )
        ]

    @property
    def folds_of(self) -> dict[Method, Folds]:
        """Folds that were held out together, by method: folds of its own, else the given ones."""
        return {method: held.folds or self.folds for (_, method), held in self.held.items()}


def member_results(
    evidence: Evidence, missing: Mapping[str, int], left_out: Iterable[MemberResult] = ()
) -> tuple[MemberResult, ...]:
    """How each member does by itself on the teams' trials; then those that are left out."""
    points = evidence.points
    rows = [
        MemberResult(
            name=m.name,
            kind=m.kind,
            display_name=m.display_name,
            family=m.family,
            method=m.method,
            n_correct=int((points[:, k] == RIGHT).sum()),
            n_ties=int((points[:, k] == TIE).sum()),
            accuracy=float(points[:, k].mean()),
            n_missing=missing.get(m.name, 0),
        )
        for k, m in enumerate(evidence.members)
    ]
    return (*rows, *left_out)
