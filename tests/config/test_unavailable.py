"""A database that is locked or gone, and a full disk, are a 503 on every path, and asked for again."""

import errno
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.test import Client

from experiment.models import Study
from experiment.participant.problems import is_passing
from tests.experiment.people import open_page
from tests.factories import make_study


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


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (OperationalError("database is locked"), True),
        (OperationalError("no such column: title"), False),
        (ValueError("ours"), False),
        (None, False),
    ],
)
def test_mistakes_of_the_code_stay_a_500(error: BaseException | None, passes: bool) -> None:
    assert is_passing(error) is passes
