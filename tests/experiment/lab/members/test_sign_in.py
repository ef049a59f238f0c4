"""Passwords cannot be tried for long; whoever mistypes is not locked out."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiment.models import SignInAttempts
from experiment.services.chores import forget_old_attempts
from experiment.services.sign_in import (
    MOST_ATTEMPTS,
    MOST_OF_ADDRESS,
    WAIT,
    attempt,
    key_of,
    succeeded,
)
from tests.factories import make_user

pytestmark = pytest.mark.django_db
BUSY = "Others are signing in at the moment"
REFUSED = "Too many failed attempts for this name. Wait 15 minutes"


@pytest.fixture(autouse=True)
def ruth(db: None) -> None:
    make_user("ruth")


def sign_in(client: Client, password: str, name: str = "ruth") -> str:
    """The page that is shown; empty once one is in."""
    response = client.post("/lab/sign-in/", {"username": name, "password": password})
    return "" if response.status_code == 302 else response.text


def test_after_many_failures_even_the_right_password_waits(client: Client) -> None:
    for n in range(MOST_ATTEMPTS):
        assert REFUSED not in sign_in(client, f"guess-{n}")
    assert REFUSED in sign_in(client, "ruth")
    assert REFUSED in sign_in(client, "ruth", "RUTH")
    sign_in(client, "")  # an empty password is no success
    assert REFUSED in sign_in(client, "ruth")
    SignInAttempts.objects.update(since=F("since") - WAIT)
    assert sign_in(client, "ruth") == ""


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


def test_the_answer_that_others_are_signing_in_costs_no_attempt(client: Client) -> None:
    with attempt("password", "vera", "10.0.0.7"), attempt("password", "vera", "10.0.0.8"):
        for _ in range(MOST_ATTEMPTS + 1):
            assert BUSY in sign_in(client, "ruth")
    assert sign_in(client, "ruth") == ""


def test_a_class_that_signs_in_uses_up_none_of_its_addresss_attempts(client: Client) -> None:
    assert sign_in(client, "ruth") == ""
    client.logout()
    assert not SignInAttempts.objects.exists()
    sign_in(client, "another", "nobody")
    for _ in range(3):
        sign_in(client, "mistyped")
        assert sign_in(client, "ruth") == ""
        client.logout()
    [left] = SignInAttempts.objects.filter(key=key_of("", "", "127.0.0.1"))
    assert left.n == 1, "the one at another name"


def test_attempts_of_an_earlier_count_are_not_taken_from_a_later_one() -> None:
    for _ in range(3):
        with attempt("password", "ruth", "127.0.0.1"):
            pass
    address = SignInAttempts.objects.filter(key=key_of("", "", "127.0.0.1"))
    address.update(since=F("since") + WAIT / 2)
    succeeded("password", "ruth", "127.0.0.1")
    assert address.get().n == 3


def test_an_address_that_tries_many_names_waits(client: Client) -> None:
    for n in range(MOST_OF_ADDRESS):
        with attempt("password", f"name {n}", "2001:db8:1:2::7"):
            pass
    beside, elsewhere = Client(REMOTE_ADDR="2001:db8:1:2::8"), Client(REMOTE_ADDR="2001:db8:1:3::7")
    with CaptureQueriesContext(connection) as queries:
        assert REFUSED in sign_in(beside, "ruth")
    assert not [q for q in queries if "INSERT" in q["sql"]], "who waits writes nothing"
    assert sign_in(elsewhere, "ruth") == ""


def test_behind_a_proxy_the_address_is_what_it_says(client: Client, settings: Any) -> None:
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}

    def said_from(said: str, password: str) -> str:
        return sign_in(Client(headers={"x-forwarded-for": said}), password)

    for n in range(MOST_ATTEMPTS):
        said_from(f"198.51.100.{n}, 203.0.113.1", f"guess-{n}")
    assert REFUSED in said_from("198.51.100.99, 203.0.113.1", "ruth")
    assert said_from("203.0.113.2", "ruth") == ""


def test_neither_names_nor_addresses_are_kept(client: Client) -> None:
    sign_in(client, "guess")
    rows = str(SignInAttempts.objects.values())
    assert SignInAttempts.objects.count() == 2, "of the name, and of the address"
    assert not any(said in rows for said in ("ruth", "127.0.0.1"))
    SignInAttempts.objects.update(since=F("since") - 2 * WAIT)
    forget_old_attempts()
    assert not SignInAttempts.objects.exists()
