from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.domain.presets import PRESETS
from experiment.management.choosing import add_choice, choice_of, each_line, item_lines
from experiment.models import Study
from experiment.services.item_choice import create_chosen_study, taken
from experiment.services.readiness import readiness_problems
from experiment.services.study_setup import set_recruitment
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Create a study from a preset: brainbench-strict follows the paper, brainbench adds our changes (docs/participants.md compares them), "
        "and brainbench-advised also has two arms, without and with advice. "
        "All use the accepted test cases of BrainBench; choose others, or fewer, below."
    )
    prints = {
        "study": str,
        "preset": str,
        "items": {str: int},
        "subfields": {str: int},
        "left_out": int,
        "waiting": int,
        "trials": {str: int},
        "recruitment": str,
        "problems": [str],
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--preset", choices=sorted(PRESETS), default="brainbench")
        parser.add_argument("--title")
        parser.add_argument(
            "--language", help="language of the pages: en, de, pt-BR, … (default: en)"
        )
        parser.add_argument(
            "--contact",
            default="",
            help="contact for participants, such as an e-mail address; a study cannot open without it",
        )
        parser.add_argument(
            "--recruitment", choices=Study.Recruitment.values, default=Study.Recruitment.DRAFT
        )
        add_choice(parser, "the preset's")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        slug, preset = options["slug"], options["preset"]
        if Study.objects.filter(slug=slug).exists():
            raise CommandError(f"A study {slug} already exists. Choose another name.")
        given = {name: options[name] for name in ("title", "language") if options[name]}
        choice = choice_of(options, PRESETS[preset].collection)
        with transaction.atomic():
            study = create_chosen_study(slug, preset, choice, contact=options["contact"], **given)
            study = set_recruitment(study, options["recruitment"])
        items, problems = taken(study), readiness_problems(study)
        data = {
            "study": slug,
            "preset": preset,
            "items": items.strata,
            "subfields": items.subfields,
            "left_out": items.n_left_out,
            "waiting": items.n_waiting,
            "trials": study.trial_counts,
            "recruitment": study.recruitment,
            "problems": [str(problem) for problem in problems],
        }
        lines = [
            f"Created study {slug} ({study.recruitment}) from the preset {preset}.",
            *item_lines(items, choice),
            each_line(study),
            *(f"Before you can open it: {problem}." for problem in problems),
        ]
        self.report(options, data, lines)
