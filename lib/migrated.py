"""A check that the tables are those of this release."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def is_migrated() -> bool:
    """True if no migration of this release is missing; those of a newer one do not count."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
