from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.models import Channel, Item, Study
from experiment.models.channels import PLAIN
from experiment.services.builtin_items import ensure_items
from experiment.services.channels import save_channel
from experiment.services.item_choice import taken
from experiment.services.study_setup import create_study, pin_items, set_recruitment
from experiment.simulation.run import Plan, ServiceDriver, count_flow, simulate
from lib.commands import ReportingCommand, add_json_argument

SLUG = "demo"
DEMO: dict[str, Any] = {
    "title": "BrainBench Live demo",
    "is_demo": True,
}
PLAIN_CHANNEL = {"code": PLAIN, "label": "Plain link", "completion_code": "DEMO-THANKS"}
CONTACT = "the person who showed you this demonstration"


class Command(ReportingCommand):
    help = "Create or update the built-in demo study, open to anyone with its link."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--simulate",
            type=int,
            default=12,
            metavar="N",
            help="simulated finishers, if the study has no participants yet (default 12; 0 for none)",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["simulate"] < 0:
            raise CommandError("--simulate takes a number of finishers, 0 for none.")
        with transaction.atomic():
            study = Study.objects.filter(slug=SLUG).first()
            if study is None:
                study = create_study(SLUG, "brainbench", contact=CONTACT, **DEMO)
                pin_items(study, ensure_items(tuple(Item.Kind.values)))
                save_channel(Channel(study=study, **PLAIN_CHANNEL))
                study.refresh_from_db()
                study = set_recruitment(study, Study.Recruitment.OPEN)
            else:
                items = ensure_items(tuple(Item.Kind.values))
                pin_items(study, items, reason="load_demo: this release's texts")
        if options["simulate"] and not study.participants.exists():
            plan = Plan(options["simulate"], dropout=0.3, arrival="steady", accuracy=0.63, seed=1)
            for _ in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
                pass
        url = settings.BASE_URL.rstrip("/") + study.get_absolute_url()
        flow = count_flow(study)
        data = {"study": SLUG, "url": url, "items": taken(study).strata, "simulated": asdict(flow)}
        lines = [
            f"The demo study is ready, with {flow.finished} simulated finishers to look at.",
            f"  Take the test:  {url}",
        ]
        self.report(options, data, lines)
