"""Every page of the lab that is about one study, of a study that asks questions and was taken."""

import pytest
from django.test import Client
from django.urls import resolve, reverse

from experiment.lab.routes import routes
from experiment.models import Study
from tests.experiment.asked import EXPERT, make_asking_study
from tests.experiment.people import finish
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("counts", [(2, 0, 1), (0, 0, 0)], ids=["with abstracts", "alone"])
def test_no_page_fails_and_none_of_taking_part_shows_what_was_written(
    client: Client, counts: tuple[int, int, int]
) -> None:
    study: Study = make_asking_study(counts=counts)
    person = finish(study)
    client.force_login(make_user("ruth", study, is_superuser=True, is_staff=True))
    addresses = [
        address
        for route in routes()
        if route.address.startswith("lab/studies/<slug:slug>/")
        and route.address.count("<") == 1
        and not route.address.endswith("file/")
        and resolve(address := reverse(route.name, args=[study.slug])).func.__module__.startswith(
            "experiment."
        )
    ]
    assert len(addresses) > 10
    for address in addresses:
        assert client.get(address).status_code in (200, 302, 404, 405), address
    page = client.get(reverse("lab:study", args=[study.slug])).text
    assert "<span>2 questions per participant</span>" in page
    assert ("2 human-created, 0 machine-created, 1 catch" in page) == any(counts)
    page = client.get(reverse("lab:participant", args=[study.slug, person.public_id]))
    assert "not scored as right or wrong" in page.text
    assert "It rises." not in page.text
    page = client.get(reverse("lab:export", args=[study.slug]), {"set": "all"}).text
    assert "It rises." in page
    assert EXPERT not in page
