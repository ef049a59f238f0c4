"""Benchmarks have databases of their own: in tests these are copies of the migrated one."""

import pytest

from tests import databases


@pytest.fixture(autouse=True)
def tables_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("django_db"):
        request.getfixturevalue("django_db_setup")
        monkeypatch.setattr("benchmarks.databases.call_command", databases.with_tables)
