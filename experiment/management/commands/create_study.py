from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.domain.presets import PRESETS
from experiment.models import Item, Study
from experiment.services.item_choice import (
    ItemChoice,
    ListedKey,
    Taken,
    create_chosen_study,
    read_keys,
    taken,
)
from experiment.services.study_setup import readiness_problems, set_recruitment
from lib.commands import ReportingCommand, add_json_argument

ANY = "any"
STRATA = {
    "human": "human-created",
    "machine": "machine-created",
    "catch": "catch",
    "practice": "practice",
}
ETHICS = {
    "number": "of the ethics approval, shown at consent",
    "body": "who gave it",
    "contact": "whom participants can write to there about their rights",
}
GIVEN = ("title", "language", "target_valid", "policy", *(f"ethics_{name}" for name in ETHICS))


class Command(ReportingCommand):
    help = (
        "Create a study from a preset: brainbench-strict is the paper's, brainbench ours (docs/protocol.md compares them). "
        "Both take the accepted test cases of BrainBench; choose others, or fewer, below."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--preset", choices=sorted(PRESETS), default="brainbench")
        parser.add_argument("--title")
        parser.add_argument("--language", help="of the pages: en, de, pt-BR ... (default: en)")
        parser.add_argument(
            "--policy", choices=Study.Policy.values, help="who gets which test case"
        )
        for name, meaning in ETHICS.items():
            parser.add_argument(f"--ethics-{name}", metavar="TEXT", help=meaning)
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
        self._add_choice(parser)
        add_json_argument(parser)

    def _add_choice(self, parser: CommandParser) -> None:
        group = parser.add_argument_group("test cases", "only those of which all of this holds")
        group.add_argument(
            "--collection",
            choices=(*Item.Collection.values, ANY),
            help="the published set that they came with (default: the preset's)",
        )
        group.add_argument("--source", choices=Item.Source.values, help="who altered them")
        group.add_argument(
            "--field",
            default="",
            help="of research; participants also give their years of experience in it",
        )
        group.add_argument("--subfields", nargs="+", default=[], metavar="NAME")
        keys = group.add_mutually_exclusive_group()
        keys.add_argument("--items", nargs="+", default=[], metavar="KEY", help="exactly these")
        keys.add_argument(
            "--items-file",
            type=Path,
            metavar="FILE",
            help="exactly those listed in a file, a key a line; # begins a comment",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        slug, preset = options["slug"], options["preset"]
        if Study.objects.filter(slug=slug).exists():
            raise CommandError(f"There is a study {slug} already; choose another name.")
        given = {name: options[name] for name in GIVEN if options[name] is not None}
        choice = _choice(options)
        try:
            with transaction.atomic():
                study = create_chosen_study(
                    slug, preset, choice, contact=options["contact"], **given
                )
                study = set_recruitment(study, options["recruitment"])
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
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
            *_item_lines(items, choice),
            f"Each participant gets {_numbers(study.trial_counts)}.",
            *(f"Before it can be opened: {problem}." for problem in problems),
        ]
        self.report(options, data, lines)


def _choice(options: Mapping[str, Any]) -> ItemChoice:
    collection = options["collection"] or PRESETS[options["preset"]].collection
    return ItemChoice(
        collection="" if collection == ANY else collection,
        source=options["source"] or "",
        field=options["field"],
        subfields=tuple(options["subfields"]),
        keys=_keys(options),
    )


def _keys(options: Mapping[str, Any]) -> tuple[ListedKey, ...]:
    path: Path | None = options["items_file"]
    if path is None:
        return tuple(ListedKey(key, "--items") for key in options["items"])
    try:
        keys = read_keys(path.read_text(encoding="utf-8").splitlines(), path.name)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandError(f"{path} cannot be read: {reason}.") from error
    if not keys:
        raise CommandError(f"{path} lists no test case.")
    return keys


def _item_lines(items: Taken, choice: ItemChoice) -> list[str]:
    lines = [f"It draws from {_numbers(items.strata)}."]
    lines += [f"  {name or 'no subfield'}: {n}" for name, n in items.subfields.items()]
    if items.n_waiting:
        lines.append(
            f"Not taken: {items.n_waiting} published texts whose repair waits for a person."
        )
    if items.n_left_out:
        others = f"Not taken: {items.n_left_out} other accepted test cases"
        only = f" (--collection {ANY} takes those from elsewhere too)" if choice.collection else ""
        lines.append(f"{others}{only}.")
    return lines


def _numbers(strata: Mapping[Any, int]) -> str:
    return ", ".join(f"{n} {STRATA[name]}" for name, n in strata.items()) or "no test cases"
