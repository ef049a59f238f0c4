"""The first page of an empty site has three doors, for who may go through them; the demo's opens by one button."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from experiment.models import DryRun, Study
from scoring.models import ScoringRun
from tests.experiment.http_client import at_once
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
DOORS = ("/lab/demo/", "/lab/imports/", "/lab/new-study/paste/")


def offered(client: Client) -> list[str]:
    page = client.get("/lab/").text
    below_the_menu = page[page.index("<main") :]
    return [address for address in DOORS if f'"{address}"' in below_the_menu]


def signed_in(name: str, *permissions: str, **fields: Any) -> Client:
    user, client = make_user(name, **fields), Client()
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return client


def test_the_doors_are_there_until_there_is_a_study() -> None:
    boss = signed_in("boss", is_superuser=True)
    assert offered(boss) == [*DOORS]
    assert offered(signed_in("ben", "add_study")) == [DOORS[2]]
    assert offered(signed_in("ada")) == []
    boss.post("/lab/demo/")
    assert offered(boss) == []


def test_the_demo_is_made_once_and_filled_by_a_worker() -> None:
    boss = signed_in("boss", is_superuser=True)
    for _ in range(2):
        answer = boss.post("/lab/demo/")
        assert answer["Location"] == "/lab/studies/demo/?kind=simulated"
    assert {*Study.objects.values_list("slug", flat=True)} == {"demo", "demo-questions"}
    runs = [study.dry_runs.get() for study in Study.objects.all()]
    assert [(run.finishers, run.status) for run in runs] == [(12, "waiting")] * 2
    assert ScoringRun.objects.get().status == "waiting"
    assert "are taking the demo study" in boss.get(answer["Location"]).text


@pytest.mark.parametrize("slug", ["demo", "demo-questions"])
def test_a_study_of_ones_own_is_not_taken_for_the_demo(slug: str) -> None:
    """A study from a release that did not keep these names for the demo."""
    own = make_study("own")
    Study.objects.filter(pk=own.pk).update(slug=slug)
    before = set(own.items.values_list("key", flat=True))
    boss = signed_in("boss", is_superuser=True)
    answer = boss.post("/lab/demo/", follow=True)
    assert "is not demo material" in answer.text
    assert set(own.items.values_list("key", flat=True)) == before
    assert [*Study.objects.values_list("slug", flat=True)] == [slug]
    assert not DryRun.objects.exists()


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_make_one_demo() -> None:
    clients = [signed_in(name, is_superuser=True) for name in ("ada", "ben")]
    clicks = [lambda client=client: client.post("/lab/demo/")["Location"] for client in clients]
    assert at_once(clicks) == ["/lab/studies/demo/?kind=simulated"] * 2
    assert (Study.objects.count(), DryRun.objects.count()) == (2, 2)
    assert ScoringRun.objects.count() == 1
