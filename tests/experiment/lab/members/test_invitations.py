"""Invitations: a link that is shown once, works once within a week, and can be taken back."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from experiment.models import AuditEvent, Invitation, Study
from experiment.services.rights import may_create_studies
from tests.factories import make_user

pytestmark = pytest.mark.django_db
NEW = {"username": "ann", "password1": "seven grey herons", "password2": "seven grey herons"}


@pytest.fixture
def link(ruth: Client) -> str:
    """To an auditor's role, as its page shows it."""
    sent = {"name": "Ann", "role": "auditor"}
    return link_of(ruth.post("/lab/studies/memory/members/invite/", sent))


def link_of(response: Any) -> str:
    assert "no-store" in response["Cache-Control"]
    found = re.search(r"http://127.0.0.1:8000(/lab/invitations/[\w-]+/)", response.text)
    assert found is not None
    return found[1]


def test_the_secret_is_shown_once_and_kept_as_a_hash_alone(ruth: Client, link: str) -> None:
    secret = link.split("/")[-2]
    listed = ruth.get("/lab/studies/memory/members/").text
    assert "Ann" in listed
    assert secret not in listed
    row = Invitation.objects.values().get()
    assert secret not in str(row)
    assert secret not in str(list(AuditEvent.objects.values()))


def test_somebody_new_makes_an_account_and_joins(link: str, study: Study) -> None:
    guest = Client()
    assert "ruth invites you" in guest.get(link).text
    assert guest.post(link, NEW)["Location"] == "/lab/"
    assert guest.get("/lab/studies/memory/").status_code == 200
    assert study.memberships.get(user__username="ann").role == "auditor"
    user = User.objects.get(username="ann")
    assert (user.is_staff, user.is_superuser, may_create_studies(user)) == (False, False, False)
    told = AuditEvent.objects.filter(study="memory", action__in=("invited", "joined"))
    assert list(told.values_list("actor", "action")) == [("ruth", "invited"), ("ann", "joined")]


@pytest.mark.parametrize("how", ["used", "over", "taken back"])
def test_a_link_works_once_for_a_week_and_until_it_is_taken_back(
    ruth: Client, link: str, how: str
) -> None:
    if how == "used":
        Client().post(link, NEW)
    elif how == "over":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        pk = Invitation.objects.get().pk
        ruth.post(f"/lab/studies/memory/members/invitations/{pk}/revoke/")
        assert AuditEvent.objects.filter(actor="ruth", action="invitation_revoked").count() == 1
    assert Client().get(link).status_code == 404
    assert Client().post(link, NEW | {"username": "eve"}).status_code == 404
    assert not User.objects.filter(username="eve").exists()


def test_a_guest_with_an_account_signs_in_and_returns_to_the_invitation(
    link: str, study: Study
) -> None:
    make_user("vera")
    guest = Client()
    assert f"/lab/sign-in/?next={link}" in guest.get(link).text
    signed = guest.post("/lab/sign-in/", {"username": "vera", "password": "vera", "next": link})
    assert signed["Location"] == link
    assert "vera" in guest.get(link).text
    guest.post(link)
    assert study.memberships.get(user__username="vera").role == "auditor"


def test_a_member_stays_what_they_are_and_leaves_the_link_to_another(
    ruth: Client, link: str, study: Study
) -> None:
    ruth.post(link)
    assert study.memberships.get(user__username="ruth").role == "researcher"
    assert Client().get(link).status_code == 200


def test_administrators_invite_to_the_site_and_may_let_create_studies(boss: Client) -> None:
    for name, sent in (("ann", {"may_create_studies": "on"}), ("eve", {})):
        link = link_of(boss.post("/lab/people/", {"name": name, **sent}))
        Client().post(link, NEW | {"username": name})
    may = {user.username: may_create_studies(user) for user in User.objects.all()}
    assert may == {"boss": True, "ann": True, "eve": False}
    assert "eve" in boss.get("/lab/people/").text
