"""A site from before 1.0 keeps its tables, if they are those that this release would make."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from experiment.management.commands.adopt_tables import APPS, FIRST
from lib.migrated import is_migrated

# Of SQLite, no migration is taken back within a test
pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
CHANGES = {
    "older": "ALTER TABLE experiment_study ADD COLUMN older integer",
    "participant_under_way": "DROP INDEX participant_under_way",
}


@pytest.fixture(autouse=True)
def newest() -> set[tuple[str, str]]:
    """What is recorded of this release, after it is recorded as what it was before."""
    recorder = MigrationRecorder(connection)
    for app in APPS:
        call_command("migrate", app, FIRST, verbosity=0)
    newest = set(recorder.applied_migrations())
    recorder.migration_qs.filter(app="experiment").update(name="0001_initial")
    recorder.record_applied("experiment", "0002_later")
    assert not is_migrated()
    return newest


def test_equal_tables_are_recorded_as_made_by_this_release(newest: set[tuple[str, str]]) -> None:
    call_command("adopt_tables")
    assert set(MigrationRecorder(connection).applied_migrations()) == newest


def test_tables_that_differ_are_refused_and_stay_as_they_are() -> None:
    with connection.cursor() as cursor:
        for change in CHANGES.values():
            cursor.execute(change)
    with pytest.raises(CommandError) as refused:
        call_command("adopt_tables")
    assert all(name in str(refused.value) for name in CHANGES)
    assert ("experiment", "0002_later") in MigrationRecorder(connection).applied_migrations()
