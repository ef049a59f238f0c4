"""Lines of the log: one record a line, in UTC, and nothing that identifies a participant, whatever is sent."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client

from lib.monitoring.lines import LONGEST, JsonLine, TextLine

FORGED = "\n2026-01-01T00:00:00.000+00:00 ERROR root: forged"
CONTROLS = "\r\x00\x1b[2J\x7f\x85\u2028\u2029\u202e\ud800"
Lines = Callable[[], list[str]]


@pytest.fixture(params=[JsonLine, TextLine])
def lines(request: pytest.FixtureRequest) -> Iterator[Lines]:
    """The lines of the log so far."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(request.param())
    logging.root.addHandler(handler)
    yield lambda: stream.getvalue().splitlines()
    logging.root.removeHandler(handler)


def test_nothing_that_is_logged_begins_a_line_of_its_own(lines: Lines) -> None:
    for forged in (FORGED, CONTROLS, CONTROLS + FORGED):
        before = len(lines())
        logging.getLogger(f"a{forged}").error(f"%s{forged}", forged)  # noqa: G004
        [line] = lines()[before:]
        assert line.isprintable()


def test_an_error_with_a_line_break_in_its_text_is_no_record(lines: Lines) -> None:
    try:
        raise ValueError(FORGED + CONTROLS)
    except ValueError:
        logging.getLogger("ours").exception("failed")
    first, *rest = lines()
    assert "failed" in first
    assert all(line.startswith("    ") for line in rest)
    assert all(line.isprintable() for line in (first, *rest))


def test_a_record_is_an_object_with_a_time_in_utc() -> None:
    record = logging.LogRecord("ours", logging.WARNING, "", 0, "%s of %d", ("one", 2), None)
    found = json.loads(JsonLine().format(record))
    assert (found["level"], found["logger"], found["message"]) == ("WARNING", "ours", "one of 2")
    assert datetime.fromisoformat(found["time"]).utcoffset() == timedelta()
    assert TextLine().format(record).startswith(found["time"])


def test_ids_rows_and_addresses_do_not_reach_the_log(lines: Lines) -> None:
    logging.getLogger("gunicorn.error").warning(
        "Invalid request from ip=%s: %s", "192.0.2.7", "GET /s/x/?PROLIFIC_PID=5f1d"
    )
    try:
        raise IntegrityError("duplicate key\nDETAIL:  Key (external_id)=(5f1d) already exists.")
    except IntegrityError as error:
        logging.getLogger("ours").exception("Failed: %s", error)
    text = "\n".join(lines())
    assert "Invalid request" in text
    assert "duplicate key" in text
    assert "5f1d" not in text
    assert "192.0.2.7" not in text


def test_a_line_is_no_longer_than_someone_reads(lines: Lines) -> None:
    logging.getLogger("ours").error("x" * 1_000_000)
    assert len(lines()[-1]) < LONGEST + 200


def test_a_long_traceback_says_at_its_end_what_it_was(lines: Lines) -> None:
    try:
        raise ValueError("x" * 1_000_000 + " is too much")
    except ValueError:
        logging.getLogger("ours").exception("failed")
    assert "is too much" in lines()[-1]


HOSTILE = [
    ("/s/memory/?PROLIFIC_PID=the-secret", {}),
    ("/lab/invitations/the-secret/", {}),
    ("/lab/invitations/the-secret", {}),
    ("/lab/welcome/MQ/the-secret/", {}),
    ("/no/such/the-secret/page", {}),
    ("/nowhere/%0a2026-01-01T00:00:00%20the-secret/", {}),
    (
        "/s/memory/trial/1/",
        {"Cookie": "participant=the-secret", "Authorization": "Bearer the-secret"},
    ),
    ("/s/memory/", {"X-Request-ID": "the-secret"}),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "headers"), HOSTILE)
def test_a_request_leaves_nothing_in_the_log_of_what_it_sent(
    address: str, headers: dict[str, str], lines: Lines
) -> None:
    answer = Client(raise_request_exception=False).get(address, headers=headers)
    assert "the-secret" not in "".join(lines())
    if answer.status_code >= 400:
        [line] = lines()
        assert answer["X-Request-ID"] in line


def test_a_proxys_name_of_a_request_is_kept_and_no_other(client: Client) -> None:
    made = "0123456789abcdef0123456789abcdef"
    assert client.get("/lab/sign-in/x", headers={"X-Request-ID": made})["X-Request-ID"] == made
    for sent in ("5f1d3a9b8c7e6d5a4b3c2d1e", made.upper(), made + "0", "a" * 10_000, ""):
        answered = client.get("/lab/sign-in/x", headers={"X-Request-ID": sent})["X-Request-ID"]
        assert answered != sent
        assert len(answered) == 32


def test_a_slow_request_is_noted_with_its_duration(settings: Any, lines: Lines) -> None:
    settings.SLOW_REQUEST_SECONDS = 1e-9
    Client().get("/lab/sign-in/")
    [line] = [line for line in lines() if "slow" in line]
    if line.startswith("{"):
        found = json.loads(line)
        assert (found["route"], found["status"]) == ("lab:sign_in", 200)
        assert found["duration_ms"] >= 0
