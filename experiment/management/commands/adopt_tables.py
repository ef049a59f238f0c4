from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

APPS = ("analysis", "experiment", "jobs", "scoring")
FIRST = "0001_release"
SCRATCH = "brainbench_scratch"
# A unique column made so by a later migration has another name, of the same meaning
ON_POSTGRESQL = """
SELECT relname, attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull::text || attidentity::text
    || ' ' || coalesce(pg_get_expr(adbin, adrelid), '')
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
UNION ALL SELECT relname, regexp_replace(conname, '_key$|_[0-9a-f]{8}_uniq$', '') || ' ' || pg_get_constraintdef(o.oid)
    FROM pg_constraint o JOIN pg_class c ON c.oid = conrelid
    WHERE connamespace = current_schema()::regnamespace
UNION ALL SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = current_schema()
    AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE connamespace = current_schema()::regnamespace)
"""
ON_SQLITE = "SELECT tbl_name, sql FROM sqlite_master WHERE type <> 'trigger' AND sql IS NOT NULL"


class Command(BaseCommand):
    help = (
        "For a site from before 1.0, run once instead of its old migrations. The command compares the site's tables "
        "with those of this release and records them as created by it. If anything differs, nothing is changed."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        recorder = MigrationRecorder(connection)
        if ("experiment", FIRST) in recorder.applied_migrations():
            self.stdout.write("The tables already belong to this release.")
            return
        if differences := sorted(tables_here() ^ tables_of_this_release()):
            raise CommandError(
                "The tables differ from those of 1.0, so nothing was changed. Check out the last commit before 1.0, run its "
                "`manage.py migrate`, and try again. Differences:\n"
                + "\n".join(difference.partition("\n")[0] for difference in differences[:20])
            )
        with transaction.atomic():
            recorder.migration_qs.filter(app__in=APPS).delete()
            for app in APPS:
                recorder.record_applied(app, FIRST)
        self.stdout.write(
            "The tables now belong to this release. Continue with `manage.py migrate`."
        )


def tables_here() -> set[str]:
    """The columns, constraints and indexes of our tables, in the database's own words; `migrate` makes their triggers anew."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(ON_SQLITE)
            parts = [(table, part) for table, sql in cursor.fetchall() for part in _clauses(sql)]
        else:
            cursor.execute("SELECT current_schema()")
            schema = cursor.fetchone()[0]
            cursor.execute(ON_POSTGRESQL)
            parts = [(table, part.replace(f"{schema}.", "")) for table, part in cursor.fetchall()]
    return {f"{table}: {part}" for table, part in parts if table.partition("_")[0] in APPS}


def tables_of_this_release() -> set[str]:
    """The same of new tables: in memory on SQLite, in a schema that is taken back on PostgreSQL."""
    if connection.vendor != "sqlite":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {SCRATCH}")
            cursor.execute(f"SET LOCAL search_path TO {SCRATCH}")
            tables = _made_and_read()
            transaction.set_rollback(True)
        return tables
    site = connections["default"]
    connections["default"] = site.copy()
    connections["default"].settings_dict["NAME"] = ":memory:"
    try:
        return _made_and_read()
    finally:
        connections["default"].close()
        connections["default"] = site


def _made_and_read() -> set[str]:
    executor = MigrationExecutor(connections["default"])
    executor.migrate([(app, FIRST) for app in APPS])
    return tables_here()


def _clauses(sql: str) -> Iterator[str]:
    """The parts between the commas of CREATE TABLE, whose order is of no matter; another statement as it is."""
    if not sql.startswith("CREATE TABLE"):
        yield sql
        return
    depth, start = 0, sql.index("(") + 1
    for at, character in enumerate(sql):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if (depth, character) in ((1, ","), (0, ")")):
            yield sql[start:at].strip()
            start = at + 1
