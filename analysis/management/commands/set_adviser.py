from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from analysis.lab.advice import MOST_MEMBERS
from experiment.management.finding import find_study, find_user, missing
from experiment.management.importing import add_writer, check_researcher
from experiment.models import Adviser, Participant, Study
from experiment.services.advisers import freeze_now, is_advised, set_adviser
from lib.commands import ReportingCommand, add_json_argument


class Command(ReportingCommand):
    help = (
        "Set who advises in a study, and freeze the advice on each test case for dry runs and pilots. Opening recruitment "
        "freezes it anew."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG")
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument(
            "--models",
            nargs="+",
            metavar="NAME",
            help=f"a model that took this test, as results name it, or a team of 2 to {MOST_MEMBERS} of them",
        )
        who.add_argument(
            "--people", choices=Participant.Kind.values, help="the majority of these participants"
        )
        who.add_argument(
            "--planted",
            type=int,
            metavar="PERCENT",
            help="advice made up for this study, correct on this share of the test cases (50 to 100)",
        )
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
        adviser = set_adviser(study, _chosen(study, options) | shown, by=by)
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
        if said:
            lines.append(
                f"Advice on {said['test_cases']} test cases was frozen: correct on {said['accuracy']:.1%}, mean confidence "
                f"{said['mean_p']:.1%}."
            )
        else:
            lines.append("No arm has advice yet, so nothing was frozen.")
        self.report(options, data, lines)


def _chosen(study: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """Kind, source and share of the adviser. Raises CommandError where there is none such."""
    from analysis.services.advising import sources_of  # which loads what computes

    kinds, found = Adviser.Kind, sources_of(study)
    if (percent := options["planted"]) is not None:
        return {"kind": kinds.PLANTED, "source": "", "planted_accuracy": percent / 100}
    if people := options["people"]:
        if people not in found[kinds.PEOPLE]:
            raise CommandError(f"No {people} participants of {study.slug} have judged anything.")
        return {"kind": kinds.PEOPLE, "source": people, "planted_accuracy": None}
    models = list(dict.fromkeys(options["models"]))
    known = [name for name in found[kinds.MODEL] if Adviser.JOINT not in name]
    for name in models:
        if name not in known:
            raise missing("model", "models that took this test", name, known)
    if len(models) > MOST_MEMBERS:
        raise CommandError(f"A team has at most {MOST_MEMBERS} models.")
    kind = kinds.TEAM if len(models) > 1 else kinds.MODEL
    return {"kind": kind, "source": Adviser.JOINT.join(models), "planted_accuracy": None}
