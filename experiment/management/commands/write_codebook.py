from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from experiment.domain import codebook


class Command(BaseCommand):
    help = "Write docs/codebook.md: what every exported column means."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--output", type=Path, default=settings.BASE_DIR / "docs" / "codebook.md"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["output"]
        path.write_text(codebook.as_markdown(), encoding="utf-8")
        self.stdout.write(
            f"{path} written: {len(codebook.TRIAL_COLUMNS + codebook.QUESTION_COLUMNS)} columns."
        )
