"""What is counted of a database, and which migrations it has."""

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from lib.backup.manifest import BackupError


def table_rows() -> dict[str, int]:
    """Rows of each table."""
    found: dict[str, int] = {}
    with connection.cursor() as cursor:
        for table in sorted(connection.introspection.table_names(cursor)):
            cursor.execute(f"SELECT count(*) FROM {connection.ops.quote_name(table)}")  # noqa: S608
            found[table] = cursor.fetchone()[0]
    return found


def applied_migrations() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def refuse_newer(migrations: list[str]) -> list[str]:
    """The migrations that a database of these still needs; BackupError where this release does not know one of them."""
    disk = MigrationLoader(None).disk_migrations
    ours = {f"{app}.{name}" for app, name in disk}
    replaced = {f"{app}.{name}" for each in disk.values() for app, name in each.replaces}
    if unknown := sorted(set(migrations) - ours - replaced):
        raise BackupError(
            f"The backup is of a newer release than this one, which does not know {unknown[0]}: "
            "restore it with the release that made it."
        )
    return sorted(ours - set(migrations))
