"""Strangers beside a class: what they send is looked at, and not turned away at the door."""

import random
from http import HTTPStatus

import pytest
from django.test import Client

from benchmarks.trust.load.classroom import FORMS_SHARE, PER_MINUTE, Told
from benchmarks.trust.load.hostile import HTML, TOKEN, requests
from benchmarks.web.walks import hidden_fields
from experiment.models import SignInAttempts

FORM = "application/x-www-form-urlencoded"


@pytest.mark.django_db
@pytest.mark.parametrize("has_opened", [True, False])
def test_guesses_of_who_has_opened_a_page_are_compared(has_opened: bool) -> None:
    client, rng = Client(enforce_csrf_checks=True), random.Random(1)
    page = client.get("/lab/sign-in/").content.decode()
    token = hidden_fields(page)[TOKEN] if has_opened else ""
    sent = [requests(rng, token) for _ in range(60)]
    guesses = [body for method, path, body in sent if path == "/lab/sign-in/"]
    assert guesses
    for body in guesses:
        answer = client.generic("POST", "/lab/sign-in/", body, FORM, headers={"Accept": HTML})
        assert (answer.status_code == HTTPStatus.FORBIDDEN) is not has_opened
    assert SignInAttempts.objects.exists() is has_opened


def test_strangers_who_were_turned_away_at_the_door_are_a_problem() -> None:
    told = Told(per_minute=PER_MINUTE, forms_per_minute=FORMS_SHARE * PER_MINUTE)
    assert list(told.problems()) == []
    told.forms_per_minute = 0
    assert list(told.problems()) == ["only 0 forms a minute among them were looked at"]
