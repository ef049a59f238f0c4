from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiment.domain import presets
from lib.generated import between_marks


class Command(BaseCommand):
    help = "Write the table of the presets into docs/protocol.md."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--output", type=Path, default=settings.BASE_DIR / "docs" / "protocol.md"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["output"]
        try:
            text = path.read_text(encoding="utf-8")
            path.write_text(
                between_marks(text, "write_protocol", presets.as_markdown()), encoding="utf-8"
            )
        except ValueError as error:
            raise CommandError(f"{path}: {error}.") from error
        self.stdout.write(f"{path} written: {len(presets.PRESETS)} presets.")
