"""Simulated judgments for teams, any size, and what one step of combining them costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TypeVar

import numpy as np

from analysis.teams.domain.combination import Combination, HeldOut
from analysis.teams.domain.evaluation import evaluate_all
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Draws, Folds, by_item
from analysis.teams.domain.runs import ALONE, METHODS
from analysis.teams.domain.trying import subsets
from analysis.teams.results import Member, MemberKind, Method, TeamResult
from benchmarks.cost import Stopwatch, highest_mb

TRIALS_EACH = 9
Held = tuple[Names, Method, HeldOut]
Result = TypeVar("Result")


def make_judgments(n_trials: int, n_items: int, n_models: int, seed: int = 42) -> Evidence:
    """One human and models: latent evidence is normal, models' means go from 0.6 to 1, half of their variance is shared.

    Everybody judges nine different items; ratings grow with the latent evidence.
    """
    rng = np.random.default_rng(seed)
    shared = rng.normal(0, 1, n_items)
    own = rng.normal(0, 1, (n_items, n_models))
    models = np.linspace(0.6, 1.0, n_models) + np.sqrt(0.5) * (shared[:, None] + own)
    owner, position = np.divmod(np.arange(n_trials), TRIALS_EACH)
    start = rng.integers(0, n_items, owner[-1] + 1)
    item = rng.permutation(n_items)[(start[owner] + position) % n_items]
    latent = 0.35 + 0.3 * shared[item] + rng.normal(0, 0.95, n_trials)
    rating = np.sign(latent) * np.clip(np.round(50 * np.abs(latent)), 1, 100)
    truth = rng.choice([-1.0, 1.0], n_trials)
    towards = np.column_stack([rating, 0.3 * models[item]])
    machines = [
        Member(f"simulated/model-{k:02d}", MemberKind.MODEL, f"Model {k}") for k in range(n_models)
    ]
    return Evidence(
        (Member("human", MemberKind.HUMAN, "Human"), *machines),
        item,
        truth,
        towards * truth[:, None],
        owner[:, None],
        np.arange(n_trials)[:, None],
    )


@dataclass(frozen=True)
class Measured:
    """What one step cost; `group` names steps whose costs are added up, `peak_mb` is the process's highest so far."""

    name: str
    n_trials: int
    n_items: int
    n_members: int
    n_folds: int
    cpu_s: float
    peak_mb: float
    group: str = ""


class Costs:
    """Rows of what was measured; `announce` is called with a step's name before it."""

    def __init__(self, announce: Callable[[str], None] = lambda _: None) -> None:
        self.rows: list[Measured] = []
        self._announce = announce

    def measure(
        self,
        name: str,
        evidence: Evidence,
        work: Callable[[], Result],
        n_folds: int = 0,
        group: str = "",
    ) -> Result:
        """Do the work and note what it cost; its result is returned."""
        self._announce(name)
        watch = Stopwatch()
        result = work()
        self.rows.append(
            Measured(
                name,
                len(evidence),
                len(np.unique(evidence.item)),
                len(evidence.members),
                n_folds,
                watch.lap().cpu_s,
                highest_mb(),
                group,
            )
        )
        return result


def held_out(
    evidence: Evidence, teams: Sequence[Names], method: Combination, folds: Folds
) -> list[Held]:
    """The predictions of all these teams; members by themselves are `alone`."""
    ways = [(names, ALONE if len(names) == 1 else method) for names in teams]
    return [(names, way.name, way.held_out(evidence.of(names), folds)) for names, way in ways]


def measure_teams(
    costs: Costs, evidence: Evidence, words: str, resamples: int
) -> Sequence[TeamResult]:
    """All teams of the evidence by the published combination, and their numbers with intervals; the results."""
    folds = by_item(evidence)
    teams = list(subsets(evidence.names, len(evidence.members)))
    held = costs.measure(
        f"{len(teams)} logistic teams, {words}",
        evidence,
        lambda: held_out(evidence, teams, METHODS["logistic"], folds),
        folds.n,
    )
    draws = Draws.of(evidence, resamples)
    return costs.measure(
        f"their intervals, {draws.resamples:,} resamples",
        evidence,
        lambda: evaluate_all(evidence, held, draws),
        folds.n,
    )


def measure_method(
    costs: Costs, evidence: Evidence, method: Combination, words: str, group: str = ""
) -> HeldOut:
    """One team of all members."""
    folds = by_item(evidence)
    held = costs.measure(words, evidence, lambda: method.held_out(evidence, folds), folds.n, group)
    if held.folds is not None:  # some methods use others
        costs.rows[-1] = replace(costs.rows[-1], n_folds=held.folds.n)
    return held


def measure_intervals(
    costs: Costs, evidence: Evidence, held: Sequence[HeldOut], resamples: int
) -> None:
    """The numbers of these predictions, each of the team of all members."""
    draws = Draws.of(evidence, resamples)
    costs.measure(
        f"intervals of {len(held)} teams, {len(evidence):,} trials, {draws.resamples:,} resamples",
        evidence,
        lambda: evaluate_all(evidence, [(evidence.names, Method.AVERAGE, h) for h in held], draws),
    )


def measure_choice(costs: Costs, evidence: Evidence, n_models: int, most_teams: int) -> None:
    """Many members: all teams up to the largest size with at most `most_teams`."""
    n, method = len(evidence.members), METHODS["logistic"]
    sizes = np.cumsum([comb(n, size) for size in range(1, n + 1)])
    k = max(1, int((sizes <= most_teams).sum()))
    teams, each = list(subsets(evidence.names, k)), by_item(evidence)
    costs.measure(
        f"{n_models} models: all {len(teams)} teams up to {k}",
        evidence,
        lambda: held_out(evidence, teams, method, each),
        each.n,
    )
