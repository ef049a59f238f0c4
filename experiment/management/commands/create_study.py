from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.domain.presets import PRESETS
from experiment.models import Item, Study
from experiment.services.builtin_items import ensure_builtin_items
from experiment.services.study_setup import (
    count_items,
    create_study,
    pin_items,
    readiness_problems,
    set_recruitment,
)
from lib.commands import ReportingCommand, add_json_argument

ETHICS = {
    "number": "of the ethics approval, shown at consent",
    "body": "who gave it",
    "contact": "whom participants can write to there about their rights",
}


class Command(ReportingCommand):
    help = "Create a study from a preset, with all accepted test cases of the same material."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--preset", choices=sorted(PRESETS), default="brainbench")
        parser.add_argument("--title")
        parser.add_argument(
            "--field", help="of research, in which participants give their years of experience"
        )
        parser.add_argument(
            "--policy", choices=Study.Policy.values, help="who gets which test case"
        )
        for name, meaning in ETHICS.items():
            parser.add_argument(f"--ethics-{name}", default="", help=meaning)
        parser.add_argument(
            "--contact",
            default="",
            help="whom participants can ask, an address for instance; without it a study is not opened",
        )
        parser.add_argument(
            "--target", type=int, dest="target_valid", help="number of valid finishers to stop at"
        )
        parser.add_argument(
            "--recruitment", choices=Study.Recruitment.values, default=Study.Recruitment.DRAFT
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        if Study.objects.filter(slug=slug).exists():
            raise CommandError(f"There is a study {slug} already; choose another name.")
        names = ("title", "target_valid", "field", "policy", *(f"ethics_{n}" for n in ETHICS))
        given = {name: options[name] for name in names if options[name] is not None}
        try:
            with transaction.atomic():
                study = create_study(slug, options["preset"], contact=options["contact"], **given)
                pin_items(study, [*_material(), *ensure_builtin_items()])
                study = set_recruitment(study, options["recruitment"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        items, problems = count_items(study), readiness_problems(study)
        data = {
            "study": slug,
            "items": items,
            "recruitment": study.recruitment,
            "problems": [str(problem) for problem in problems],
        }
        lines = [f"Created study {slug} ({study.recruitment}) with {_describe(items)}."]
        lines += [f"Before it can be opened: {problem}." for problem in problems]
        self.report(options, data, lines)


def _material() -> list[Item]:
    """Accepted test items that are not demo material: of each, the newest accepted version.

    A published text whose repair waits for a person is left out.
    """
    test_items = Item.objects.filter(kind=Item.Kind.TEST, is_demo=False)
    awaiting = test_items.filter(texts=Item.Texts.REPAIRED).exclude(status=Item.Status.ACCEPTED)
    newest = {item.key: item for item in test_items.accepted().order_by("version")}
    for key in awaiting.values_list("key", flat=True):
        if key in newest and newest[key].texts == Item.Texts.AS_PUBLISHED:
            del newest[key]
    return list(newest.values())


def _describe(items: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(items.items())) or "no test cases"
