"""The page with a field's test cases: filters are asked for strictly, and kept under a name by each person."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from experiment.models import ResearchField, SavedView, Study
from tests.factories import make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/fields/cooking/"


@pytest.fixture
def study() -> Study:
    study = make_study()
    study.items.filter(kind="test").update(field="cooking")
    return study


@pytest.fixture
def cooking(study: Study) -> ResearchField:
    return make_research_field("cooking", "Soups", "Desserts")


@pytest.fixture
def vera(client: Client, cooking: ResearchField) -> Client:
    user = make_user("vera")
    cooking.members.add(user)
    client.force_login(user)
    return client


def read(client: Client, query: str = "") -> str:
    response = client.get(f"{PAGE}{query}")
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "?status=nonsense",
        "?order=pk",
        "?mark=x",
        "?subfield=Roasts",
        "?study=memory",
        "?kind=test&kind=",
    ],
)
def test_an_invalid_filter_is_refused(vera: Client, query: str) -> None:
    response = vera.get(f"{PAGE}{query}")
    strict = query != "?kind=test&kind="  # the last one counts, as everywhere
    assert response.status_code == (400 if strict else 200)
    assert ("memory-human-1" in response.content.decode()) is not strict


def test_a_study_is_offered_to_its_members(vera: Client, study: Study) -> None:
    assert "Used in study" in read(vera)
    assert study.title not in read(vera)
    study.members.add(User.objects.get(username="vera"))
    assert study.title in read(vera, "?study=memory")


def test_filters_are_kept_opened_and_deleted(vera: Client) -> None:
    sent = {"name": "Mine & <b>old</b>", "query": "source=machine&order=newest&page=2&evil=1"}
    place = vera.post(f"{PAGE}views/", sent)["Location"]
    assert place == f"{PAGE}?source=machine&order=newest"
    view = SavedView.objects.get()
    assert (view.query, view.user.username) == ("source=machine&order=newest", "vera")
    assert (
        '<a href="?source=machine&amp;order=newest" aria-current="page">Mine &amp; &lt;b&gt;'
        in read(vera, f"?{view.query}")
    )
    vera.post(f"{PAGE}views/", {"name": sent["name"], "query": "source=human"})
    assert SavedView.objects.get().query == "source=human"
    vera.post(f"{PAGE}views/delete/", {"name": sent["name"]})
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "", "query": "source=human"},
        {"name": "x" * 81, "query": "source=human"},
        {"name": "fine", "query": "status=nonsense"},
    ],
)
def test_a_view_needs_a_name_and_filters_of_the_list(vera: Client, sent: dict[str, str]) -> None:
    assert "was not saved" in vera.post(f"{PAGE}views/", sent, follow=True).content.decode()
    assert not SavedView.objects.exists()


def test_nobody_sees_or_deletes_what_others_keep(vera: Client, cooking: ResearchField) -> None:
    other = make_user("ada")
    cooking.members.add(other)
    theirs = SavedView.objects.create(field=cooking, user=other, name="ADAS", query="")
    assert "ADAS" not in read(vera)
    vera.post(f"{PAGE}views/delete/", {"name": "ADAS"})
    assert SavedView.objects.filter(pk=theirs.pk).exists()
