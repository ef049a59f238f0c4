from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from threadpoolctl import threadpool_limits

from analysis.data import read
from analysis.data.filters import ReportOptions
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.evidence import Evidence, gather
from analysis.teams.domain.runs import METHODS
from benchmarks.analysis import teams
from benchmarks.databases import published_study
from lib.commands import ReportingCommand, add_json_argument, table_lines

CHAT_MODELS = tuple(f"meta-llama/Llama-2-{size}-chat-hf" for size in ("7b", "13b", "70b"))
LOGISTIC_TARGET_S, BAYESIAN_TARGET_S = 3.0, 300.0
Size = tuple[int, int]  # trials, items
LEAST = 100  # trials of the smallest simulated study
SIZES = ((100, 40), (1_000, 200), (10_000, 300), (100_000, 500), (1_000_000, 1_000))
ITEMS, ITEMS_TRIALS = (100, 300, 1_000, 3_000), 10_000
MODELS, MODELS_TRIALS = (3, 10, 30), 1_011
IMPROVED_MOST = 100_000  # trials; its cost grows with them


class Bench(ReportingCommand):
    help = (
        "Measure what teams cost in CPU seconds of one thread: all logistic teams of a human and three models, Bayesian pairs "
        "of a human and a model, and growth with trials, items and members of the logistic, averaging, improved and Bayesian "
        "ones. On simulated judgments, or a copy of the published results, which it reads through a temporary SQLite "
        "database; the site's is not touched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--published",
            type=Path,
            metavar="DIR",
            help="a copy of the published results' repository (default: simulated judgments of its size)",
        )
        parser.add_argument(
            "--refit",
            action="store_true",
            help="also fit the Bayesian model anew for every test case that is left out",
        )
        parser.add_argument(
            "--largest",
            type=int,
            default=1_000_000,
            metavar="N",
            help="leave out simulated studies of more trials (default: 1000000; at least 100)",
        )
        parser.add_argument(
            "--quick", action="store_true", help="a hundred trials of everything: does it run?"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        costs = teams.Costs(lambda name: self.stderr.write(f"measuring: {name}"))
        quick, largest = bool(options["quick"]), options["largest"]
        if largest < LEAST:
            raise CommandError(f"--largest is {largest}; it must be at least {LEAST}.")
        with threadpool_limits(1):
            evidence, data = _evidence(options["published"], quick)
            results = teams.measure_teams(costs, evidence, data, 200 if quick else 10_000)
            _bayesian(costs, evidence, options["refit"], quick)
            _growth(costs, LEAST if quick else largest, quick)
        found = [
            {
                "team": r.team.label,
                "method": r.method,
                "n_correct": r.n_correct,
                "n_trials": r.n_trials,
            }
            for r in results
        ]
        rows = [asdict(row) for row in costs.rows]
        self.report(options, {"data": data, "rows": rows, "teams": found}, lines(costs.rows))


def _evidence(folder: Path | None, quick: bool) -> tuple[Evidence, str]:
    if folder is None:
        n_trials, n_items = (100, 40) if quick else (1_011, 200)
        return teams.make_judgments(n_trials, n_items, 3), "simulated judgments"
    with published_study(folder) as study:
        data = read.read(study, ReportOptions(source="human"))["human"]
    names = data.models["name"].tolist()
    missing = [name for name in CHAT_MODELS if name not in names]
    if missing:
        raise CommandError(f"{folder} has no scores of {', '.join(missing)}.")
    return gather(data, [names.index(n) for n in CHAT_MODELS]).evidence, "published judgments"


def _bayesian(costs: teams.Costs, evidence: Evidence, refit: bool, quick: bool) -> None:
    method: Any = METHODS["bayesian"]
    if quick:
        method = replace(method, draws=200, refit_draws=50)
    ways = [(method, "reweighted")]
    if refit:
        ways.append((replace(method, refit=True), "refitted"))
    models = evidence.members[1:2] if quick else evidence.members[1:]
    for way, words in ways:
        for model in models:
            pair = evidence.of((evidence.names[0], model.name))
            name = f"Bayesian, {words}: Human + {model.name}"
            teams.measure_method(costs, pair, way, name, f"Bayesian pairs, {words}")


def studies(largest: int) -> tuple[list[Size], list[Size], Size]:
    """The simulated studies of at most so many trials: growing in trials, growing in items, and for many members."""
    in_trials = [size for size in SIZES if size[0] <= largest]
    n = min(ITEMS_TRIALS, largest)
    in_items = [(n, n_items) for n_items in ITEMS if 2 * n_items <= n]
    n = min(MODELS_TRIALS, largest)
    return in_trials, in_items, (n, min(200, n // 2))


def _growth(costs: teams.Costs, largest: int, quick: bool) -> None:
    in_trials, in_items, for_members = studies(largest)
    for n_trials, n_items in in_trials:
        evidence = teams.make_judgments(n_trials, n_items, 3)
        held = _each(costs, evidence, f"{n_trials:,} trials")
        teams.measure_intervals(costs, evidence, held, 200 if quick else 10_000)
    for n_trials, n_items in in_items:
        _each(costs, teams.make_judgments(n_trials, n_items, 3), f"{n_items:,} items")
    for n_models in (4,) if quick else MODELS:
        evidence = teams.make_judgments(*for_members, n_models)
        teams.measure_choice(costs, evidence, n_models, 500)


def _each(costs: teams.Costs, evidence: Evidence, size: str) -> list[HeldOut]:
    """The ways whose cost grows, each with one team; the predictions of those whose intervals are measured.

    The Bayesian team is a pair, as in the report; the others have all members.
    """
    found = [
        teams.measure_method(costs, evidence, METHODS[name], f"{name}, {size}")
        for name in ("logistic", "average")
    ]
    if len(evidence) <= IMPROVED_MOST:
        teams.measure_method(costs, evidence, METHODS["improved"], f"improved, {size}")
    pair = evidence.of(evidence.names[:2])
    teams.measure_method(costs, pair, METHODS["bayesian"], f"bayesian pair, {size}")
    return found


def lines(measured: Sequence[teams.Measured]) -> Iterator[str]:
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
    for group in dict.fromkeys(row.group for row in measured if row.group):
        pairs = [row.cpu_s for row in measured if row.group == group]
        yield f"{len(pairs)} {group}: {sum(pairs):.1f} CPU s"
    yield (
        f"Aims: {LOGISTIC_TARGET_S:g} CPU s for the 15 logistic teams, {BAYESIAN_TARGET_S:g} for three Bayesian pairs, every "
        "test case left out in turn. Memory is the highest so far."
    )
