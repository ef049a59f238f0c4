from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from typing import Any, TypeVar

import numpy as np
from django.core.management.base import CommandError, CommandParser
from threadpoolctl import threadpool_limits

from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.evaluation import evaluate_all
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Draws, Folds, by_item
from analysis.teams.domain.runs import ALONE, METHODS
from analysis.teams.domain.trying import subsets
from analysis.teams.results import Member, MemberKind, Method, TeamResult
from benchmarks.cost import Stopwatch, highest_mb
from lib.commands import ReportingCommand, add_json_argument, table_lines

LOGISTIC_TARGET_S, BAYESIAN_TARGET_S = 3.0, 300.0
TRIALS_EACH = 9
LEAST = 100  # trials of the smallest simulated study
SIZES = ((100, 40), (1_000, 200), (10_000, 300), (100_000, 500), (1_000_000, 1_000))  # and items
ITEMS, ITEMS_TRIALS = (100, 300, 1_000, 3_000), 10_000
MODELS, MODELS_TRIALS = (3, 10, 30), 1_011
LOGISTIC_MOST = 100_000  # trials; its cost grows with them
MOST_TEAMS = 500  # of many members
Result = TypeVar("Result")


class Bench(ReportingCommand):
    help = (
        "Measure the CPU time of teams in one thread, on simulated judgments: all published teams of people and three models, "
        "and Bayesian pairs of people and a model. It also measures how the published, logistic, averaging and Bayesian "
        "methods grow with trials, items and members."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--largest",
            type=int,
            default=1_000_000,
            metavar="N",
            help="trials of the largest simulated study (default: 1000000; at least 100)",
        )
        parser.add_argument(
            "--quick",
            action="store_true",
            help="use a hundred trials, to check that everything runs",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        costs = Costs(lambda name: self.stderr.write(f"measuring: {name}"))
        quick = bool(options["quick"])
        largest = LEAST if quick else options["largest"]
        if largest < LEAST:
            raise CommandError(f"--largest is {largest}, but must be at least {LEAST}.")
        with threadpool_limits(1):
            evidence = make_judgments(*((100, 40) if quick else (1_011, 200)), 3)
            results = measure_teams(costs, evidence, 200 if quick else 10_000)
            bayesian: Any = METHODS["bayesian"]
            if quick:
                bayesian = replace(bayesian, draws=200, refit_draws=50)
            for model in evidence.members[1:2] if quick else evidence.members[1:]:
                pair = evidence.of((evidence.names[0], model.name))
                name = f"Bayesian: Human + {model.name}"
                costs.method(pair, bayesian, name, "Bayesian pairs")
            measure_growth(costs, largest, quick)
        found = [
            {
                "team": r.team.label,
                "method": r.method,
                "n_correct": r.n_correct,
                "n_trials": r.n_trials,
            }
            for r in results
        ]
        self.report(
            options,
            {"rows": [asdict(row) for row in costs.rows], "teams": found},
            lines(costs.rows),
        )


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
    signed = towards * truth[:, None]
    return Evidence(
        (Member("human", MemberKind.HUMAN, "Human"), *machines),
        item,
        truth,
        signed,
        signed,
        owner[:, None],
        np.arange(n_trials)[:, None],
    )


@dataclass(frozen=True)
class Measured:
    """The cost of one step; `group` names steps whose costs are added up, `peak_mb` is the process's highest so far."""

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

    def __init__(self, announce: Callable[[str], object]) -> None:
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
        size = len(evidence), len(np.unique(evidence.item)), len(evidence.members)
        cpu_s = watch.lap().cpu_s
        self.rows.append(Measured(name, *size, n_folds, cpu_s, highest_mb(), group))
        return result

    def method(self, evidence: Evidence, method: Any, name: str, group: str = "") -> HeldOut:
        """One team of all members."""
        folds = by_item(evidence)
        held: HeldOut = self.measure(
            name, evidence, lambda: method.held_out(evidence, folds), folds.n, group
        )
        if held.folds is not None:  # some methods use others
            self.rows[-1] = replace(self.rows[-1], n_folds=held.folds.n)
        return held


def held_out(
    evidence: Evidence, teams: Sequence[Names], folds: Folds
) -> list[tuple[Names, Method, HeldOut]]:
    """The published predictions of all these teams; members by themselves are `alone`."""
    ways = [(names, ALONE if len(names) == 1 else METHODS["as-published"]) for names in teams]
    return [(names, way.name, way.held_out(evidence.of(names), folds)) for names, way in ways]


def measure_teams(costs: Costs, evidence: Evidence, resamples: int) -> Sequence[TeamResult]:
    """All teams of the evidence by the published combination, and their numbers with intervals; the results."""
    folds = by_item(evidence)
    teams = list(subsets(evidence.names, len(evidence.members)))
    name = f"{len(teams)} published teams"
    held = costs.measure(name, evidence, lambda: held_out(evidence, teams, folds), folds.n)
    draws = Draws.of(evidence, resamples)
    return costs.measure(
        f"their intervals, {draws.resamples:,} resamples",
        evidence,
        lambda: evaluate_all(evidence, held, draws),
        folds.n,
    )


def measure_growth(costs: Costs, largest: int, quick: bool) -> None:
    """In trials, in items, and in members, of which all teams up to a size are tried."""
    for n_trials, n_items in (size for size in SIZES if size[0] <= largest):
        evidence = make_judgments(n_trials, n_items, 3)
        held = measure_each(costs, evidence, f"{n_trials:,} trials")
        draws = Draws.of(evidence, 200 if quick else 10_000)
        costs.measure(
            f"intervals of {len(held)} teams, {n_trials:,} trials, {draws.resamples:,} resamples",
            evidence,
            lambda e=evidence, h=held, d=draws: evaluate_all(  # type: ignore[misc]
                e, [(e.names, Method.AVERAGE, one) for one in h], d
            ),
        )
    n = min(ITEMS_TRIALS, largest)
    for n_items in (n_items for n_items in ITEMS if 2 * n_items <= n):
        measure_each(costs, make_judgments(n, n_items, 3), f"{n_items:,} items")
    n = min(MODELS_TRIALS, largest)
    for n_models in (4,) if quick else MODELS:
        measure_choice(costs, make_judgments(n, min(200, n // 2), n_models), n_models)


def measure_each(costs: Costs, evidence: Evidence, size: str) -> list[HeldOut]:
    """The ways whose cost grows, each with one team; the predictions of those whose intervals are measured.

    The Bayesian team is a pair, as in the report; the others have all members.
    """
    found = [
        costs.method(evidence, METHODS[name], f"{name}, {size}")
        for name in ("as-published", "average")
    ]
    if len(evidence) <= LOGISTIC_MOST:
        costs.method(evidence, METHODS["logistic"], f"logistic, {size}")
    pair = evidence.of(evidence.names[:2])
    costs.method(pair, METHODS["bayesian"], f"bayesian pair, {size}")
    return found


def measure_choice(costs: Costs, evidence: Evidence, n_models: int) -> None:
    """Many members: all teams up to the largest size with at most MOST_TEAMS."""
    n, folds = len(evidence.members), by_item(evidence)
    sizes = np.cumsum([comb(n, size) for size in range(1, n + 1)])
    k = max(1, int((sizes <= MOST_TEAMS).sum()))
    teams = list(subsets(evidence.names, k))
    name = f"{n_models} models: all {len(teams)} teams up to {k}"
    costs.measure(name, evidence, lambda: held_out(evidence, teams, folds), folds.n)


def lines(measured: Sequence[Measured]) -> Iterator[str]:
    """A table of what was measured, sums of its groups, and the aims."""
    rows = [
        {
            "step": row.name,
            "trials": f"{row.n_trials:,}",
            "items": f"{row.n_items:,}",
            "members": str(row.n_members),
            "folds": str(row.n_folds),
            "CPU s": f"{row.cpu_s:.2f}",
            "peak MB": f"{row.peak_mb:.0f}",
        }
        for row in measured
    ]
    yield from table_lines(rows, left=["step"])
    pairs = [row.cpu_s for row in measured if row.group]
    yield f"{len(pairs)} Bayesian pairs: {sum(pairs):.1f} CPU s"
    yield (
        f"Targets: {LOGISTIC_TARGET_S:g} CPU s for the 15 published teams and {BAYESIAN_TARGET_S:g} for three Bayesian pairs, with "
        "every test case held out in turn. Memory is the highest value so far."
    )
