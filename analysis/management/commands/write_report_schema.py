import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

PATH = settings.BASE_DIR / "docs" / "report.schema.json"


class Command(BaseCommand):
    help = "Write the types of report.json to docs/report.schema.json."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, default=PATH)

    def handle(self, *args: Any, **options: Any) -> None:
        from analysis.report.report import json_schema  # it loads what computes

        path: Path = options["output"]
        path.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
        self.stdout.write(f"{path} written.")
