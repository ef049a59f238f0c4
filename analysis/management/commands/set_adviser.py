from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from analysis.services.advisers import KINDS, UnknownSourceError, sources_of
from experiment.management.finding import find_study, find_user, missing
from experiment.management.importing import add_writer, check_researcher
from experiment.models import Adviser
from experiment.services.advisers import freeze_now, is_advised, set_adviser
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Set who advises in a study, and freeze the advice on each test case for dry runs and pilots. Opening recruitment "
        "freezes it anew."
    )
    prints = {
        "study": str,
        "adviser": {
            "kind": str,
            "source": str,
            "shown_name": str,
            "shows": str,
            "shows_passages": bool,
        },
        "frozen": {str: Any},
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        who = parser.add_mutually_exclusive_group(required=True)
        for kind in KINDS.values():
            if kind.option:
                flag, settings = kind.option
                who.add_argument(flag, dest=kind.name, **settings)
        parser.add_argument(
            "--name",
            required=True,
            help="name that participants see, as within a sentence, such as 'a language model'",
        )
        parser.add_argument(
            "--shows",
            choices=[value for value in Adviser.Shows.values if value != Adviser.Shows.PERCENT],
            default=Adviser._meta.get_field("shows").default,
            help="its choice alone, or also its confidence, from 1 to 100 or in words (default: %(default)s)",
        )
        parser.add_argument(
            "--passages", action="store_true", help="show the passages that counted most"
        )
        add_writer(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study, by = find_study(options["study"]), find_user(options["by"])
        check_researcher(by, study)
        shown = {
            "shown_name": options["name"],
            "shows": options["shows"],
            "shows_passages": options["passages"],
        }
        kind = next(kind for kind in KINDS.values() if options.get(kind.name) is not None)
        try:
            chosen = kind.chosen(options[kind.name], study, sources_of(study))
        except UnknownSourceError as error:
            raise missing(*error.args) from error
        adviser = set_adviser(study, chosen | shown, by=by)
        if is_advised(study):
            freeze_now(study, timezone.now(), by=by)
            adviser.refresh_from_db()
        said = adviser.version
        data = {
            "study": study.slug,
            "adviser": {"kind": adviser.kind, "source": adviser.source, **shown},
            "frozen": said,
        }
        lines = [
            f"{adviser.shown_name} advises in {study.slug} ({adviser.source or adviser.kind})."
        ]
        if said and not said["test_cases"]:
            lines.append("The study has no test cases yet, so there is no advice.")
        elif said:
            lines.append(
                f"Advice on {said['test_cases']} test cases was frozen: correct on {said['accuracy']:.1%}, mean confidence "
                f"{said['mean_p']:.1%}."
            )
        else:
            lines.append("No arm has advice yet, so nothing was frozen.")
        self.report(options, data, lines)
