from pathlib import Path

import pytest

from experiment.checks import (
    base_url_is_served,
    broker_has_a_password,
    codes_open,
    files_are_private,
    https_is_consistent,
    proxies_alone_connect,
    proxies_are_said,
)
from tests.factories import make_participant, make_study


def test_a_base_url_that_the_site_refuses_is_named(settings):
    settings.ALLOWED_HOSTS = ["lab.example.org"]
    settings.BASE_URL = "https://lab.example.org"
    assert base_url_is_served() == []
    settings.BASE_URL = "https://elsewhere.example.org"
    assert [message.id for message in base_url_is_served()] == ["experiment.W001"]


def test_plain_links_of_an_https_site_are_named(settings):
    settings.HTTPS, settings.BASE_URL = True, "http://lab.example.org"
    assert [message.id for message in https_is_consistent()] == ["experiment.W002"]
    settings.BASE_URL = "https://lab.example.org"
    assert https_is_consistent() == []


@pytest.mark.django_db
def test_a_lost_key_of_participants_codes_is_named(settings):
    study = make_study()
    assert codes_open(databases=["default"]) == []
    for _ in range(5):
        make_participant(study)
    assert codes_open(databases=["default"]) == []
    settings.WITHDRAWAL_KEY = "made anew, since the file was lost"
    make_participant(study)
    assert [message.id for message in codes_open(databases=["default"])] == ["experiment.W003"]
    assert codes_open(databases=None) == []


def test_behind_tls_the_number_of_proxies_is_asked_for_until_it_is_set(settings):
    found = []
    for is_https, is_said in ((False, False), (True, False), (True, True)):
        settings.HTTPS, settings.NUM_PROXIES_IS_SAID = is_https, is_said
        found.append([warning.id for warning in proxies_are_said()])
    assert found == [[], ["experiment.W004"], []]


@pytest.mark.parametrize(
    ("address", "n_proxies", "found"),
    [
        *((a, 1, ["experiment.W007"]) for a in ("127.0.0.1", "127.0.0.1:8000", "[::1]:80", "localhost:80")),
        *((a, 1, []) for a in ("unix:/run/brainbench/site.sock", "fd://3", "10.0.0.5:8000")),
        ("127.0.0.1:8000", 0, []),
    ],
)  # fmt: skip
def test_a_port_by_which_neighbours_of_the_proxy_reach_the_site_is_named(
    settings, address, n_proxies, found
):
    settings.HTTPS, settings.LISTENS_AT = True, address
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": n_proxies}
    assert [warning.id for warning in proxies_alone_connect()] == found
    settings.HTTPS = False
    assert proxies_alone_connect() == []


@pytest.mark.parametrize(
    ("executor", "broker", "found"),
    [
        ("celery", "redis://127.0.0.1:6379/0", ["experiment.W008"]),
        ("celery", "redis://localhost", ["experiment.W008"]),
        ("celery", "redis:///0", ["experiment.W008"]),
        ("celery", "rediss://127.0.0.1", ["experiment.W008"]),
        ("celery", "amqp://guest:guest@localhost//", ["experiment.W008"]),
        ("celery", "amqp://site:secret@localhost//", []),
        ("celery", "redis://localhost.example.org", []),
        ("celery", "redis://:secret@127.0.0.1:6379/0", []),
        ("celery", "redis+socket:///run/redis.sock", []),
        ("celery", "redis://redis:6379/0", []),
        ("celery", "filesystem://", []),
        ("inline", "redis://127.0.0.1:6379/0", []),
    ],
)
def test_a_broker_that_neighbours_can_write_to_is_named(settings, executor, broker, found):
    settings.JOB_EXECUTOR, settings.CELERY_BROKER_URL = executor, broker
    assert [warning.id for warning in broker_has_a_password()] == found


def test_files_that_other_users_of_the_machine_can_reach_are_named(settings, tmp_path, monkeypatch):
    settings.BASE_DIR = tmp_path
    settings.VAR_DIR, settings.STATIC_ROOT = tmp_path / "var", tmp_path / "var" / "static"
    elsewhere = tmp_path / "elsewhere"
    database = elsewhere / "brainbench.sqlite3"
    entry = {"ENGINE": "lib.fast.sqlite3", "NAME": str(database)}
    monkeypatch.setitem(settings.DATABASES, "default", entry)
    options = {"location": str(elsewhere / "results")}
    settings.STORAGES = {
        "results": {"BACKEND": "lib.storage.AtomicFileStorage", "OPTIONS": options}
    }
    for folder in (settings.STATIC_ROOT, elsewhere / "results"):
        folder.mkdir(parents=True)
    places = [
        *(settings.VAR_DIR, settings.VAR_DIR / "secret_key", database, Path(f"{database}-wal")),
        *(elsewhere / "results", elsewhere / "results" / "export.csv", tmp_path / ".env"),
    ]
    for path in places:
        path.exists() or path.write_text("x")
        path.chmod(0o700 if path.is_dir() else 0o600)
    (settings.STATIC_ROOT / "style.css").write_text("x")
    (settings.STATIC_ROOT / "style.css").chmod(0o644)
    (settings.VAR_DIR / "behind a closed door").write_text("x")
    (settings.VAR_DIR / "behind a closed door").chmod(0o644)
    assert files_are_private() == []
    for path in places:
        before = path.stat().st_mode
        for bits in (0o040, 0o002):
            path.chmod(before | bits)
            if path.name in ("secret_key", "export.csv"):
                path.parent.chmod(0o701)
            [warning] = files_are_private()
            assert warning.id == "experiment.W006"
            assert str(path) in warning.msg
        path.chmod(before)
        path.parent.chmod(0o700)
    assert files_are_private() == []


def test_only_ten_of_many_open_files_are_named(settings, tmp_path):
    settings.VAR_DIR, settings.BASE_DIR, settings.STORAGES = tmp_path, tmp_path, {}
    for number in range(20):
        (tmp_path / f"{number:02}").write_text("x")
        (tmp_path / f"{number:02}").chmod(0o644)
    tmp_path.chmod(0o755)
    [warning] = files_are_private()
    assert str(tmp_path / "08") in warning.msg
    assert str(tmp_path / "09") not in warning.msg
    assert warning.msg.endswith("...")
