"""Nobody tries out own codes for long; whoever has one gets to what is stored about them, whatever others at their address do."""

from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from experiment.domain.withdrawal_code import new_code
from experiment.models import Participant, SignInAttempts, Study
from experiment.services.sign_in import MOST_CODES, WAIT, TooManyError, by_own_code
from tests.experiment.http_client import at_once
from tests.experiment.people import agree, answer, client_of, come, decide, start
from tests.factories import make_study

REFUSED = "Too many wrong codes were entered from your network. Please wait 15 minutes"
PAGES = ("return", "withdraw")


def send(study: Study, page: str, code: str, client: Client | None = None, **fields: str) -> Any:
    address = f"{study.get_absolute_url()}{page}/"
    return (client or Client()).post(address, {"code": code, **fields})


@pytest.mark.django_db
@pytest.mark.parametrize("page", PAGES)
def test_after_many_wrong_codes_even_a_right_one_waits(study: Study, page: str) -> None:
    """On both pages together, so that none is left to try at."""
    person = start(study)
    for n in range(MOST_CODES):
        assert send(study, PAGES[n % 2], new_code()).status_code == 422
    for code in (new_code(), person.withdrawal_code):
        answered = send(study, page, code, confirm="1")
        assert (answered.status_code, answered["Retry-After"]) == (429, "900")
        assert REFUSED in answered.content.decode()
    person.refresh_from_db()
    assert person.stage != Participant.Stage.WITHDRAWN
    SignInAttempts.objects.update(since=F("since") - WAIT)
    assert send(study, page, person.withdrawal_code).status_code in (200, 303)


@pytest.mark.django_db
def test_others_are_let_in_and_a_page_of_ones_own_withdraws_whatever_happens(study: Study) -> None:
    person = start(study)
    client = client_of(person)
    other = start(make_study("other", recruitment="open"))
    for _ in range(MOST_CODES):
        send(study, "withdraw", new_code())
    elsewhere = Client(REMOTE_ADDR="10.0.0.7")
    assert send(study, "return", person.withdrawal_code, elsewhere).status_code == 303
    assert send(other.study, "return", other.withdrawal_code).status_code == 303
    assert send(study, "withdraw", new_code(), client).status_code == 429
    assert send(study, "withdraw", person.withdrawal_code, client, confirm="1").status_code == 200
    person.refresh_from_db()
    assert person.stage == Participant.Stage.WITHDRAWN


@pytest.mark.django_db
def test_a_browser_that_came_by_a_link_was_shown_no_code_and_tries_as_few(study: Study) -> None:
    link, client = "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1", Client()
    person = agree(study, link)
    come(study, link, client)
    decide(study, client, "continue")
    for _ in range(MOST_CODES):
        send(study, "withdraw", new_code(), client)
    assert send(study, "withdraw", person.withdrawal_code, client).status_code == 429


@pytest.mark.django_db
def test_a_class_that_returns_uses_up_no_attempts(study: Study) -> None:
    person = answer(start(study), until=2)
    for _ in range(MOST_CODES + 5):
        assert send(study, "return", person.withdrawal_code).status_code == 303
    assert not SignInAttempts.objects.exists(), "no row is left of who made no mistake"
    assert send(study, "return", new_code()).status_code == 422
    [left] = SignInAttempts.objects.all()
    assert left.n == 1, "the wrong one"


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_many_codes_at_once_do_not_exceed_the_limit_of_lookups() -> None:
    study = make_study()
    looked: list[int] = []

    def attempt(n: int) -> str:
        try:
            by_own_code(study, "10.0.0.7", None, new_code(), lambda: looked.append(n))
        except TooManyError:
            return "too many"
        return "wrong"

    for n in range(MOST_CODES - 5):
        attempt(n)
    said = at_once([lambda n=n: attempt(n) for n in range(32)])
    assert said.count("wrong") == 5
    assert len(looked) == MOST_CODES
