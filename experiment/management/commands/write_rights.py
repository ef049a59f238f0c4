from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from experiment.lab.routes import as_markdown, routes


class Command(BaseCommand):
    help = "Write docs/rights.md: who may open which address."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, default=settings.BASE_DIR / "docs" / "rights.md")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["output"]
        path.write_text(as_markdown(), encoding="utf-8")
        self.stdout.write(f"{path} written: {len(routes())} addresses.")
