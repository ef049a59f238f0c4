"""The settings, loaded as a process of its own loads them, and what pages carry because of them."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from tests import processes

PRINT = """
import json, os, runpy, sys
base = dict(os.environ)
for environment in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(base | environment)
    loaded = runpy.run_module("config.settings")
    print(json.dumps({name: loaded[name] for name in sys.argv[2:]}, default=str))
"""


def load(var: Path, environments: Sequence[Mapping[str, str]], *names: str) -> list[dict[str, Any]]:
    """Return the named settings of a process that has only the environment; of each of these, in turn."""
    done = processes.run("-c", PRINT, json.dumps(environments), *names, folder=var)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_with_nothing_set_the_site_is_safe_and_local(tmp_path: Path) -> None:
    names = ("DEBUG", "ALLOWED_HOSTS", "DATABASES", "SECRET_KEY", "BASE_URL")
    loaded, at_a_port = load(tmp_path, [{}, {"PORT": "8461"}], *names)
    assert loaded["DEBUG"] is False
    assert loaded["ALLOWED_HOSTS"] == ["localhost", "127.0.0.1", "[::1]"]
    assert loaded["DATABASES"]["default"]["NAME"] == str(tmp_path / "brainbench.sqlite3")
    assert loaded["SECRET_KEY"] == (tmp_path / "secret_key").read_text()
    assert loaded["BASE_URL"] == "http://127.0.0.1:8000"
    assert at_a_port["BASE_URL"] == "http://127.0.0.1:8461"


def test_a_secret_key_from_the_environment_writes_no_file(tmp_path: Path) -> None:
    key = "from outside, and long enough to sign what others must not"
    assert load(tmp_path, [{"SECRET_KEY": key}], "SECRET_KEY") == [{"SECRET_KEY": key}]
    assert not (tmp_path / "secret_key").exists()


POSTGRES, SQLITE = "postgres://db/bench", "sqlite:////srv/study.sqlite3"
PAGES = {"SERVES_PAGES": "1"}


def limits(lock_s: int, statement_s: int) -> dict[str, object]:
    """libpq reads one text of options."""
    return {"options": f"-c lock_timeout={lock_s}s -c statement_timeout={statement_s}s"}


CONNECTIONS: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    (POSTGRES, {}, {"CONN_HEALTH_CHECKS": True, "CONN_MAX_AGE": 60, "MOST_TRANSACTIONS": 0}),
    (SQLITE, {}, {"CONN_MAX_AGE": 60, "MOST_TRANSACTIONS": 0}),
    (POSTGRES, {"DATABASE_CONN_MAX_AGE": "0"}, {"CONN_MAX_AGE": 0}),
    # A process that serves pages spares threads for what needs no transaction
    (POSTGRES, PAGES, {"MOST_TRANSACTIONS": 14}),
    (SQLITE, PAGES | {"THREADS": "4"}, {"MOST_TRANSACTIONS": 4}),
    ("postgres://lab:p%2Fw@db/bench?sslmode=require", {}, {"PASSWORD": "p/w", "OPTIONS": {"sslmode": "require"}}),
    (POSTGRES, {}, {"OPTIONS": {"connect_timeout": 5, "tcp_user_timeout": 10_000, "prepare_threshold": 0}}),
    (POSTGRES, {"DATABASE_PREPARE": "0"}, {"OPTIONS": {"prepare_threshold": None}}),
    # Pages give up, and commands wait
    (POSTGRES, {}, {"OPTIONS": limits(0, 0)}),
    (POSTGRES, PAGES, {"OPTIONS": limits(5, 30)}),
    (POSTGRES, PAGES | {"DATABASE_LOCK_SECONDS": "9"}, {"OPTIONS": limits(9, 30)}),
    (POSTGRES, {"DATABASE_STATEMENT_SECONDS": "30"}, {"OPTIONS": limits(0, 30)}),
    (SQLITE, {"DATABASE_LOCK_SECONDS": "5"}, {"OPTIONS": {"timeout": 5}}),
    # What the URL says of its own leaves these limits, and for commands it goes before them
    (
        f"{POSTGRES}?options=-c%20search_path%3Dlab",
        PAGES,
        {"OPTIONS": {"options": f"-c search_path=lab {limits(5, 30)['options']}"}},
    ),
    (
        f"{POSTGRES}?options=-c%20statement_timeout%3D600s",
        {},
        {"OPTIONS": {"options": f"{limits(0, 0)['options']} -c statement_timeout=600s"}},
    ),
]  # fmt: skip


def test_connections_are_as_one_wants(tmp_path: Path) -> None:
    environments = [changes | {"DATABASE_URL": url} for url, changes, _ in CONNECTIONS]
    for loaded, (*given, expected) in zip(
        load(tmp_path, environments, "DATABASES"), CONNECTIONS, strict=True
    ):
        found = loaded["DATABASES"]["default"]
        options = found["OPTIONS"] | expected.get("OPTIONS", {})
        assert found == found | expected | {"OPTIONS": options}, given


def test_https_switches_everything_that_belongs_to_it(tmp_path: Path) -> None:
    flags = ("SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE")
    values = ("SESSION_COOKIE_NAME", "CSRF_COOKIE_NAME", "SECURE_HSTS_SECONDS")
    plain, secure = load(tmp_path, [{"HTTPS": ""}, {"HTTPS": "1"}], *flags, *values)
    assert list(plain.values()) == [False] * 3 + ["sessionid", "csrftoken", 0]
    year_s = 365 * 24 * 3600
    assert list(secure.values()) == [True] * 3 + ["__Host-sessionid", "__Host-csrftoken", year_s]


@pytest.mark.sqlite
@pytest.mark.django_db
def test_sqlite_is_a_file_in_wal_mode_that_waits_and_syncs(tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        pragmas = ("journal_mode", "foreign_keys", "busy_timeout")
        values = [cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert values == ["wal", 1, 30_000]
    assert connection.transaction_mode == "IMMEDIATE"
    # Tests do not sync, sites do
    [loaded] = load(tmp_path, [{}], "DATABASES")
    begin = loaded["DATABASES"]["default"]["OPTIONS"]["init_command"]
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
