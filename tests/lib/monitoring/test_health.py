"""The answers to load balancers, supervisors and Prometheus, and who may ask."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import OperationalError, connections
from django.test import Client

from lib.backup.files import stored_names
from lib.jobs.models import Chore
from lib.jobs.workers import Presence
from lib.monitoring import checks
from tests.experiment.people import open_page
from tests.factories import make_study

TOKEN = "only-for-tests-0123456789-abcdefghijklmnop"
SECRET = "host=db.internal password=hunter2"


@pytest.fixture
def _token(settings: Any) -> None:
    settings.METRICS_TOKEN = TOKEN


def ask(address: str, token: str = TOKEN) -> Any:
    return Client(raise_request_exception=False).get(
        address, headers={"Authorization": f"Bearer {token}"}
    )


@pytest.fixture
def _no_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*args: Any, **kwargs: Any) -> None:
        raise OperationalError(SECRET)

    monkeypatch.setattr(type(connections["default"]), "ensure_connection", gone)


@pytest.mark.usefixtures("_no_database")
def test_a_process_lives_whatever_its_database_does(client: Client) -> None:
    assert client.get("/healthz/live").content == b"ok"


@pytest.mark.django_db
def test_a_site_with_database_migrations_and_static_files_is_ready(client: Client) -> None:
    answer = client.get("/healthz/ready")
    assert answer.status_code == 200, answer.content
    assert "no-cache" in answer["Cache-Control"]
    assert len(answer.content.splitlines()) == len(checks.READY)


@pytest.mark.usefixtures("_no_database")
def test_a_site_without_a_database_is_not_ready_and_tells_no_secret() -> None:
    checks._is_migrated.cache_clear()
    answer = ask("/healthz/ready")
    assert answer.status_code == 503
    assert b"database: OperationalError" in answer.content
    assert b"hunter2" not in answer.content


@pytest.mark.django_db
def test_a_site_with_a_migration_to_come_is_not_ready(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db.migrations.recorder import MigrationRecorder

    checks._is_migrated.cache_clear()
    MigrationRecorder.Migration.objects.filter(app="jobs").delete()
    answer = client.get("/healthz/ready")
    assert answer.status_code == 503
    assert b"migrations: " in answer.content


def test_a_site_without_collected_static_files_is_not_ready(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    hashed = {"BACKEND": "config.storage.HashedStaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": hashed}
    with pytest.raises(checks.NotWellError):
        checks.static_files()


@pytest.mark.parametrize("address", ["/healthz/deep", "/metrics"])
def test_expensive_addresses_need_a_token(address: str, settings: Any) -> None:
    settings.METRICS_TOKEN = ""
    assert ask(address, "").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    for wrong in ("", TOKEN[:-1], TOKEN + "x", "\u00e9"):
        assert ask(address, wrong.encode().decode("latin-1")).status_code == 401
    assert Client().get(f"{address}?token={TOKEN}").status_code == 401


@pytest.mark.django_db
@pytest.mark.usefixtures("_token")
def test_the_deep_look_names_what_is_missing_and_leaves_one_file_that_is_no_part_of_the_site(
    settings: Any, tmp_path: Path
) -> None:
    place = {"BACKEND": "lib.storage.AtomicFileStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = settings.STORAGES | dict.fromkeys(checks.FILES, place)
    answer = ask("/healthz/deep")
    assert answer.status_code == 503
    assert b"workers: none" in answer.content
    assert b"check_counters" in answer.content
    Presence().beat()
    for name in settings.DAILY_CHORES:
        Chore.objects.create(name=name, next_at="2999-01-01T00:00Z", done_at="2026-01-01T00:00Z")
    answer = ask("/healthz/deep")
    assert answer.status_code == 200, answer.content
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1
    assert list(stored_names(storages["withdrawals"])) == []


@pytest.mark.django_db
@pytest.mark.usefixtures("_token")
def test_metrics_count_requests_by_view_and_people_by_stage_and_hold_no_identifier() -> None:
    study = make_study(recruitment="open")
    open_page(study, "demographics")
    client = Client()
    client.get(f"/s/{study.slug}/?PROLIFIC_PID=the-secret")
    client.get("/no/such/the-secret/")
    client.generic("THE-SECRET", "/lab/sign-in/")
    text = ask("/metrics").content.decode()
    assert "the-secret" not in text.lower()
    assert f'"{study.slug}"' not in text
    assert re.search(
        r'brainbench_requests_total\{method="GET",status="4xx",view="unresolved"\} [1-9]', text
    )
    assert 'brainbench_request_seconds_count{view="participant:entry"}' in text
    stage = study.participants.get().stage
    assert f'brainbench_participants{{kind="real",stage="{stage}"}} 1.0' in text
    assert "brainbench_database_up 1.0" in text


@pytest.mark.usefixtures("_token", "_no_database")
def test_without_a_database_metrics_still_say_so() -> None:
    answer = ask("/metrics")
    assert answer.status_code == 200
    assert b"brainbench_database_up 0.0" in answer.content


@pytest.mark.parametrize(
    "address", ["/healthz", "/healthz/live", "/healthz/ready", "/healthz/deep", "/metrics"]
)
@pytest.mark.django_db
def test_none_of_them_is_led_to_https(address: str, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert Client().get(address).status_code not in (301, 302)
    assert Client().get("/lab/").status_code == 301
