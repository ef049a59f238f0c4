from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.imports.lines import question_lines
from experiment.imports.read.questions import QuestionsFile
from experiment.imports.read.rows import FileRefusedError, RowProblem, read_content
from experiment.imports.report import QUESTION_SHAPE, nothing_written, question_json
from experiment.imports.store.question_plans import QuestionOptions
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.management.finding import find_study, find_user
from experiment.management.importing import (
    add_file_arguments,
    check_writer,
    field_of,
    makes_subfields,
)
from experiment.models import Study
from experiment.services.questions import pin_questions
from lib.commands import ReportingCommand, add_json_argument

ACCEPTED = "import_questions --accept"


class Command(ReportingCommand):
    help = (
        "Import questions with expert answers from a spreadsheet (.xlsx, .ods) or a CSV, JSONL or Parquet file into a field of "
        "research: either all of them or none. docs/questions.md describes the columns. The exit status is 1 if there are problems."
    )
    prints = QUESTION_SHAPE | {"pinned?": int, "each?": int}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        add_file_arguments(parser)
        parser.add_argument(
            "--study", metavar="SLUG", help="study that also draws the accepted questions"
        )
        parser.add_argument(
            "--each", type=int, metavar="N", help="questions per participant in the study"
        )
        parser.add_argument(
            "--reason",
            default="",
            help="reason for the change, if real participants have entered",
        )
        parser.add_argument(
            "--accept",
            action="store_true",
            help="accept new and changed questions without a review",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        by = find_user(options["by"])
        study = find_study(options["study"]) if options["study"] else None
        each = options["each"]
        if each is not None and (study is None or each < 1):
            raise CommandError("--each must be at least 1 and needs --study.")
        how = QuestionOptions(
            makes_subfields(options),
            ACCEPTED if options["accept"] else "",
            dict(options["column"]),
            sheet=options["sheet"],
        )
        try:
            file = how.read(read_content(options["file"]))
        except FileRefusedError as error:
            file = QuestionsFile(problems=[RowProblem(str(error))])
        pinned = None
        with transaction.atomic():
            research_field = field_of(options, by)
            as_lead = how.new_subfields or bool(how.accepted_before)
            check_writer(by, research_field, as_lead=as_lead, study=study)
            if options["dry_run"]:
                plan = how.plan(file, research_field, by=by)
            else:
                try:
                    plan = import_file(file, research_field, how, by=by)
                except PlanRefusedError as error:
                    plan = error.plan
                if study is not None and not plan.problems:
                    pinned = _pin(study, plan.keys, options["reason"], by, each)
            written = not (plan.problems or options["dry_run"])
            transaction.set_rollback(not written)
        data = question_json(plan)
        if study is not None and pinned is not None:
            data |= {"pinned": pinned, "each": study.question_items}
        is_new_field = bool(options["new_field"])
        lines = question_lines(
            plan, written=written, pinned=pinned, study=study, is_new_field=is_new_field
        )
        self.report(options, data, lines)
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))


def _pin(study: Study, keys: Sequence[str], reason: str, by: User | None, each: int | None) -> int:
    try:
        return pin_questions(study, keys, reason, by, each)
    except ValidationError as error:
        raise CommandError("\n".join(error.messages)) from error
