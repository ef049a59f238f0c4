"""A site from before 1.0 keeps its tables, if they are those that this release would make."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder

from experiment.management.commands.adopt_tables import APPS, FIRST
from lib.migrated import is_migrated

# Of SQLite, no migration is taken back within a test
pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
CHANGES = {
    "older": "ALTER TABLE experiment_study ADD COLUMN older integer",
    "participant_under_way": "DROP INDEX participant_under_way",
}


def record_as_before() -> set[tuple[str, str]]:
    """Record this release as what it was before 1.0; returns what was recorded."""
    recorder = MigrationRecorder(connection)
    for app in APPS:
        call_command("migrate", app, FIRST, verbosity=0)
    newest = set(recorder.applied_migrations())
    recorder.migration_qs.filter(app="experiment").update(name="0001_initial")
    recorder.record_applied("experiment", "0002_later")
    return newest


def test_tables_that_differ_are_refused_and_equal_ones_recorded_as_made_by_this_release() -> None:
    newest = record_as_before()
    assert not is_migrated()
    with transaction.atomic():
        with connection.cursor() as cursor:
            for change in CHANGES.values():
                cursor.execute(change)
        with pytest.raises(CommandError) as refused:
            call_command("adopt_tables")
        assert all(name in str(refused.value) for name in CHANGES)
        assert ("experiment", "0002_later") in MigrationRecorder(connection).applied_migrations()
        transaction.set_rollback(True)
    call_command("adopt_tables")
    assert set(MigrationRecorder(connection).applied_migrations()) == newest
