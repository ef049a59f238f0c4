from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.imports.lines import item_lines
from experiment.imports.read.items import Defaults
from experiment.imports.read.rows import FileRefusedError, RowProblem, read_content
from experiment.imports.report import ITEM_SHAPE, item_json, nothing_written
from experiment.imports.store.item_plans import ItemOptions, ItemPlan
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.management.finding import find_user
from experiment.management.importing import (
    add_file_arguments,
    check_writer,
    field_of,
    makes_subfields,
)
from experiment.models import Item
from lib.commands import ReportingCommand, add_json_argument, progress


class Command(ReportingCommand):
    help = (
        "Import test cases from a spreadsheet (.xlsx, .ods) or a CSV, JSONL or Parquet file into a field of research: either all "
        "of them or none. "
        "docs/test-cases.md describes formats and columns. The exit status is 1 if there are problems."
    )
    prints = ITEM_SHAPE

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        add_file_arguments(parser)
        parser.add_argument(
            "--source",
            choices=Item.Source.values,
            default=Item.Source.HUMAN.value,
            help="who altered the test cases, if the file does not say (default: human)",
        )
        parser.add_argument(
            "--generator",
            default="",
            help="person or model that altered the test cases, if the file does not say",
        )
        parser.add_argument(
            "--accepted-before",
            default="",
            metavar="REASON",
            help="accept the test cases without a review, because they were accepted elsewhere; the reason is stored with each",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        by, dry_run = find_user(options["by"]), options["dry_run"]
        how = ItemOptions(
            makes_subfields(options),
            options["accepted_before"].strip(),
            dict(options["column"]),
            Defaults(options["source"], options["generator"]),
            sheet=options["sheet"],
        )
        with transaction.atomic():
            research_field = field_of(options, by)
            check_writer(by, research_field, as_lead=how.new_subfields or bool(how.accepted_before))
            try:
                file = how.read(read_content(options["file"]))
                plan = how.plan(file, research_field, by=by)
                if not (dry_run or plan.problems):
                    with progress("Test cases", len(plan.rows), "rows") as show:
                        plan = import_file(file, research_field, how, by=by, progress=show)
            except FileRefusedError as error:
                refused = [RowProblem(str(error))]
                plan = ItemPlan(research_field, how.accepted_before, problems=refused)
            except PlanRefusedError as error:
                plan = error.plan
            written = not (plan.problems or dry_run)
            transaction.set_rollback(not written)
        lines = item_lines(plan, written=written, is_new_field=bool(options["new_field"]))
        self.report(options, item_json(plan), lines)
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))
