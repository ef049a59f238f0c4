from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from experiment.services import chores
from lib.backup.making import Wanted, make
from lib.backup.manifest import BackupError
from lib.commands import ReportingCommand, add_json_argument, step_progress


class Command(ReportingCommand):
    help = "Write a consistent, verified backup of the database and of all files that cannot be recomputed, while the site is running."
    prints = {"backup": str, "rows": int, "bytes": int, "deleted": [str], "facts": {str: str | int}}

    def add_arguments(self, parser: CommandParser) -> None:
        default = Path(settings.VAR_DIR) / "backups"
        parser.add_argument(
            "--output", type=Path, default=default, metavar="DIR", help=f"default: {default}"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="delete all but the newest N backups afterwards"
        )
        parser.add_argument(
            "--with-results", action="store_true", help="include files that can be recomputed"
        )
        parser.add_argument(
            "--with-keys",
            action="store_true",
            help="include SECRET_KEY and WITHDRAWAL_KEY; anybody with the backup can then read participants' own codes "
            "and sign in as any user",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["keep"] is not None and options["keep"] < 1:
            raise CommandError("--keep must be at least 1, which includes the new backup.")
        parts = (*chores.PARTS, *(("results",) if options["with_results"] else ()))
        names = ("SECRET_KEY", "WITHDRAWAL_KEY") if options["with_keys"] else ()
        keys = {name.lower(): str(getattr(settings, name)) for name in names}
        wanted = Wanted(parts, chores.key_name(), keys, chores.facts)
        try:
            with step_progress() as announce:
                made = make(options["output"].resolve(), wanted, options["keep"], announce)
        except BackupError as error:
            raise CommandError(str(error)) from error
        database = made.manifest.database
        rows, size = sum(database.rows.values()), made.manifest.size
        n_files = len(made.manifest.files) - 1
        data = {"backup": str(made.folder), "rows": rows, "bytes": size, "deleted": made.pruned}
        data |= {"facts": database.facts}
        lines = [
            (
                f"{made.folder}: {rows:,} rows of {len(database.rows)} tables ({database.engine}) and {n_files:,} files, "
                f"{size / 1e6:,.1f} MB, verified."
            ),
            *(f"Deleted the older backup {name}." for name in made.pruned),
        ]
        facts = database.facts
        if not facts:
            lines.append(
                "The database needs migrations of this release, so the content of its rows was not checked."
            )
        lines += [
            f"The site itself has a problem ({name}: {facts[name]}), which `restore --verify` will also report."
            for name, must in chores.MUST.items()
            if facts and facts[name] != must
        ]
        self.report(options, data, lines)
