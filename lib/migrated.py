"""The migrations of this release, beside those that the tables have."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def is_migrated() -> bool:
    """True if no migration of this release is missing; those of a newer one do not count."""
    return not pending_migrations()


def pending_migrations() -> list[str]:
    """The migrations of this release that are not applied, as app.name, in their order."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]
