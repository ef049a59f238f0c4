"""A database that is locked or gone, and a full disk, are a 503 on every path, and asked for again."""

import errno
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from django.contrib.sessions.backends.db import SessionStore
from django.core.files.base import ContentFile
from django.db import Error, OperationalError, connection, connections, transaction
from django.db.utils import DatabaseErrorWrapper
from django.test import Client

from experiment.models import Judgment, Study
from lib.passing import is_passing
from lib.storage import AtomicFileStorage, StorageGoneError, file_names, staged
from tests.experiment.people import open_page
from tests.factories import make_study, make_user

pytestmark = pytest.mark.both


@contextmanager
def locked_elsewhere(study: Study) -> Iterator[None]:
    """Another connection holds the study's row; this one waits for a moment only."""
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                Study.objects.select_for_update().get(pk=study.pk)
                held.set()
                release.wait(60)
        finally:
            connections.close_all()

    limit = "PRAGMA busy_timeout" if connection.vendor == "sqlite" else "SET lock_timeout"
    with connection.cursor() as cursor:
        cursor.execute(f"{limit} = 200")
    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(60)
        yield
    finally:
        release.set()
        thread.join()
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_a_lock_held_elsewhere_is_a_503_that_may_be_sent_again() -> None:
    study = make_study(recruitment="open")
    page = open_page(study, "consent")
    with locked_elsewhere(study):
        answer = page.send()
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "Refresh" not in answer, "what was sent is not sent again unasked"
        assert page.client.get("/healthz").status_code == 200, "it waits for nobody's lock"
    assert not study.participants.exists()
    assert page.send().status_code == 303
    assert study.participants.count() == 1


@pytest.mark.parametrize("address", ["/healthz", "/s/memory/", "/lab/", "/api/v1/studies/"])
def test_without_a_database_every_address_is_a_503(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(type(connections["default"]), "ensure_connection", gone)
    client = Client(
        raise_request_exception=False, headers={"Authorization": "Bearer bbl_" + "x" * 43}
    )
    client.cookies["sessionid"] = "s" * 32
    answer = client.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert ("Refresh" in answer) is not address.startswith("/api/")


def from_driver(error: Exception) -> BaseException:
    """As it comes through Django's cursors and transactions."""
    driver: Any = psycopg if isinstance(error, psycopg.Error) else sqlite3
    with pytest.raises(Error) as caught, DatabaseErrorWrapper(of_driver(driver)):
        raise error
    return caught.value


def of_driver(driver: Any) -> Any:
    return SimpleNamespace(Database=driver, errors_occurred=False)


def sqlite_error(code: int, text: str) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(text)
    error.sqlite_errorcode = code
    return error


# The last three are internal errors to Django
OF_THE_SERVER = """
    DiskFull IoError OutOfMemory AdminShutdown CrashShutdown CannotConnectNow TooManyConnections ConnectionFailure
    QueryCanceled LockNotAvailable DeadlockDetected SerializationFailure
    IdleInTransactionSessionTimeout TransactionTimeout ReadOnlySqlTransaction
"""
PASSES = [
    *(getattr(psycopg.errors, name)() for name in OF_THE_SERVER.split()),
    psycopg.OperationalError("the server closed the connection unexpectedly"),
    psycopg.InterfaceError("the connection is closed"),
    sqlite_error(sqlite3.SQLITE_BUSY, "database is locked"),
    sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full"),
    sqlite_error(sqlite3.SQLITE_IOERR_WRITE, "disk I/O error"),
    sqlite_error(sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    sqlite_error(sqlite3.SQLITE_CANTOPEN, "unable to open database file"),
]
STAYS = [
    psycopg.errors.UndefinedColumn(),
    psycopg.errors.UniqueViolation(),
    psycopg.errors.InFailedSqlTransaction(),
    psycopg.errors.DataCorrupted(),
    sqlite_error(sqlite3.SQLITE_ERROR, "no such column: title"),
    sqlite_error(sqlite3.SQLITE_ERROR, 'near "FORM": syntax error'),
    sqlite3.DatabaseError("database disk image is malformed"),
]


@pytest.mark.parametrize("error", PASSES, ids=repr)
def test_temporary_faults_of_the_database_pass(error: Exception) -> None:
    assert is_passing(from_driver(error))


@pytest.mark.parametrize("error", STAYS, ids=repr)
def test_mistakes_of_the_code_and_a_broken_database_stay_a_500(error: Exception) -> None:
    assert not is_passing(from_driver(error))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (StorageGoneError(errno.ENOTDIR, "Not a directory"), True),
        (NotADirectoryError(errno.ENOTDIR, "Not a directory"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (FileExistsError(errno.EEXIST, "File exists"), False),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), True),
        (ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (OperationalError("the connection is closed"), True),
        (ValueError("ours"), False),
        (None, False),
    ],
)
def test_temporary_faults_of_disk_and_storage_pass_and_no_others(
    error: BaseException | None, passes: bool
) -> None:
    assert is_passing(error) is passes


def save_staged(storage: AtomicFileStorage) -> None:
    with staged(storage, "a/b", b"x") as publish:
        publish()


@pytest.mark.parametrize(
    "use",
    [
        lambda storage: storage.save("a/b", ContentFile(b"x")),
        lambda storage: storage.open("a/b"),
        lambda storage: storage.delete("a/b"),
        lambda storage: file_names(storage, "a"),
        save_staged,
    ],
    ids=["save", "open", "delete", "list", "stage"],
)
def test_a_storage_whose_folder_something_else_stands_in_for_passes(
    use: Callable[[AtomicFileStorage], object], tmp_path: Path
) -> None:
    (tmp_path / "files").write_bytes(b"")
    with pytest.raises(OSError, match="files") as raised:
        use(AtomicFileStorage(location=str(tmp_path / "files")))
    assert is_passing(raised.value)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_an_answer_that_the_disk_refuses_at_the_end_of_its_transaction_is_not_acknowledged(
    accept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page(make_study(recruitment="open"), "trial")
    before = Judgment.objects.count()
    wrapper: Any = type(connections[connection.alias])
    committed = wrapper._commit

    def full(self: Any) -> None:
        with self.wrap_database_errors:
            self.connection.rollback()
            raise NO_SPACE[self.vendor]

    monkeypatch.setattr(wrapper, "_commit", full)
    refused = at.client.post(at.address, at.fields, headers={"accept": accept})
    assert (refused.status_code, refused["Retry-After"]) == (503, "5")
    monkeypatch.setattr(wrapper, "_commit", committed)
    assert Judgment.objects.count() == before
    taken = at.client.post(at.address, at.fields, headers={"accept": accept})
    assert taken.status_code in (200, 303)
    assert Judgment.objects.count() == before + 1


NO_SPACE = {
    "sqlite": sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full"),
    "postgresql": psycopg.errors.DiskFull("could not extend file"),
}


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_whose_session_cannot_be_stored_is_a_503(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(raise_request_exception=False)
    make_user("ruth")
    stored = SessionStore.save

    def full(self: Any, must_create: bool = False) -> None:
        if not must_create:  # by the middleware, when the view has answered
            raise from_driver(NO_SPACE[connection.vendor])
        stored(self, must_create)

    monkeypatch.setattr(SessionStore, "save", full)
    answer = client.post("/lab/sign-in/", {"username": "ruth", "password": "ruth"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    monkeypatch.setattr(SessionStore, "save", stored)
    answer = client.post("/lab/sign-in/", {"username": "ruth", "password": "ruth"})
    assert answer.status_code == 302
