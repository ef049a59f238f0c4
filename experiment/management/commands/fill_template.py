from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.domain.questions.filling import TemplateFaultsError
from experiment.imports.lines import filling_lines, question_lines
from experiment.imports.read.questions import read_template
from experiment.imports.read.rows import FileRefusedError, read_content
from experiment.imports.report import (
    FILLING_SHAPE,
    QUESTION_SHAPE,
    filling_json,
    nothing_written,
    question_json,
)
from experiment.imports.store.filling import Wanted, fill_template
from experiment.imports.store.question_plans import QuestionOptions
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.management.finding import find_field, find_user
from experiment.management.importing import add_sheet, add_writer, check_writer
from experiment.models import QuestionTemplate, ResearchField
from experiment.services.questions import save_template
from lib.commands import ReportingCommand, add_json_argument

ACCEPTED = "fill_template --accept"
MOST_NAMED = 20


class Command(ReportingCommand):
    help = (
        "Make questions from a template and a table (.xlsx, .ods, CSV, JSONL or Parquet). The first rule that matches a row gives "
        "its answer. Rows that conflict, or lack a value that the template needs, are omitted and listed. "
        "docs/questions.md explains how."
    )
    prints = FILLING_SHAPE | QUESTION_SHAPE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("table", type=Path, metavar="TABLE")
        parser.add_argument("--field", required=True, metavar="SLUG", help="field of research")
        parser.add_argument(
            "--template",
            required=True,
            metavar="KEY",
            help="a template of the field, or a TOML file: key, question, rules (when, answer), categories",
        )
        parser.add_argument("--n", type=int, metavar="N", help="questions to draw (default: all)")
        parser.add_argument(
            "--strata",
            nargs="+",
            default=[],
            metavar="COLUMN",
            help="columns over whose values the N questions are spread evenly; “rule” is the rule that gave the answer",
        )
        parser.add_argument("--seed", type=int, default=1, help="seed of the draw (default: 1)")
        parser.add_argument(
            "--same-answers", action="store_true", help="keep questions that share an answer"
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="show the first 20 questions and the changes without storing anything",
        )
        parser.add_argument(
            "--accept", action="store_true", help="accept the questions without a review"
        )
        add_sheet(parser)
        add_writer(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        research_field, by = find_field(options["field"]), find_user(options["by"])
        check_writer(by, research_field, as_lead=options["accept"])
        n = options["n"]
        if n is not None and n < 1:
            raise CommandError("--n must be at least 1.")
        is_unique = not options["same_answers"]
        drawn = (n, tuple(options["strata"]), options["seed"])
        wanted = Wanted(*drawn, is_unique, options["sheet"])
        try:
            with transaction.atomic():
                template = _template(options["template"], research_field, by)
                filled = fill_template(template, read_content(options["table"]), wanted)
                how = QuestionOptions(accepted_before=ACCEPTED if options["accept"] else "")
                if options["dry_run"]:
                    plan = how.plan(filled.as_file, research_field, by=by)
                    transaction.set_rollback(True)
                else:
                    plan = import_file(filled.as_file, research_field, how, by=by)
        except (FileRefusedError, TemplateFaultsError, ValidationError) as error:
            # Some sentences end with a full stop and some do not
            parts = error.messages if isinstance(error, ValidationError) else [str(error)]
            said = "; ".join(part.removesuffix(".") for part in parts)
            raise CommandError(f"Nothing was written: {said}.") from error
        except PlanRefusedError as error:
            plan = error.plan
        written = not (plan.problems or options["dry_run"])
        lines = [*filling_lines(filled), *question_lines(plan, written=written)]
        self.report(options, filling_json(filled) | question_json(plan), lines)
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))


def _template(named: str, research_field: ResearchField, by: Any) -> QuestionTemplate:
    row = QuestionTemplate.objects.filter(field=research_field, key=named).first()
    if row is not None and row.rules:
        return row
    if row is not None:
        raise CommandError(
            f"“{named}” came with a file of questions, without its texts. Give them in a TOML file."
        )
    path = Path(named)
    if path.suffix.casefold() != ".toml":
        if path.is_file():
            raise CommandError(f"“{named}” is not a template. A template is a .toml file.")
        rows = QuestionTemplate.objects.filter(field=research_field).order_by("key")
        there = ", ".join(rows.values_list("key", flat=True)[:MOST_NAMED]) or "none"
        raise CommandError(
            f"{research_field.name} does not have a template “{named}” (templates: {there})."
        )
    read = read_template(read_content(path))
    return save_template(
        research_field, read.key, read.question, read.rules, read.categories, by=by
    )
