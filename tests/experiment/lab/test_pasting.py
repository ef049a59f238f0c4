"""Abstracts that are pasted into a field: drafts, which go to review in one step."""

import pytest
from django.test import Client

from experiment.models import Item
from tests.factories import make_item, make_research_field, make_user, sound_text

pytestmark = pytest.mark.django_db
PAGE = "/lab/fields/cooking/import/paste/"
TWO = f"{sound_text(1)}\n\n{sound_text(2)}"


@pytest.fixture
def ada(client: Client) -> Client:
    user = make_user("ada")
    make_research_field("cooking", curators=[user])
    client.force_login(user)
    return client


def states() -> list[str]:
    return list(Item.objects.filter(field="cooking").values_list("status", flat=True))


def test_pasted_abstracts_are_drafts_or_go_to_review_in_one_step(ada: Client) -> None:
    assert "Paste abstracts" in ada.get("/lab/fields/cooking/").text
    assert ada.get(PAGE).status_code == 200
    answer = ada.post(PAGE, {"texts": TWO}, follow=True)
    assert states() == ["draft", "draft"]
    assert "2 test cases are new" in answer.text
    # Pasted again, they are those that are there
    answer = ada.post(PAGE, {"texts": f"{TWO}\n\n{sound_text(3)}", "review": "1"}, follow=True)
    assert states() == ["in_review"] * 3
    assert "3 test cases are in review now" in answer.text


def test_texts_that_were_read_otherwise_are_shown_before_anything_is_stored(ada: Client) -> None:
    sent = {"texts": f"1. {sound_text(1)}\n\n{sound_text(2)} It was [higher, lower] then."}
    page = ada.post(PAGE, sent)
    assert page.status_code == 200
    assert states() == []
    for said in ("2 abstracts", "list number “1.”", "[[higher, lower]]", "Nothing is stored yet"):
        assert said in page.text, said
    shown = sent | {"shown": page.context["form"].fingerprint, "review": "1"}
    # A warning is explained first, once for all texts that have it
    page = ada.post(PAGE, shown)
    assert states() == ["draft", "draft"]
    assert "Explain each kind of warning once" in page.text


def test_a_change_of_a_text_that_is_there_is_shown_first(ada: Client) -> None:
    make_item("a", field="cooking", status="draft", markup=sound_text(1))
    other = sound_text(1).replace("]]", "s]]", 1)
    page = ada.post(PAGE, {"texts": other})
    assert "Nothing is stored yet" in page.text
    assert Item.objects.get().markup == sound_text(1)


def test_a_problem_is_reported_of_its_abstract(ada: Client) -> None:
    page = ada.post(PAGE, {"texts": f"{TWO}\n\nNothing differs here."})
    assert page.status_code == 422
    assert "Abstract 3: no [[original, altered]] in the text" in page.text
    assert states() == []
