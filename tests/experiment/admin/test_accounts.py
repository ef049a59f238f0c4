"""Power over the whole site, given or taken away, is in the audit trail."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent
from tests.factories import make_user
from tests.forms import Browser, form_at, forms_of

pytestmark = pytest.mark.django_db


def save(client: Client, user: User, **changes: Any) -> None:
    day, time = f"{user.date_joined:%Y-%m-%d}", f"{user.date_joined:%H:%M:%S}"
    form = {"username": user.username, "is_active": "on", "date_joined_0": day}
    sent = form | {"date_joined_1": time} | changes
    response = client.post(
        reverse("admin:auth_user_change", args=[user.pk]),
        {name: value for name, value in sent.items() if value},
    )
    assert response.status_code == 302


def told() -> list[tuple[str, dict[str, Any]]]:
    events = AuditEvent.objects.filter(action="role_changed")
    return list(events.values_list("actor", "details"))


@pytest.mark.parametrize(
    ("sent", "changed"),
    [
        ({"is_superuser": "on"}, {"is_superuser": "False -> True"}),
        ({"is_active": ""}, {"is_active": "True -> False"}),
        ({"first_name": "Ada"}, None),  # no change of power
    ],
)
def test_powers_given_and_taken_are_in_the_audit_trail(
    boss: Client, sent: dict[str, str], changed: dict[str, str] | None
) -> None:
    save(boss, make_user("ada"), **sent)
    assert told() == ([("boss", {"member": "ada", "changed": changed})] if changed else [])


def test_the_trail_shows_the_right_to_create_studies_before_and_after(boss: Client) -> None:
    user, right = make_user("ada"), Permission.objects.get(codename="add_study")
    save(boss, user, user_permissions=[right.pk])
    save(boss, user)
    assert [event["changed"] for _, event in told()] == [
        {"user_permissions": "none -> add_study"},
        {"user_permissions": "add_study -> none"},
    ]


def test_an_account_that_is_deleted_is_told(boss: Client) -> None:
    user = make_user("ada")
    boss.post(reverse("admin:auth_user_delete", args=[user.pk]), {"post": "yes"})
    assert not User.objects.filter(pk=user.pk).exists()
    assert told() == [("boss", {"member": "ada", "changed": {"account": "deleted"}})]


def test_two_administrators_change_one_account_and_neither_is_undone(boss: Browser) -> None:
    user, right = make_user("ada"), Permission.objects.get(codename="add_study")
    other = Browser()
    other.force_login(make_user("chief", is_superuser=True, is_staff=True))
    url = reverse("admin:auth_user_change", args=[user.pk])
    mine, again = form_at(boss, url), form_at(boss, url)
    assert mine
    assert again
    other.save(url, first_name="Ada", user_permissions=[str(right.pk)], _save="Save")
    assert Client.post(boss, url, mine.filled(last_name="Lovelace", _save="x")).status_code == 302
    user.refresh_from_db()
    assert (user.first_name, user.last_name) == ("Ada", "Lovelace")
    assert user.user_permissions.get() == right
    told = Client.post(boss, url, again.filled(first_name="Augusta", _save="Save"))
    assert (told.status_code, "Changed by " in told.text) == (200, True)
    user.refresh_from_db()
    assert user.first_name == "Ada"
    later = next(form for form in forms_of(told.text) if form.opened)
    assert Client.post(boss, url, later.filled(_save="Save")).status_code == 302
    user.refresh_from_db()
    assert user.first_name == "Augusta"
