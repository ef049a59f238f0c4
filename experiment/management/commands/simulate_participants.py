import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import httpx2
from django.core.management.base import CommandError, CommandParser

from experiment.domain.simulation import ARRIVALS, FOLLOWS
from experiment.management.finding import find_study
from experiment.models import Study
from experiment.services.advisers import is_advised, items_without_advice
from experiment.services.counts import Exposures
from experiment.services.readiness import completion_problems
from experiment.services.work import is_under_way, remove_simulated
from experiment.simulation.over_http import HttpDriver, PageError
from experiment.simulation.run import (
    Driver,
    FlowCounts,
    Plan,
    ServiceDriver,
    count_flow,
    count_steps,
    simulate,
    simulated_exposures,
)
from lib.commands import ReportingCommand, add_json_argument, progress, table_lines


class Command(ReportingCommand):
    help = (
        "Simulate participants and print how evenly the test cases were judged. "
        "Earlier simulated participants of the study are removed first, unless --keep is given."
    )
    prints = {
        "study": str,
        "arrival": str,
        "policy": str,
        "seed": int,
        "exposures": {str: {"mean": float, "sd": float, "min": int, "max": int}},
        "flow": FlowCounts,
        "removed": int,
        "without_advice": int,
        "seconds": float,
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument(
            "--finish", type=int, default=200, help="number of finishers (default: %(default)s)"
        )
        parser.add_argument(
            "--dropout",
            type=float,
            default=0.8,
            help="probability of leaving early, at a random page (default: %(default)s)",
        )
        parser.add_argument(
            "--arrival",
            choices=ARRIVALS,
            default="steady",
            help="pace at which participants arrive (default: %(default)s)",
        )
        parser.add_argument(
            "--accuracy",
            type=float,
            default=0.63,
            help="probability that a choice is right without advice (default: %(default)s)",
        )
        parser.add_argument(
            "--follows",
            type=float,
            default=FOLLOWS,
            help="probability of following advice (default: %(default)s)",
        )
        parser.add_argument(
            "--seed", type=int, default=1, help="seed of all random numbers (default: %(default)s)"
        )
        parser.add_argument(
            "--policy",
            choices=Study.Policy.values,
            help="how test cases are drawn (default: the study's policy)",
        )
        parser.add_argument(
            "--http",
            metavar="URL",
            help="use the real pages of a running server, as fast as it responds",
        )
        parser.add_argument(
            "--keep", action="store_true", help="keep earlier simulated participants"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        problems = completion_problems(study)
        if problems:
            raise CommandError(
                f"Study {study.slug} cannot be taken: {'; '.join(map(str, problems))}."
            )
        if is_under_way(study):
            raise CommandError(f"A dry run of {study.slug} is under way.")
        plan = Plan(
            *(
                options[name]
                for name in ("finish", "dropout", "arrival", "accuracy", "seed", "follows")
            )
        )
        started = time.perf_counter()
        try:
            n_steps = count_steps(study, plan)
        except ValueError as error:
            raise CommandError(f"Cannot simulate: {error}.") from error
        n_removed = 0 if options["keep"] else remove_simulated(study)
        try:
            self._run(study, plan, n_steps, options)
        except httpx2.ConnectError as error:
            raise CommandError(f"No server answers at {options['http']}.") from error
        except (PageError, httpx2.HTTPError) as error:
            raise CommandError(f"The simulation over HTTP stopped: {error}.") from error
        flow, exposures = count_flow(study), simulated_exposures(study)
        n_without_advice = items_without_advice(study).count() if is_advised(study) else 0
        seconds = round(time.perf_counter() - started, 2)
        data = {
            "study": study.slug,
            "arrival": plan.arrival,
            "policy": options["policy"] or study.policy,
            "seed": plan.seed,
            "exposures": {
                row.stratum: {"mean": row.mean, "sd": row.sd, "min": row.min, "max": row.max}
                for row in exposures
            },
            "flow": asdict(flow),
            "removed": n_removed,
            "without_advice": n_without_advice,
            "seconds": seconds,
        }
        lines = [*_lines(flow, exposures, n_removed, seconds)]
        if n_without_advice:
            lines.append(
                f"Simulated participants saw no advice on {n_without_advice} test cases. Real ones will: opening recruitment "
                "freezes it."
            )
        self.report(options, data, lines)

    def _run(self, study: Study, plan: Plan, n_steps: int, options: dict[str, Any]) -> None:
        policy = options["policy"] or study.policy
        if options["http"] and policy != study.policy:
            raise CommandError("Over HTTP, the study's own policy applies. Leave out --policy.")

        def new_driver() -> Driver:
            if options["http"]:
                return HttpDriver(study, options["http"])
            return ServiceDriver(study, policy)

        with progress("Simulating", n_steps, "pages", quiet=options["json"]) as update:
            for done in simulate(study, plan, new_driver):
                update(done)


def _lines(
    flow: FlowCounts, exposures: list[Exposures], n_removed: int, seconds: float
) -> Iterator[str]:
    if n_removed:
        yield f"{n_removed} earlier simulated participants were removed (--keep keeps them)"
    yield f"{flow.started} started, {flow.finished} finished, {flow.valid} valid ({seconds} s)"
    yield "valid judgments per test case:"
    yield from table_lines(
        (
            {
                "stratum": row.stratum,
                "mean": f"{row.mean:.2f}",
                "sd": f"{row.sd:.2f}",
                "min": str(row.min),
                "max": str(row.max),
            }
            for row in exposures
        ),
        left=("stratum",),
    )
