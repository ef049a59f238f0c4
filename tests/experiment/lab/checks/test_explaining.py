"""A curator of the field explains a warning on its page."""

import pytest
from django.template.loader import render_to_string
from django.test import Client

from experiment.services.curation import remarks
from tests.factories import make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(client: Client) -> Client:
    user = make_user("ada")
    make_research_field("cooking", curators=[user])
    client.force_login(user)
    return client


def address(pk: int) -> str:
    return f"/lab/fields/cooking/items/{pk}/explain/"


def test_a_warning_is_explained(ada: Client) -> None:
    item = make_item(markup="Dough [[rose, fell]].", field="cooking", status="draft")
    ada.post(address(item.pk), {"finding": "length", "text": "Short on purpose."})
    answer = item.explanations.get()
    assert (answer.finding, answer.text, answer.by.username) == (
        "length",
        "Short on purpose.",
        "ada",
    )


def test_nothing_is_said_of_another_fields_test_case(ada: Client) -> None:
    item = make_item(markup="Dough [[rose, fell]].", field="optics", status="draft")
    answer = ada.post(address(item.pk), {"finding": "length", "text": "Hm."})
    assert answer.status_code == 404
    assert not item.explanations.exists()


def test_a_word_that_says_nothing_is_refused_on_the_page(ada: Client) -> None:
    item = make_item(markup="Dough [[rose, fell]].", field="cooking", status="draft")
    for sent in ({"finding": "length", "text": " "}, {"finding": "nonsense", "text": "x"}, {}):
        assert ada.post(address(item.pk), sent).status_code == 302
    assert not item.explanations.exists()


def test_the_part_of_the_page_shows_errors_warnings_and_words_as_text() -> None:
    field = make_research_field("cooking")
    markup = "Dough [[<b>rose</b>  ,  fell\u202e\u202e ]]. It was  <i>warm</i>."
    item = make_item(markup=markup, field="cooking", status="draft")
    remarks.explain(item, "length", "<script>x</script>", None)
    context = {"standing": remarks.standing(item), "item": item, "research_field": field}
    shown = render_to_string("lab/items/_checks.html", context)
    assert "RIGHT-TO-LEFT OVERRIDE" in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;x&lt;/script&gt;" in shown
    assert not any(tag in shown for tag in ("<script", "<b>", "<i>"))
