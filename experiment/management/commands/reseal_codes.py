from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiment.services.chores import reseal


class Command(BaseCommand):
    help = "Keep participants' own codes under the present WITHDRAWAL_KEY, after it was changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--old-key", required=True, type=Path, help="a file with the old key")

    def handle(self, *args: Any, old_key: Path, **options: Any) -> None:
        try:
            found = reseal(old_key.read_text().strip())
        except OSError as error:
            raise CommandError(f"{old_key} cannot be read: {error.strerror}") from error
        if found.foreign:
            raise CommandError(
                f"{found.foreign} codes were kept under neither this key nor the present one: nothing was changed."
            )
        self.stdout.write(f"{found.resealed} codes are kept under the present key.")
