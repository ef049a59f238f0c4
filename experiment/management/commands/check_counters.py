from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from experiment.management.studies import find_study
from experiment.models import Study
from experiment.services.recounting import check, recount
from lib.commands import ReportingCommand, add_json_argument, table_lines


class Command(ReportingCommand):
    help = "Count from the rows what draws and the lab's pages read from counters, and say where the two differ."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="SLUG", nargs="?", help="default: every study")
        parser.add_argument(
            "--repair", action="store_true", help="let the counters say what the rows do"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        studies = [find_study(options["study"])] if options["study"] else list(Study.objects.all())
        found = check(studies)
        wrong = {(drift.study, drift.kind) for drift in found}
        if options["repair"]:
            for study in studies:
                for slug, kind in sorted(wrong):
                    if slug == study.slug:
                        recount(study, kind)
        data = {"studies": len(studies), "differences": [asdict(drift) for drift in found]}
        data["repaired"] = options["repair"]
        rows = [{name: str(value) for name, value in asdict(drift).items()} for drift in found]
        summary = f"{len(found)} counters differ from the rows"
        lines = [*table_lines(rows, left=("study", "kind", "of", "column")), f"{summary}."]
        if found and options["repair"]:
            lines[-1] = f"{summary}; they were repaired."
        elif not found:
            lines = [f"All counters of {len(studies)} studies are right."]
        self.report(options, data, lines)
        if found and not options["repair"]:
            raise CommandError(f"{summary}: --repair puts them right.")
