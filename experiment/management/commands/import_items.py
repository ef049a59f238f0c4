from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.imports.lines import item_lines
from experiment.imports.read.items import Defaults
from experiment.imports.read.rows import FileRefusedError, RowProblem, read_content
from experiment.imports.report import item_json, nothing_written
from experiment.imports.store.item_plans import ItemPlan, Options, plan_import
from experiment.imports.store.writing import PlanRefusedError, import_items
from experiment.management.finding import find_user
from experiment.management.importing import (
    add_file_arguments,
    check_writer,
    field_of,
    makes_subfields,
)
from experiment.models import Item, ResearchField
from lib.commands import ReportingCommand, add_json_argument, progress


class Command(ReportingCommand):
    help = (
        "Import test cases from a CSV, JSONL or Parquet file into a field of research: either all of them or none. "
        "docs/test-cases.md describes formats and columns. The exit status is 1 if there are problems."
    )

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
        by = find_user(options["by"])
        how = Options(
            Defaults(options["source"], options["generator"]),
            makes_subfields(options),
            options["accepted_before"].strip(),
            dict(options["column"]),
        )
        with transaction.atomic():
            research_field = field_of(options, by)
            check_writer(by, research_field, as_lead=how.new_subfields or bool(how.accepted_before))
            plan = _import(options["file"], research_field, how, by=by, dry_run=options["dry_run"])
            written = not (plan.problems or options["dry_run"])
            transaction.set_rollback(not written)
        self.report(
            options,
            item_json(plan),
            item_lines(plan, written=written, is_new_field=bool(options["new_field"])),
        )
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))


def _import(
    path: Path, research_field: ResearchField, how: Options, *, by: User | None, dry_run: bool
) -> ItemPlan:
    try:
        data = read_content(path)
    except FileRefusedError as error:
        return ItemPlan(research_field, how.accepted_before, problems=[RowProblem(str(error))])
    file = how.read(data)
    if dry_run:
        return plan_import(file, research_field, how, by=by)
    try:
        plan = plan_import(file, research_field, how, by=by)
        if plan.problems:
            return plan
        with progress("Test cases", len(plan.rows), "rows") as show:
            return import_items(file, research_field, how, by=by, progress=show)
    except PlanRefusedError as error:
        return error.plan
