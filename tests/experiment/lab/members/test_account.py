"""A password of one's own, and what the trail says of signing in."""

from typing import Any

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password
from django.test import Client

from experiment.models import AuditEvent
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def change(client: Client, new: str, old: str = "ruth") -> Any:
    sent = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/lab/account/", sent)


@pytest.mark.parametrize("new", ["short-one", "password1234", "492083920493", "ruth.hopper.1"])
def test_weak_passwords_are_refused(client: Client, new: str) -> None:
    user = make_user("ruth.hopper")
    client.force_login(user)
    assert "new_password2" in change(client, new, "ruth.hopper").context["form"].errors


def test_the_old_password_is_asked_for(client: Client) -> None:
    client.force_login(make_user("ruth"))
    assert "old_password" in change(client, "seven grey herons", "wrong").context["form"].errors


def test_passwords_are_stored_by_argon2(settings: Any) -> None:
    from config import settings as the_sites

    settings.PASSWORD_HASHERS = the_sites.PASSWORD_HASHERS
    stored = make_password("seven grey herons")
    assert identify_hasher(stored).algorithm == "argon2"
    assert "$argon2id$v=19$m=19456,t=2,p=1$" in stored


def test_sign_ins_and_failures_of_people_there_are_reach_the_trail(client: Client) -> None:
    make_user("ruth")
    for name, password in (("ruth", "wrong"), ("a password typed here", "x"), ("ruth", "ruth")):
        client.post("/lab/sign-in/", {"username": name, "password": password})
    told = AuditEvent.objects.values_list("actor", "action", "details")
    assert list(told) == [
        ("", "sign_in_failed", {"name": "ruth", "step": "password"}),
        ("ruth", "signed_in", {}),
    ]
