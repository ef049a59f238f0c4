from dataclasses import asdict
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from experiment.imports.store.demo import SLUG, ensure_demo
from experiment.services.item_choice import taken
from experiment.simulation.run import FlowCounts, Plan, ServiceDriver, count_flow, simulate
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = "Create or update the built-in demo study, open to anyone with its link."
    prints = {"study": str, "url": str, "items": {str: int}, "simulated": FlowCounts}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--simulate",
            type=int,
            default=12,
            metavar="N",
            help="simulated finishers, if the study does not have participants yet (default: 12; 0 for none)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["simulate"] < 0:
            raise CommandError("--simulate must be a number of finishers, or 0.")
        study, questions = ensure_demo()
        for each in (study, questions):
            if options["simulate"] and not each.participants.exists():
                plan = Plan(
                    options["simulate"], dropout=0.3, arrival="steady", accuracy=0.63, seed=1
                )
                for _ in simulate(each, plan, partial(ServiceDriver, each, each.policy)):
                    pass
        site = settings.BASE_URL.rstrip("/")
        url = site + study.get_absolute_url()
        flow = count_flow(study)
        data = {"study": SLUG, "url": url, "items": taken(study).strata, "simulated": asdict(flow)}
        lines = [
            f"The demo study is ready, with {flow.finished} simulated finishers.",
            f"  Take the test:  {url}",
            f"  Answer questions:  {site}{questions.get_absolute_url()}",
        ]
        self.report(options, data, lines)
