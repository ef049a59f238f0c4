from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.imports.store.filling import ensure_questions
from experiment.models import Channel, Item, Study
from experiment.models.channels import PLAIN
from experiment.services.channels import save_channel
from experiment.services.item_choice import ensure_items, taken
from experiment.services.study_setup import create_study, pin_items, set_recruitment
from experiment.simulation.run import Plan, ServiceDriver, count_flow, simulate
from lib.commands import ReportingCommand, add_json_argument

SLUG = "demo"
DEMO: dict[str, Any] = {
    "title": "BrainBench Live demo",
    "is_demo": True,
}
QUESTIONS_SLUG = "demo-questions"
QUESTIONS: dict[str, Any] = {
    "title": "Questions about the elements",
    "field": "Chemical elements",
    "human_items": 0,
    "machine_items": 0,
    "catch_items": 0,
    "question_items": 6,
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
            questions = _ensure_questions_study()
        for each in (study, questions):
            _simulate(each, options["simulate"])
        site = settings.BASE_URL.rstrip("/")
        url = site + study.get_absolute_url()
        flow = count_flow(study)
        data = {"study": SLUG, "url": url, "items": taken(study).strata, "simulated": asdict(flow)}
        lines = [
            f"The demo study is ready, with {flow.finished} simulated finishers to look at.",
            f"  Take the test:  {url}",
            f"  Answer questions:  {site}{questions.get_absolute_url()}",
        ]
        self.report(options, data, lines)


def _simulate(study: Study, n: int) -> None:
    if n and not study.participants.exists():
        plan = Plan(n, dropout=0.3, arrival="steady", accuracy=0.63, seed=1)
        for _ in simulate(study, plan, lambda: ServiceDriver(study, study.policy)):
            pass


def _ensure_questions_study() -> Study:
    """A second study, of questions alone."""
    items = [*ensure_questions(), *ensure_items((Item.Kind.PRACTICE,))]
    study = Study.objects.filter(slug=QUESTIONS_SLUG).first()
    if study is not None:
        pin_items(study, items, reason="load_demo: this release's texts")
        return study
    study = create_study(QUESTIONS_SLUG, "brainbench", contact=CONTACT, **QUESTIONS)
    pin_items(study, items)
    save_channel(Channel(study=study, **PLAIN_CHANNEL))
    study.refresh_from_db()
    return set_recruitment(study, Study.Recruitment.OPEN)
