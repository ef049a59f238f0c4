import os
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.utils.module_loading import import_string

from experiment.services import chores
from experiment.services.withdrawal import Reapplied
from lib.backup import manifest as manifests
from lib.backup.making import Values
from lib.backup.manifest import BackupError, Facts, Manifest
from lib.backup.restoring import (
    Finding,
    Restored,
    check_files,
    compare_facts,
    difference,
    restore,
    verify,
)
from lib.commands import ReportingCommand, add_json_argument, step_progress, table_lines
from lib.shapes import Either


class Command(ReportingCommand):
    help = "Restore a backup, also to the other kind of database. With --verify, restore it to a temporary database, compare it, and report the differences."
    prints = Either(
        verify={"holds": bool, "differences": int},
        restore={"migrated": [str], "files": int, "withdrawn": int, "holds": bool},
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("backup", type=Path, metavar="BACKUP", help="the folder of one backup")
        parser.add_argument(
            "--verify",
            action="store_true",
            help="restore to a temporary database, and only compare",
        )
        into = parser.add_mutually_exclusive_group()
        into.add_argument(
            "--into",
            metavar="URL",
            help="URL of a database other than the site's; files are not restored",
        )
        into.add_argument(
            "--into-env",
            metavar="NAME",
            help=(
                "like --into, with the URL in this environment variable, because everybody on the machine can see the password "
                "in a command line"
            ),
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="replace a database that already has tables, and delete them",
        )
        parser.add_argument(
            "--other-key",
            action="store_true",
            help="restore even if WITHDRAWAL_KEY differs from the backup's; participants' own codes then stop working",
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        folder, (values, is_site) = options["backup"].resolve(), self._values(options)
        must = {k: v for k, v in chores.MUST.items() if not options["other_key"] or k != chores.CODES}  # fmt: skip
        try:
            manifest = manifests.read(folder)
            check_files(folder, manifest)
            if options["verify"]:
                self._verify(folder, manifest, values, must, options)
                return
            if manifest.key != chores.key_name() and not options["other_key"]:
                raise BackupError(
                    "The backup comes from a site with another WITHDRAWAL_KEY, without which participants' own codes do not work. "
                    "Restore that key first. If it is lost, add --other-key."
                )
            if is_site:
                chores.refuse_served()
            connection.close()
            with step_progress(lines=True) as announce:
                done = restore(
                    folder,
                    manifest,
                    values,
                    replace=options["replace"],
                    with_files=is_site,
                    again=chores.withdraw_again,
                    announce=announce,
                )
        except (BackupError, psycopg.OperationalError) as error:  # no server, or no such database
            raise CommandError(str(error)) from error
        self._say(manifest, done, must, options)

    def _values(self, options: Any) -> tuple[Values, bool]:
        """The settings of the database, and whether it is the site's own."""
        values, url, name = connection.settings_dict, options["into"], options["into_env"]
        if name is not None and not (url := os.environ.get(name)):
            raise CommandError(f"--into-env: the environment variable {name} is not set.")
        if url is None:
            return values, True
        try:
            read: dict[str, Any] = import_string(settings.DATABASE_READER)(url, name or "--into")
        except ValueError as error:
            raise CommandError(str(error)) from error
        return {**values, "OPTIONS": {}, **read}, False

    def _verify(
        self, folder: Path, manifest: Manifest, values: Values, must: Facts, options: Any
    ) -> None:
        with step_progress() as announce:
            found = verify(folder, manifest, values, chores.facts, must, announce)
        n_files = str(len(manifest.files))
        found.insert(0, Finding("files as written", n_files, n_files))
        if not options["other_key"]:
            found.append(Finding("withdrawal key", manifest.key, chores.key_name()))
        rows = [
            {"what": each.what, "backup": each.said, "restored": each.found, "": "" if each.holds else "differs"}
            for each in found
        ]  # fmt: skip
        wrong = [each for each in found if not each.holds]
        lines = [*table_lines(rows, left=("what", ""))]
        if not wrong:
            lines.append(f"{folder} was restored to a temporary database and is identical.")
        self.report(options, {"holds": not wrong, "differences": len(wrong)}, lines)
        if wrong:
            raise CommandError(f"The backup is not intact. {difference(wrong[0])}")

    def _say(
        self, manifest: Manifest, done: Restored[tuple[Reapplied, Facts]], must: Facts, options: Any
    ) -> None:
        again, facts = done.again
        lines = [
            f"Restored {sum(manifest.database.rows.values()):,} rows from the backup of {manifest.made_at}, and {done.files} files.",
            (
                f"{again.withdrawn} of {again.tombstones} withdrawn participants were in the backup, and have been withdrawn "
                "again."
            ),
        ]
        if done.migrated:
            lines.insert(
                1,
                f"The backup came from an older release, so {len(done.migrated)} migrations were applied.",
            )
        found = compare_facts(must, {name: facts[name] for name in must})
        wrong = [each for each in found if not each.holds]
        data = {
            "migrated": done.migrated,
            "files": done.files,
            "withdrawn": again.withdrawn,
            "holds": not wrong,
        }
        self.report(options, data, lines)
        if wrong:
            raise CommandError(
                f"The backup was restored, but with differences. {difference(wrong[0])}"
            )
