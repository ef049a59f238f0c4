from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.imports.read.questions import QuestionsFile, read_questions
from experiment.imports.read.rows import FileRefusedError, RowProblem, read_content
from experiment.imports.report import nothing_written, question_json, question_lines
from experiment.imports.store.question_plans import plan_questions
from experiment.imports.store.writing import PlanRefusedError, import_questions
from experiment.management.finding import find_field, find_study, find_user
from experiment.services.questions import pin_questions
from lib.commands import ReportingCommand, add_json_argument

ACCEPTED = "import_questions --accept"


class Command(ReportingCommand):
    help = (
        "Bring questions with expert answers of a CSV, JSONL or Parquet file into a field of research: all of them or none. "
        "Columns: docs/questions.md. Exits with 1 where there are problems."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--field", required=True, metavar="SLUG", help="of research")
        parser.add_argument("--study", metavar="SLUG", help="that draws from those accepted, too")
        parser.add_argument(
            "--each", type=int, metavar="N", help="questions of the study that a participant gets"
        )
        parser.add_argument(
            "--reason",
            default="",
            help="why that study changes, once real participants have entered",
        )
        parser.add_argument(
            "--accept", action="store_true", help="new and changed ones without a review"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be done, and do nothing"
        )
        parser.add_argument("--by", default="", metavar="USERNAME", help="whose name they bear")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        research_field, by = find_field(options["field"]), find_user(options["by"])
        study = find_study(options["study"]) if options["study"] else None
        each = options["each"]
        if each is not None and (study is None or each < 1):
            raise CommandError("--each takes a number from 1, and goes with --study.")
        accept, pinned = (ACCEPTED if options["accept"] else ""), None
        file = _read(options["file"])
        if options["dry_run"]:
            plan = plan_questions(file, research_field, accept)
        else:
            with transaction.atomic():
                try:
                    plan = import_questions(file, research_field, accept, by=by)
                except PlanRefusedError as error:
                    plan = error.plan
                if study is not None and not plan.problems:
                    pinned = pin_questions(study, plan.keys, options["reason"], by, each)
        written = not (plan.problems or options["dry_run"])
        data = question_json(plan)
        if study is not None and pinned is not None:
            data |= {"pinned": pinned, "each": study.question_items}
        self.report(
            options, data, question_lines(plan, written=written, pinned=pinned, study=study)
        )
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))


def _read(path: Path) -> QuestionsFile:
    try:
        return read_questions(read_content(path))
    except FileRefusedError as error:
        return QuestionsFile(problems=[RowProblem(str(error))])
