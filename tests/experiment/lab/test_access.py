"""The pages of the lab that each role may see, and the way in for administrators."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.test import Client

from experiment.models import AuditEvent, Study
from tests.experiment.lab_client import run
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def test_the_list_holds_ones_own_studies_and_all_for_administrators(
    ruth: Client, boss: Client
) -> None:
    make_study("theirs")
    listed = [
        [row.study.slug for row in client.get("/lab/").context["studies"]]
        for client in (ruth, boss)
    ]
    assert listed == [["memory"], ["memory", "theirs"]]


def test_signing_in_and_out(client: Client, study: Study) -> None:
    ruth = make_user("ruth", study)
    refused = client.post("/lab/sign-in/", {"username": "ruth", "password": "wrong"})
    assert "correct username and password" in refused.text
    response = client.post(
        "/lab/sign-in/?next=/lab/studies/memory/", {"username": "ruth", "password": "ruth"}
    )
    assert response["Location"] == "/lab/studies/memory/"
    assert client.post("/lab/sign-out/")["Location"] == "/lab/sign-in/"
    assert client.get("/lab/").status_code == 302
    client.force_login(ruth)
    get_user_model().objects.update(is_active=False)  # who has left the lab
    assert client.get("/lab/").status_code == 302


def test_the_one_time_link_sets_a_password_and_works_once(client: Client) -> None:
    printed = json.loads(run("create_admin", "--json"))
    assert printed["username"] == "admin"
    path = re.sub(r"^http://[^/]+", "", printed["url"])
    form = client.get(path)["Location"]
    response = client.post(
        form, {"new_password1": "a-long-Passphrase", "new_password2": "a-long-Passphrase"}
    )
    assert response["Location"] == "/lab/"
    assert client.get("/lab/").status_code == 200
    assert client.get("/admin/").status_code == 200
    again = Client().get(path)
    assert "no longer works" in again.text
    assert Client().login(username="admin", password="a-long-Passphrase")
    events = AuditEvent.objects.filter(action__in=("role_changed", "password_changed"))
    assert list(events.values_list("action", "actor", "details")) == [
        ("role_changed", "", {"member": "admin", "changed": {"is_superuser": "False -> True"}}),
        ("password_changed", "admin", {"by_link": True, "tokens_revoked": 0}),
    ]


def test_create_admin_again_gives_a_fresh_link_and_keeps_the_password() -> None:
    assert "/lab/welcome/" in run("create_admin", "vera", "--email", "vera@example.org")
    assert "/lab/welcome/" in run("create_admin", "--if-none")  # no one has used the link yet
    user = get_user_model().objects.get(username="vera")
    assert (user.email, user.is_superuser, user.has_usable_password()) == (
        "vera@example.org",
        True,
        False,
    )
    user.set_password("unchanged")
    user.save()
    assert "/lab/welcome/" in run("create_admin", "vera")
    assert "vera already exists" in run("create_admin", "--if-none")
    printed = json.loads(run("create_admin", "other", "--if-none", "--json"))
    assert printed == {"username": "vera", "url": None}
    assert Client().login(username="vera", password="unchanged")


def test_create_admin_promotes_nobody() -> None:
    make_user("ruth")
    with pytest.raises(CommandError, match="not an active administrator"):
        run("create_admin", "ruth")
