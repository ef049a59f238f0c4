from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from experiment.imports.read.items import Defaults
from experiment.imports.read.rows import FileRefusedError, RowProblem, read_content
from experiment.imports.report import item_json, item_lines, nothing_written
from experiment.imports.store.item_plans import ItemPlan, Options, plan_import
from experiment.imports.store.writing import PlanRefusedError, import_items
from experiment.management.finding import find_field, find_user
from experiment.models import Item, ResearchField
from lib.commands import ReportingCommand, add_json_argument, progress


class Command(ReportingCommand):
    help = (
        "Bring test cases of a CSV or JSONL file into a field of research: all of them or none. Forms and columns: "
        "docs/test-cases.md. Exits with 1 where there are problems."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--field", required=True, metavar="SLUG", help="of research")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what would be done, and do nothing"
        )
        parser.add_argument(
            "--source",
            choices=Item.Source.values,
            default=Item.Source.HUMAN.value,
            help="who altered them, where the file does not say (default: human)",
        )
        parser.add_argument(
            "--generator", default="", help="who or what altered them, where the file does not say"
        )
        parser.add_argument(
            "--new-subfields", action="store_true", help="make those that the field does not have"
        )
        parser.add_argument(
            "--accepted-before",
            default="",
            metavar="REASON",
            help="they were accepted elsewhere and are accepted here without a review; the reason is kept with each",
        )
        parser.add_argument("--by", default="", metavar="USERNAME", help="whose name they bear")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        research_field, by = find_field(options["field"]), find_user(options["by"])
        defaults = Defaults(options["source"], options["generator"])
        how = Options(defaults, options["new_subfields"], options["accepted_before"].strip())
        plan = _import(options["file"], research_field, how, by=by, dry_run=options["dry_run"])
        written = not (plan.problems or options["dry_run"])
        self.report(options, item_json(plan), item_lines(plan, written=written))
        if plan.problems:
            raise CommandError(nothing_written(len(plan.problems)))


def _import(
    path: Path, research_field: ResearchField, how: Options, *, by: User | None, dry_run: bool
) -> ItemPlan:
    try:
        data = read_content(path)
    except FileRefusedError as error:
        return ItemPlan(research_field, how.accepted_before, problems=[RowProblem(str(error))])
    if dry_run:
        return plan_import(data, research_field, how)
    try:
        plan = plan_import(data, research_field, how)
        if plan.problems:
            return plan
        with progress("Test cases", len(plan.rows), "rows") as show:
            return import_items(data, research_field, how, by=by, progress=show)
    except PlanRefusedError as error:
        return error.plan
