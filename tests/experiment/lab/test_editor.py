"""The page on which a test case is written: what is saved, what is kept as it was typed, and what is refused."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiment.models import Item, ItemScratch, ResearchField
from experiment.services.curation import writing
from tests.factories import FILLER, make_research_field, make_user

pytestmark = pytest.mark.django_db
TEXT = f"{FILLER}The dough [[rose | fell]]."
HALF = f"{FILLER}The dough [[rose"
FORM = {"kind": "test", "source": "human", "note": "", "doi": "", "publication_date": ""}
JSON = {"Accept": "application/json"}
NEW = "/lab/fields/cooking/items/new/"


@pytest.fixture
def field() -> ResearchField:
    return make_research_field("cooking", "baking", curators=[make_user("ada")])


@pytest.fixture
def ada(client: Client, field: ResearchField) -> Client:
    client.force_login(field.members.get())
    return client


@pytest.fixture
def draft(field: ResearchField) -> str:
    """The address at which it is written."""
    item = writing.create_draft(field, TEXT, by=None)
    return reverse("lab:write_item", args=["cooking", item.pk])


def sent(client: Client, url: str, page: Any = None, **values: str) -> Any:
    """The answer to a page's form, sent with the hidden values that it was rendered with."""
    page = client.get(url) if page is None else page
    hidden = {"opened": opened(page), "begun": str(page.context["scratch"].uid)}
    return client.post(url, FORM | hidden | values)


def opened(page: Any) -> str:
    return str(page.context["form"].stamped)


def autosaved(client: Client, url: str, seen: str, **values: str) -> Any:
    return client.post(url, FORM | {"opened": seen} | values, headers=JSON)


def test_a_new_test_case_is_saved_as_a_draft_with_what_is_said_of_it(ada: Client) -> None:
    answer = sent(
        ada,
        NEW,
        markup=TEXT.replace("\n", "\r\n"),
        subfield="baking",
        doi="https://doi.org/10.1/x",
        publication_date="2026-02-01",
        note="one\r\ntwo",
        source="machine",
        generator="GPT-4",
    )
    item = Item.objects.get()
    assert answer.url == reverse("lab:write_item", args=["cooking", item.pk])
    assert (item.markup, item.status, item.created_by.username) == (TEXT, "draft", "ada")
    assert (item.subfield, item.doi, item.note) == ("baking", "10.1/x", "one\ntwo")
    assert str(item.publication_date) == "2026-02-01"
    page = ada.get(answer.url)
    assert page.status_code == 200
    assert b"fell" in page.content


def test_half_a_bracket_is_kept_as_it_was_typed_and_found_again(ada: Client) -> None:
    answer = sent(ada, NEW, markup=HALF, doi="10.1/half")
    assert answer.status_code == 422
    assert not Item.objects.exists()
    scratch = ItemScratch.objects.get()
    assert scratch.values["markup"] == HALF
    again = ada.get(f"{NEW}?begun={scratch.uid}")
    assert again.context["form"]["markup"].value() == HALF
    assert again.context["form"]["doi"].value() == "10.1/half"
    assert list(ada.get(NEW).context["begun"]) == [scratch]
    done = sent(ada, NEW, again, markup=TEXT)
    assert done.url.endswith(f"/{Item.objects.get().pk}/write/")
    assert not ada.get(NEW).context["begun"]
    # Over a draft it is kept beside what is stored, and can be thrown away
    assert sent(ada, done.url, markup=HALF).status_code == 422
    assert Item.objects.get().markup == TEXT
    assert ada.get(done.url).context["form"]["markup"].value() == HALF
    back = ada.post(done.url, {"discard": "1"})
    assert ada.get(back.url).context["form"]["markup"].value() == TEXT


@pytest.mark.parametrize(
    ("text", "code", "start"),
    [
        ("Rolls\r\nand [[buns are", "markup", len("Rolls\nand ")),
        (FILLER * 250, "too_many_characters", 20_000),
    ],
)
def test_an_invalid_text_is_kept_and_refused_with_the_place(
    ada: Client, text: str, code: str, start: int
) -> None:
    page = ada.post("/lab/fields/cooking/items/preview/", {"markup": text})
    assert [f.place.start for f in page.context["preview"]["findings"] if f.code == code] == [start]
    assert sent(ada, NEW, markup=text).status_code == 422
    assert ItemScratch.objects.get().values["markup"] == text


def test_autosaves_of_one_page_follow_each_other_even_where_an_answer_was_lost(
    ada: Client, field: Any
) -> None:
    page = ada.get(NEW)
    seen, begun = opened(page), str(page.context["scratch"].uid)
    mine = {"begun": begun, "window": "w1"}
    first = autosaved(ada, NEW, seen, markup="Half [[a", **mine)
    assert (first.status_code, first.json()["is_finished"]) == (200, False)
    # The page knows nothing of that answer, nor of the next one, which makes the draft
    assert autosaved(ada, NEW, seen, markup=TEXT, **mine).json()["is_finished"]
    later = TEXT.replace("fell", "sank")
    last = autosaved(ada, NEW, seen, markup=later, **mine)
    assert last.status_code == 200
    item = Item.objects.get()
    assert (item.markup, last.json()["url"]) == (
        later,
        reverse("lab:write_item", args=["cooking", item.pk]),
    )
    # Another window that has seen nothing of it is told
    other = autosaved(ada, NEW, seen, markup=TEXT, begun=begun, window="w2")
    assert other.status_code == 409
    assert "<ins>fell" in other.json()["html"]
    assert Item.objects.get().markup == later


def test_a_page_goes_on_after_somebody_else_only_where_it_has_seen_their_text(
    ada: Client, draft: str
) -> None:
    seen = opened(ada.get(draft))
    done = autosaved(ada, draft, seen, markup=f"{TEXT} More.", window="w1").json()
    theirs = f"{TEXT} Less."
    writing.write_draft(Item.objects.get(), by=None, markup=theirs, note="theirs")
    refused = autosaved(ada, draft, done["opened"], markup=f"{TEXT} Most.", window="w1")
    assert refused.status_code == 409
    assert "Note: <del>theirs</del>" in refused.json()["html"]
    # The unreadable is not kept over it either
    half = autosaved(ada, draft, done["opened"], markup=HALF, window="w1")
    assert half.status_code == 409
    assert Item.objects.get().markup == theirs
    shown = ada.post(draft, FORM | {"opened": done["opened"], "markup": f"{TEXT} Most."})
    assert (shown.status_code, shown.context["form"]["markup"].value()) == (409, f"{TEXT} Most.")
    sure = autosaved(ada, draft, half.json()["opened"], markup=f"{TEXT} Most.", window="w1")
    assert sure.status_code == 200
    assert Item.objects.get().markup == f"{TEXT} Most."
    assert theirs in [change.before.get("markup") for change in Item.objects.get().changes.all()]


def test_a_wrong_detail_is_kept_too_and_named(ada: Client, draft: str) -> None:
    seen = opened(ada.get(draft))
    answer = autosaved(ada, draft, seen, markup=TEXT, subfield="sewing").json()
    assert not answer["is_finished"]
    assert "sewing" in answer["why"]
    assert Item.objects.get().subfield == ""
    assert ItemScratch.objects.get().values["subfield"] == "sewing"


def test_a_begun_text_is_its_writers_alone_and_can_be_discarded(
    ada: Client, field: ResearchField
) -> None:
    sent(ada, NEW, markup=HALF)
    scratch = ItemScratch.objects.get()
    begun, bob = {"begun": str(scratch.uid)}, Client()
    field.members.add(make_user("bob"), through_defaults={"role": "curator"})
    bob.force_login(field.members.get(username="bob"))
    assert not bob.get(NEW).context["begun"]
    assert bob.get(NEW, begun).status_code == 404
    assert bob.post(NEW, FORM | begun | {"opened": "", "markup": "mine"}).status_code == 404
    assert bob.post(NEW, begun | {"discard": "1"}).status_code == 404
    assert ItemScratch.objects.get().values["markup"] == HALF
    assert ada.post(NEW, begun | {"discard": "1"}).url == NEW
    assert not ItemScratch.objects.exists()


def test_two_peoples_changes_of_different_fields_are_merged(ada: Client, draft: str) -> None:
    page = ada.get(draft)
    writing.write_draft(Item.objects.get(), by=None, note="theirs")
    # A page that saves by itself would not show their note: it is told
    told = autosaved(ada, draft, opened(page), markup=f"{TEXT} More.", window="w1")
    assert (told.status_code, Item.objects.get().markup) == (409, TEXT)
    answer = sent(ada, draft, page, markup=f"{TEXT} More.")
    assert answer.status_code == 302
    item = Item.objects.get()
    assert (item.markup, item.note) == (f"{TEXT} More.", "theirs")
