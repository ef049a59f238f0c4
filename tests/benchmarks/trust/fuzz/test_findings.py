"""What fuzzes the site finds what it looks for, once it is there; and makes a case again from its numbers."""

import threading
from typing import Any

import pytest
from django.core.cache import cache

from benchmarks.trust.fuzz import api
from benchmarks.trust.fuzz.breaking.requests import Sent, broken_request
from benchmarks.trust.fuzz.breaking.wire import broken_wire
from benchmarks.trust.fuzz.cases import Case, HangError, Tally, time_limit
from benchmarks.trust.fuzz.checks import unreached
from benchmarks.trust.fuzz.imports import items, studies
from benchmarks.trust.fuzz.imports import run as imports
from benchmarks.trust.fuzz.journey import machine
from benchmarks.trust.fuzz.material import prepare
from benchmarks.trust.fuzz.submits import run as submits
from benchmarks.trust.fuzz.submits.forms import People
from benchmarks.trust.outcome import Figure
from experiment.models import AuditEvent
from experiment.participant import views
from experiment.services import audit, taking_part

FORM = Sent("/s/fuzz/", [("agree", "yes"), ("consent_sha256", "0" * 64)], {"csrftoken": "x" * 32})


def test_a_case_is_made_again_from_its_seed_and_number() -> None:
    def made(number: int) -> tuple[Sent, bytes]:
        rng = Case("submits", 5, number).rng()
        return broken_request(rng, FORM), broken_wire(rng, b"GET / HTTP/1.1\r\n\r\nbody")

    assert [made(n) for n in range(50)] == [made(n) for n in range(50)]
    assert len({repr(made(n)) for n in range(50)}) > 40


def test_a_fuzz_that_reaches_nothing_is_red() -> None:
    """Of an API that refuses whoever asks, thousands of requests show nothing."""
    none, some = Figure("taken", 0, ""), Figure("refused", 500, "")
    assert list(unreached(500, (none, some))) == ["taken: 0 of 500 cases"]
    assert list(unreached(500, (some, some))) == []


@pytest.mark.django_db
@pytest.mark.parametrize("is_known", [True, False])
def test_an_api_that_lets_no_token_in_is_seen(
    monkeypatch: pytest.MonkeyPatch, settings: Any, is_known: bool
) -> None:
    """Its description, which is open to everybody, does not hide it."""
    settings.API_REQUESTS_PER_MINUTE = settings.API_ANONYMOUS_PER_MINUTE = 10**6
    if not is_known:
        monkeypatch.setattr(api, "tokens_of", lambda material: ["bbl_" + "x" * 43])
    tally = api.run(prepare(), 1, range(60))
    assert tally.refused
    assert bool(tally.taken) is is_known


def test_what_hangs_is_ended() -> None:
    with pytest.raises(HangError), time_limit(0.05):
        threading.Event().wait(60)


@pytest.mark.django_db
def test_half_an_import_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    material = prepare()
    reader = items.reader(material)

    def half(*args: Any, **kwargs: Any) -> Any:
        audit.record(AuditEvent.Action.ITEMS_CHANGED)
        return plan(*args, **kwargs)

    plan = items.import_items
    monkeypatch.setattr(items, "import_items", half)
    before, tally = imports.row_counts(), Tally()
    for number in range(12):
        case = Case("imports", 1, number)
        imports._try(reader, case, case.rng(), before, tally)
    assert tally.refused
    assert len(tally.problems) == tally.refused
    assert imports.row_counts() == before


@pytest.mark.django_db
def test_an_import_that_ends_in_an_error_without_a_place_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failed(*args: Any, **kwargs: Any) -> Any:
        raise KeyError("items")

    material = prepare()
    monkeypatch.setattr(studies, "create_from_file", failed)
    case, tally = Case("imports", 1, 0), Tally()
    imports._try(studies.reader(material), case, case.rng(), {}, tally)
    assert tally.errors == 1
    assert str(case) in tally.problems[0]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mistake", ["writes", "fails"])
def test_a_refused_form_that_wrote_something_and_one_that_fails_are_found(
    monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    def wrong(*args: Any, **kwargs: Any) -> Any:
        if mistake == "fails":
            raise KeyError("agree")
        audit.record(AuditEvent.Action.STUDY_CHANGED)
        return find(*args, **kwargs)

    find = views.returns.find_by_code
    people = People(prepare().study)
    form = people.form("return")
    monkeypatch.setattr(views.returns, "find_by_code", wrong)
    form.sent = Sent(form.sent.path, [*form.sent.fields, ("code", "AAAA")], form.sent.cookies)
    monkeypatch.setattr(submits, "broken_request", lambda rng, sent: sent)
    case, tally = Case("submits", 1, 0), Tally()
    submits._try(form, case, case.rng(), people, tally)
    assert len(tally.problems) == 1
    assert tally.errors == (mistake == "fails")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_broken", [True, False])
def test_a_journey_finds_an_answer_that_is_told_and_not_stored(
    monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    """Without the mistake the same journeys find nothing."""
    if is_broken:
        monkeypatch.setattr(taking_part, "insert", lambda judgment: None)
    user = prepare().user
    cache.clear()
    tally = machine.run(user, 2, range(3))
    assert bool(tally.problems) is is_broken, tally.problems
    assert tally.cases > 0
