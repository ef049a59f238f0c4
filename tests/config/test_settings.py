"""The settings, loaded as a process of its own loads them, and what pages carry because of them."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

ROOT = Path(__file__).resolve().parents[2]
PRINT = (
    "import json, sys; from django.conf import settings;"
    "print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}, default=str))"
)


def load(var: Path, *names: str, **environment: str) -> dict[str, Any]:
    """Return the named settings of a process that has only `environment`."""
    base = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-c", PRINT, *names],
        env={**base, "VAR_DIR": str(var), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_with_nothing_set_the_site_is_safe_and_local(tmp_path: Path) -> None:
    loaded = load(tmp_path, "DEBUG", "ALLOWED_HOSTS", "DATABASES", "SECRET_KEY", "BASE_URL")
    assert loaded["DEBUG"] is False
    assert loaded["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert loaded["DATABASES"]["default"]["NAME"] == str(tmp_path / "brainbench.sqlite3")
    assert loaded["SECRET_KEY"] == (tmp_path / "secret_key").read_text()
    assert loaded["BASE_URL"] == "http://127.0.0.1:8000"
    assert load(tmp_path, "BASE_URL", PORT="8461")["BASE_URL"] == "http://127.0.0.1:8461"


def test_a_secret_key_from_the_environment_writes_no_file(tmp_path: Path) -> None:
    key = "from outside, and long enough to sign what others must not"
    assert load(tmp_path, "SECRET_KEY", SECRET_KEY=key) == {"SECRET_KEY": key}
    assert not (tmp_path / "secret_key").exists()


def test_postgresql_checks_the_connections_that_it_keeps(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, "DATABASES", DATABASE_URL="postgres://lab:p%2Fw@db/bench?sslmode=require"
    )
    entry = loaded["DATABASES"]["default"]
    assert entry["CONN_HEALTH_CHECKS"] is True
    assert entry["PASSWORD"] == "p/w"
    assert entry["OPTIONS"] == {
        "sslmode": "require",
        "connect_timeout": 5,
        "tcp_user_timeout": 10_000,
        "options": "-c lock_timeout=0s -c statement_timeout=0s",
        "prepare_threshold": 0,
    }
    loaded = load(tmp_path, "DATABASES", DATABASE_URL="postgres://db/bench", DATABASE_PREPARE="0")
    assert loaded["DATABASES"]["default"]["OPTIONS"]["prepare_threshold"] is None


@pytest.mark.parametrize("url", ["sqlite:////srv/study.sqlite3", "postgres://db/bench"])
def test_connections_stay_open_as_long_as_one_wants(tmp_path: Path, url: str) -> None:
    [entry] = load(tmp_path, "DATABASES", DATABASE_URL=url)["DATABASES"].values()
    assert entry["CONN_MAX_AGE"] == 60
    changes = {"DATABASE_URL": url, "DATABASE_CONN_MAX_AGE": "0"}
    [entry] = load(tmp_path, "DATABASES", **changes)["DATABASES"].values()
    assert entry["CONN_MAX_AGE"] == 0


def test_options_of_the_url_leave_the_limits_of_waiting(tmp_path: Path) -> None:
    """libpq reads one text of options: that of the URL alone would let a page wait for ever."""
    url = "postgres://db/bench?options=-c%20search_path%3Dlab"
    loaded = load(tmp_path, "DATABASES", DATABASE_URL=url, SERVES_PAGES="1")
    assert loaded["DATABASES"]["default"]["OPTIONS"]["options"] == (
        "-c search_path=lab -c lock_timeout=5s -c statement_timeout=30s"
    )


def test_commands_wait_as_long_as_the_url_says(tmp_path: Path) -> None:
    url = "postgres://db/bench?options=-c%20statement_timeout%3D600s"
    loaded = load(tmp_path, "DATABASES", DATABASE_URL=url)
    assert loaded["DATABASES"]["default"]["OPTIONS"]["options"] == (
        "-c lock_timeout=0s -c statement_timeout=0s -c statement_timeout=600s"
    )


@pytest.mark.parametrize(
    ("changes", "most"),
    [({}, 0), ({"SERVES_PAGES": "1"}, 14), ({"SERVES_PAGES": "1", "THREADS": "4"}, 4)],
)
@pytest.mark.parametrize("url", ["sqlite:////srv/study.sqlite3", "postgres://db/bench"])
def test_a_process_that_serves_pages_spares_threads(
    url: str, changes: dict[str, str], most: int, tmp_path: Path
) -> None:
    [entry] = load(tmp_path, "DATABASES", DATABASE_URL=url, **changes)["DATABASES"].values()
    assert entry["MOST_TRANSACTIONS"] == most


@pytest.mark.parametrize(
    ("changes", "lock_s", "statement_s"),
    [({}, 0, 0), ({"SERVES_PAGES": "1"}, 5, 30), ({"SERVES_PAGES": "1", "DATABASE_LOCK_SECONDS": "9"}, 9, 30)],
)  # fmt: skip
def test_pages_give_up_and_commands_wait(
    changes: dict[str, str], lock_s: int, statement_s: int, tmp_path: Path
) -> None:
    loaded = load(tmp_path, "DATABASES", DATABASE_URL="postgres://db/bench", **changes)
    said = loaded["DATABASES"]["default"]["OPTIONS"]["options"]
    assert said == f"-c lock_timeout={lock_s}s -c statement_timeout={statement_s}s"


def test_a_limit_of_waiting_holds_on_both_databases(tmp_path: Path) -> None:
    limited = {"DATABASE_LOCK_SECONDS": "5", "DATABASE_STATEMENT_SECONDS": "30"}
    url = "postgres://db/bench"
    [entry] = load(tmp_path, "DATABASES", DATABASE_URL=url, **limited)["DATABASES"].values()
    assert entry["OPTIONS"]["options"] == "-c lock_timeout=5s -c statement_timeout=30s"
    [entry] = load(tmp_path, "DATABASES", **limited)["DATABASES"].values()
    assert entry["OPTIONS"]["timeout"] == 5


def test_https_switches_everything_that_belongs_to_it(tmp_path: Path) -> None:
    names = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")
    assert set(load(tmp_path, *names).values()) == {False}
    cookies = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME")
    assert list(load(tmp_path, *cookies).values()) == ["sessionid", "csrftoken"]
    loaded = load(tmp_path, *cookies, HTTPS="1")
    assert list(loaded.values()) == ["__Host-sessionid", "__Host-csrftoken"]
    loaded = load(tmp_path, *names, "SECURE_HSTS_SECONDS", HTTPS="1")
    assert loaded.pop("SECURE_HSTS_SECONDS") == 365 * 24 * 3600
    assert set(loaded.values()) == {True}


@pytest.mark.sqlite
@pytest.mark.django_db
def test_sqlite_is_a_file_in_wal_mode_that_waits_and_syncs(tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        pragmas = ("journal_mode", "foreign_keys", "busy_timeout")
        values = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert values == ["wal", 1, 30_000]
    assert connection.transaction_mode == "IMMEDIATE"
    # Tests do not sync, sites do
    begin = load(tmp_path, "DATABASES")["DATABASES"]["default"]["OPTIONS"]["init_command"]
    with closing(sqlite3.connect(tmp_path / "other.sqlite3")) as other:
        other.execute("PRAGMA synchronous=OFF")
        other.executescript(begin)
        assert other.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


@pytest.mark.postgres
@pytest.mark.django_db
def test_the_other_run_is_on_postgresql_through_psycopg_3() -> None:
    from django.db.backends.postgresql.psycopg_any import is_psycopg3

    assert connection.vendor == "postgresql"
    assert is_psycopg3


@pytest.mark.django_db
def test_the_health_page_asks_the_database(client: Client, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok")
    assert "no-cache" in answer["Cache-Control"]
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_a_site_behind_tls_redirects_all_but_the_health_page(client: Client, settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/lab/")["Location"] == "https://testserver/lab/"
    assert client.get("/healthz").status_code == 200
