"""Passwords cannot be tried for long; whoever mistypes is not locked out."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from experiment.lab.members.forms import MOST_FAILURES
from tests.factories import make_user

pytestmark = pytest.mark.django_db
REFUSED = "Too many failed attempts for this name: wait 15 minutes"


@pytest.fixture(autouse=True)
def ruth() -> Iterator[None]:
    make_user("ruth")
    cache.clear()
    yield
    cache.clear()


def sign_in(client: Client, password: str, name: str = "ruth") -> str:
    """What the page says; empty once one is in."""
    response = client.post("/lab/sign-in/", {"username": name, "password": password})
    return "" if response.status_code == 302 else response.content.decode()


def test_after_many_failures_even_the_right_password_waits(client: Client) -> None:
    for n in range(MOST_FAILURES):
        assert REFUSED not in sign_in(client, f"guess-{n}")
    assert REFUSED in sign_in(client, "ruth")
    assert REFUSED in sign_in(client, "ruth", "RUTH")
    cache.clear()  # as time does
    assert sign_in(client, "ruth") == ""


def test_others_and_other_addresses_are_let_in(client: Client) -> None:
    make_user("vera")
    for n in range(MOST_FAILURES + 1):
        sign_in(client, f"guess-{n}")
    assert sign_in(client, "vera", "vera") == ""
    assert sign_in(Client(REMOTE_ADDR="10.0.0.7"), "ruth") == ""


def test_success_forgets_earlier_failures(client: Client) -> None:
    for _ in range(3):
        for n in range(MOST_FAILURES - 1):
            assert REFUSED not in sign_in(client, f"guess-{n}")
        assert sign_in(client, "ruth") == ""
        client.logout()
