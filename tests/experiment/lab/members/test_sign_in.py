"""Passwords cannot be tried for long; whoever mistypes is not locked out."""

import time

import pytest
from django.db.models import F
from django.test import Client

from experiment.models import SignInAttempts
from experiment.services.chores import forget_old_attempts
from experiment.services.people.attempts import MOST_ATTEMPTS, WAIT
from tests.experiment.http_client import at_once
from tests.factories import make_user

pytestmark = pytest.mark.django_db
REFUSED = "Too many failed attempts for this name: wait 15 minutes"


@pytest.fixture(autouse=True)
def ruth(db: None) -> None:
    make_user("ruth")


def sign_in(client: Client, password: str, name: str = "ruth") -> str:
    """What the page says; empty once one is in."""
    response = client.post("/lab/sign-in/", {"username": name, "password": password})
    return "" if response.status_code == 302 else response.content.decode()


def test_after_many_failures_even_the_right_password_waits(client: Client) -> None:
    for n in range(MOST_ATTEMPTS):
        assert REFUSED not in sign_in(client, f"guess-{n}")
    assert REFUSED in sign_in(client, "ruth")
    assert REFUSED in sign_in(client, "ruth", "RUTH")
    SignInAttempts.objects.update(since=F("since") - WAIT)
    assert sign_in(client, "ruth") == ""


def test_an_empty_password_is_no_success(client: Client) -> None:
    for n in range(MOST_ATTEMPTS):
        sign_in(client, f"guess-{n}")
    sign_in(client, "")
    assert REFUSED in sign_in(client, "ruth")


def test_others_and_other_addresses_are_let_in(client: Client) -> None:
    make_user("vera")
    for n in range(MOST_ATTEMPTS + 1):
        sign_in(client, f"guess-{n}")
    assert sign_in(client, "vera", "vera") == ""
    assert sign_in(Client(REMOTE_ADDR="10.0.0.7"), "ruth") == ""


def test_success_forgets_earlier_failures(client: Client) -> None:
    for _ in range(3):
        for n in range(MOST_ATTEMPTS - 1):
            assert REFUSED not in sign_in(client, f"guess-{n}")
        assert sign_in(client, "ruth") == ""
        client.logout()


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_no_more_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(request: object, **credentials: str) -> None:
        compared.append(credentials["password"])
        time.sleep(0.02)

    monkeypatch.setattr("django.contrib.auth.forms.authenticate", compare)
    said = at_once([lambda n=n: sign_in(Client(), f"guess-{n}") for n in range(64)])
    assert 0 < len(compared) <= MOST_ATTEMPTS
    assert sum(REFUSED in page for page in said) == 64 - MOST_ATTEMPTS
    assert SignInAttempts.objects.get().n == 64


def test_neither_names_nor_addresses_are_kept(client: Client) -> None:
    sign_in(client, "guess")
    row = SignInAttempts.objects.values().get()
    assert not any(said in str(row) for said in ("ruth", "127.0.0.1"))
    SignInAttempts.objects.update(since=F("since") - 2 * WAIT)
    forget_old_attempts()
    assert not SignInAttempts.objects.exists()
