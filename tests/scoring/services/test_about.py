"""A report of a fault: a site's versions and sizes, and nothing that is secret or names anybody."""

import platform

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from lib.code import release
from scoring.models import LanguageModel
from scoring.services import about as module
from tests.factories import make_participant, make_study
from tests.scoring.commands import called, json_of

pytestmark = pytest.mark.django_db


def test_it_tells_the_versions_and_counts_the_rows() -> None:
    make_participant(make_study("secret-study"))
    LanguageModel.objects.create(name="m")
    found = json_of("about")
    assert (found["release"], found["python"]) == (release(), platform.python_version())
    assert (found["database"], found["database_error"]) == (connection.vendor, "")
    assert int(found["database_server"].partition(".")[0]) >= 3
    assert found["pending_migrations"] == []
    assert {name: found["counts"][name] for name in ("studies", "participants", "items", "models", "runs")} == {
        "studies": 1, "participants": 1, "items": 16, "models": 1, "runs": 0,
    }  # fmt: skip
    text, _, _ = called("about")
    assert f"BrainBench Live {release()}" in text
    assert "studies: 1, participants: 1" in text


def test_it_holds_no_key_no_address_and_no_name() -> None:
    make_study("secret-study")
    database = settings.DATABASES["default"]
    private = [settings.SECRET_KEY, settings.WITHDRAWAL_KEY, str(settings.VAR_DIR), "secret-study"]
    private += [str(database[name]) for name in ("NAME", "HOST", "PASSWORD") if database.get(name)]
    for said in (called("about")[0], called("about", "--json")[0]):
        assert [one for one in private if one in said] == []


def test_a_database_that_does_not_answer_is_named_by_the_kind_of_its_error_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> None:
        raise OperationalError('connection to server at "db.example.org" failed: password of ruth')

    monkeypatch.setattr(connection, "cursor", fails)
    text, _, error = called("about")
    assert error is None
    assert "(OperationalError)" in text
    assert "example.org" not in text


def test_a_database_before_its_migrations_is_described_without_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "pending_migrations", lambda: ["experiment.0001_release"])
    assert json_of("about")["counts"] is None
    assert "not applied: 1 " in called("about")[0]
