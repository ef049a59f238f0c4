"""The page on which a test case is written: what is saved, what is kept as it was typed, and what is refused."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiment.models import Item, ItemScratch
from experiment.services.curation import writing
from tests.factories import FILLER, make_research_field, make_user

pytestmark = pytest.mark.django_db
TEXT = f"{FILLER}The dough [[rose | fell]]."
HALF = f"{FILLER}The dough [[rose"
FORM = {"kind": "test", "source": "human", "note": "", "doi": "", "publication_date": ""}
JSON = {"Accept": "application/json"}


@pytest.fixture
def ada() -> Any:
    return make_user("ada")


@pytest.fixture
def field(ada: Any) -> Any:
    return make_research_field("cooking", "baking", curators=[ada])


@pytest.fixture
def ada_client(client: Client, ada: Any, field: Any) -> Client:
    client.force_login(ada)
    return client


NEW = "/lab/fields/cooking/items/new/"


def sent(client: Client, url: str, page: Any = None, **values: str) -> Any:
    """What a page posts: with the hidden values that it was rendered with."""
    page = client.get(url) if page is None else page
    hidden = {"seen": page.context["seen"], "begun": str(page.context["scratch"].uid)}
    return client.post(url, FORM | hidden | values)


def autosaved(client: Client, url: str, seen: str, **values: str) -> Any:
    return client.post(url, FORM | {"seen": seen} | values, headers=JSON)


def test_a_new_test_case_is_saved_as_a_draft_with_what_is_said_of_it(
    ada_client: Client, ada: Any
) -> None:
    answer = sent(
        ada_client,
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
    assert (item.markup, item.status, item.created_by) == (TEXT, "draft", ada)
    assert (item.subfield, item.doi, item.note) == ("baking", "10.1/x", "one\ntwo")
    assert str(item.publication_date) == "2026-02-01"
    page = ada_client.get(answer.url)
    assert page.status_code == 200
    assert b"fell" in page.content


def test_half_a_bracket_is_kept_as_it_was_typed_and_found_again(ada_client: Client) -> None:
    answer = sent(ada_client, NEW, markup=HALF, doi="10.1/half")
    assert answer.status_code == 422
    assert not Item.objects.exists()
    assert ItemScratch.objects.get().values["markup"] == HALF
    scratch = ItemScratch.objects.get()
    again = ada_client.get(f"{NEW}?begun={scratch.uid}")
    assert again.context["form"]["markup"].value() == HALF
    assert again.context["form"]["doi"].value() == "10.1/half"
    assert list(ada_client.get(NEW).context["begun"]) == [scratch]
    done = sent(ada_client, NEW, again, markup=TEXT)
    assert done.url.endswith(f"/{Item.objects.get().pk}/write/")
    assert not ada_client.get(NEW).context["begun"]


def test_what_cannot_be_read_leaves_the_draft_as_it_was(ada_client: Client, field: Any) -> None:
    item = writing.create_draft(field, TEXT, by=None)
    url = reverse("lab:write_item", args=["cooking", item.pk])
    assert sent(ada_client, url, markup=HALF).status_code == 422
    assert Item.objects.get().markup == TEXT
    page = ada_client.get(url)
    assert page.context["form"]["markup"].value() == HALF
    back = ada_client.post(url, {"discard": "1"})
    assert ada_client.get(back.url).context["form"]["markup"].value() == TEXT


def test_the_preview_says_where_a_text_cannot_be_read(ada_client: Client) -> None:
    page = ada_client.post(
        "/lab/fields/cooking/items/preview/", {"markup": "Rolls\r\nand [[buns are"}
    )
    finding = page.context["preview"].findings[0]
    assert (finding.code, finding.place.start) == ("markup", len("Rolls\nand "))


def test_a_text_far_too_long_is_kept_and_refused_with_the_place(ada_client: Client) -> None:
    long = FILLER * 250
    assert len(long) > 100_000
    page = ada_client.post("/lab/fields/cooking/items/preview/", {"markup": long})
    [place] = [f.place for f in page.context["preview"].findings if f.code == "too_many_characters"]
    assert place.start == 20_000
    assert sent(ada_client, NEW, markup=long).status_code == 422
    assert ItemScratch.objects.get().values["markup"] == long


def test_a_page_that_was_overtaken_saves_nothing_and_shows_both(
    ada_client: Client, field: Any
) -> None:
    item = writing.create_draft(field, TEXT, by=None)
    url = reverse("lab:write_item", args=["cooking", item.pk])
    page = ada_client.get(url)
    theirs = TEXT.replace("fell", "sank")
    writing.write_draft(item, by=None, edits=0, markup=theirs)
    mine = TEXT.replace("fell", "burst")
    answer = sent(ada_client, url, page, markup=mine)
    assert answer.status_code == 409
    assert Item.objects.get().markup == theirs
    assert answer.context["form"]["markup"].value() == mine
    assert [p.text for p in answer.context["theirs"].pieces if p.kind != "same"][-2:] == [
        "sank",
        "burst",
    ]
    assert sent(ada_client, url, answer, markup=mine).status_code == 302
    assert Item.objects.get().markup == mine
    assert theirs in [change.before.get("markup") for change in item.changes.all()]


def test_autosaves_of_one_page_follow_each_other_even_where_an_answer_was_lost(
    ada_client: Client, field: Any
) -> None:
    page = ada_client.get(NEW)
    seen, begun = page.context["seen"], str(page.context["scratch"].uid)
    mine = {"begun": begun, "window": "w1"}
    first = autosaved(ada_client, NEW, seen, markup="Half [[a", **mine)
    assert (first.status_code, first.json()["is_finished"]) == (200, False)
    # The page knows nothing of that answer, nor of the next one, which makes the draft
    assert autosaved(ada_client, NEW, seen, markup=TEXT, **mine).json()["is_finished"]
    later = TEXT.replace("fell", "sank")
    last = autosaved(ada_client, NEW, seen, markup=later, **mine)
    assert last.status_code == 200
    item = Item.objects.get()
    assert (item.markup, last.json()["url"]) == (
        later,
        reverse("lab:write_item", args=["cooking", item.pk]),
    )
    # Another window that has seen nothing of it is told
    other = autosaved(ada_client, NEW, seen, markup=TEXT, begun=begun, window="w2")
    assert other.status_code == 409
    assert "<ins>fell" in other.json()["html"]
    assert Item.objects.get().markup == later


def test_a_page_goes_on_after_somebody_else_only_where_it_has_seen_their_text(
    ada_client: Client, field: Any
) -> None:
    item = writing.create_draft(field, TEXT, by=None)
    url = reverse("lab:write_item", args=["cooking", item.pk])
    seen = ada_client.get(url).context["seen"]
    done = autosaved(ada_client, url, seen, markup=f"{TEXT} More.", window="w1").json()
    theirs = f"{TEXT} Less."
    writing.write_draft(item, by=None, edits=1, markup=theirs, note="theirs")
    refused = autosaved(ada_client, url, done["seen"], markup=f"{TEXT} Most.", window="w1")
    assert refused.status_code == 409
    assert Item.objects.get().markup == theirs
    assert "Note: <del>theirs</del>" in refused.json()["html"]
    # The unreadable is not kept over it either
    half = autosaved(ada_client, url, done["seen"], markup=HALF, window="w1")
    assert half.status_code == 409
    sure = autosaved(ada_client, url, half.json()["seen"], markup=f"{TEXT} Most.", window="w1")
    assert sure.status_code == 200
    assert Item.objects.get().markup == f"{TEXT} Most."


def test_a_wrong_detail_is_kept_too_and_named(ada_client: Client, field: Any) -> None:
    item = writing.create_draft(field, TEXT, by=None)
    url = reverse("lab:write_item", args=["cooking", item.pk])
    seen = ada_client.get(url).context["seen"]
    answer = autosaved(ada_client, url, seen, markup=TEXT, subfield="sewing").json()
    assert not answer["is_finished"]
    assert "sewing" in answer["why"]
    assert Item.objects.get().subfield == ""
    assert ItemScratch.objects.get().values["subfield"] == "sewing"


def test_what_somebody_has_begun_is_theirs_alone(
    ada_client: Client, client: Client, field: Any
) -> None:
    sent(ada_client, NEW, markup=HALF)
    scratch = ItemScratch.objects.get()
    bob = make_user("bob")
    field.members.add(bob, through_defaults={"role": "curator"})
    client.force_login(bob)
    assert not client.get(NEW).context["begun"]
    assert client.get(f"{NEW}?begun={scratch.uid}").status_code == 404
    assert sent_begun(client, scratch, markup="mine").status_code == 404
    assert client.post(NEW, {"begun": str(scratch.uid), "discard": "1"}).status_code == 404
    assert ItemScratch.objects.get().values["markup"] == HALF


def sent_begun(client: Client, scratch: ItemScratch, **values: str) -> Any:
    return client.post(NEW, FORM | {"begun": str(scratch.uid), "seen": "new-"} | values)


def test_what_was_begun_can_be_thrown_away(ada_client: Client) -> None:
    sent(ada_client, NEW, markup=HALF)
    assert ada_client.post(
        NEW, {"begun": str(ItemScratch.objects.get().uid), "discard": "1"}
    ).url == (NEW)
    assert not ItemScratch.objects.exists()
