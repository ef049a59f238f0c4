"""Who may see what in the lab, and how administrators come in."""

import json
import re

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Study
from tests.experiment.lab_client import run
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


# Who may see what

STUDY_PAGES = (
    ("lab:study", ()),
    ("lab:study_live", ()),
    ("lab:export_download", ()),
)


@pytest.mark.parametrize(("name", "more"), STUDY_PAGES)
def test_a_stranger_is_asked_to_sign_in(
    client: Client, study: Study, name: str, more: tuple[str, ...]
) -> None:
    url = reverse(name, args=[study.slug, *more])
    response = client.get(url)
    assert (response.status_code, response["Location"]) == (302, f"/lab/sign-in/?next={url}")


@pytest.mark.parametrize(("name", "more"), STUDY_PAGES)
def test_a_study_of_others_does_not_exist(ruth: Client, name: str, more: tuple[str, ...]) -> None:
    make_study("theirs")
    assert ruth.get(reverse(name, args=["theirs", *more])).status_code == 404
    own = ruth.get(reverse(name, args=["memory", *more]))
    assert (own.status_code, bool(own.getvalue())) == (200, True)


def test_recruitment_of_others_cannot_be_switched(ruth: Client) -> None:
    theirs = make_study("theirs")
    response = ruth.post(reverse("lab:recruitment", args=["theirs"]), {"recruitment": "open"})
    theirs.refresh_from_db()
    assert (response.status_code, theirs.recruitment) == (404, "draft")


def test_the_list_holds_ones_own_studies_and_all_for_administrators(
    ruth: Client, client: Client
) -> None:
    make_study("theirs")
    assert [row.study.slug for row in ruth.get("/lab/").context["studies"]] == ["memory"]
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    assert [row.study.slug for row in client.get("/lab/").context["studies"]] == [
        "memory",
        "theirs",
    ]


def test_someone_without_studies_reads_what_to_do(client: Client) -> None:
    client.force_login(make_user("new"))
    assert "no study yet that you belong to" in client.get("/lab/").content.decode()


def test_someone_who_left_the_lab_is_signed_out(ruth: Client) -> None:
    get_user_model().objects.update(is_active=False)
    assert ruth.get("/lab/").status_code == 302


def test_signing_in_and_out(client: Client, study: Study) -> None:
    make_user("ruth", study)
    refused = client.post("/lab/sign-in/", {"username": "ruth", "password": "wrong"})
    assert "correct username and password" in refused.content.decode()
    response = client.post(
        "/lab/sign-in/?next=/lab/studies/memory/", {"username": "ruth", "password": "ruth"}
    )
    assert response["Location"] == "/lab/studies/memory/"
    assert client.post("/lab/sign-out/")["Location"] == "/lab/sign-in/"
    assert client.get("/lab/").status_code == 302


def test_sign_in_leads_nowhere_else(client: Client, study: Study) -> None:
    make_user("ruth", study)
    response = client.post(
        "/lab/sign-in/?next=https://elsewhere.example/", {"username": "ruth", "password": "ruth"}
    )
    assert response["Location"] == "/lab/"


def test_who_is_refused_is_led_back_to_their_studies(ruth: Client) -> None:
    for path, status in (("/lab/people/", 403), ("/lab/studies/unknown/", 404)):
        refused = ruth.get(path)
        assert refused.status_code == status
        assert '<a class="button button-primary" href="/lab/">' in refused.content.decode()


# Administrators


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
    assert "no longer works" in again.content.decode()
    assert Client().login(username="admin", password="a-long-Passphrase")
    events = AuditEvent.objects.filter(action__in=("role_changed", "password_changed"))
    assert list(events.values_list("action", "actor", "details")) == [
        ("role_changed", "", {"member": "admin", "changed": {"is_superuser": "False -> True"}}),
        ("password_changed", "admin", {"by_link": True}),
    ]


def test_a_weak_password_is_refused(client: Client) -> None:
    path = re.sub(r"^http://[^/]+", "", json.loads(run("create_admin", "--json"))["url"])
    response = client.post(
        client.get(path)["Location"], {"new_password1": "12345", "new_password2": "12345"}
    )
    assert "too short" in response.content.decode()
    assert not get_user_model().objects.get().has_usable_password()


def test_create_admin_again_gives_a_fresh_link_and_keeps_the_password() -> None:
    run("create_admin", "vera", "--email", "vera@example.org")
    user = get_user_model().objects.get()
    assert (user.email, user.is_superuser, user.has_usable_password()) == (
        "vera@example.org",
        True,
        False,
    )
    user.set_password("unchanged")
    user.save()
    assert "/lab/welcome/" in run("create_admin", "vera")
    assert Client().login(username="vera", password="unchanged")


def test_create_admin_if_none_does_nothing_where_there_is_one() -> None:
    assert "/lab/welcome/" in run("create_admin", "--if-none")
    assert "/lab/welcome/" in run("create_admin", "--if-none")  # no one has used the link yet
    user = get_user_model().objects.get()
    user.set_password("x")
    user.save()
    assert "already (admin)" in run("create_admin", "--if-none")
    assert json.loads(run("create_admin", "other", "--if-none", "--json")) == {
        "username": "admin",
        "url": None,
    }
    assert get_user_model().objects.count() == 1


def test_create_admin_promotes_nobody() -> None:
    make_user("ruth")
    with pytest.raises(CommandError, match="no active administrator"):
        run("create_admin", "ruth")
