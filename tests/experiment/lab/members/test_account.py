"""A password of one's own, and what the trail says of signing in."""

from typing import Any

import pytest
from django.contrib.auth.hashers import identify_hasher, make_password
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from experiment.domain.roles import Scope
from experiment.models import AuditEvent
from experiment.services.rights import TokenError, create_token, find_token
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


NEW = "seven grey herons"


def at_the_account_page(client: Client, user: User, **ticked: str) -> str:
    client.force_login(user)
    page = client.get("/lab/account/").text
    sent = {"old_password": "ruth", "new_password1": NEW, "new_password2": NEW}
    assert client.post("/lab/account/", sent | ticked).status_code == 302
    return page


def by_a_link(client: Client, user: User, **ticked: str) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    page = client.get(
        f"/lab/welcome/{uid}/{default_token_generator.make_token(user)}/", follow=True
    )
    sent = {"new_password1": NEW, "new_password2": NEW}
    assert client.post(page.request["PATH_INFO"], sent | ticked).status_code == 302
    return page.text


def by_an_administrator(client: Client, user: User, **ticked: str) -> str:
    client.force_login(User.objects.create_superuser("boss"))
    address = reverse("admin:auth_user_password_change", args=[user.pk])
    page = client.get(address).text
    sent = {"usable_password": "true", "password1": NEW, "password2": NEW, "set-password": "1"}
    assert client.post(address, sent | ticked).status_code == 302
    return page


@pytest.mark.parametrize("change", [at_the_account_page, by_a_link, by_an_administrator])
@pytest.mark.parametrize("ticked", [{"end_tokens": "on"}, {}])
def test_a_new_password_says_that_tokens_live_on_and_ends_them_if_asked(
    client: Client, change: Any, ticked: dict[str, str]
) -> None:
    user = make_user("ruth")
    others = create_token(make_user("vera"), "others", [Scope.READ]).secret
    secrets = [create_token(user, name, [Scope.READ]).secret for name in ("laptop", "cluster")]
    page = change(client, user, **ticked)
    assert "2 access tokens work" in page
    assert "Also revoke all access tokens" in page
    user.refresh_from_db()
    assert user.check_password(NEW)
    for secret in secrets:
        if ticked:
            with pytest.raises(TokenError, match="revoked"):
                find_token(secret)
        else:
            find_token(secret)
    find_token(others)
    n = 2 if ticked else 0
    [told] = AuditEvent.objects.filter(action="password_changed")
    assert (told.actor, told.details["tokens_revoked"]) == (
        "boss" if change is by_an_administrator else "ruth",
        n,
    )
    revoked = AuditEvent.objects.filter(action="token_revoked")
    assert sorted(event.details["name"] for event in revoked) == ["cluster", "laptop"][:n]


def test_members_without_a_token_are_not_asked_about_tokens(client: Client) -> None:
    assert "end_tokens" not in at_the_account_page(client, make_user("ruth"))
