"""The page of a version: what each person is shown and may do there."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client

from experiment.models import Item
from experiment.services.curation import remarks, reviews, writing
from tests.experiment.services.curation.test_lifecycle import TEXT, Kitchen
from tests.factories import accepted, make_item, make_study

pytestmark = pytest.mark.django_db
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea><svg onload=alert(1)>",
    "{{ request }}{% now 'Y' %}",
    "\u202eevil\u200b",
)


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


@pytest.fixture
def as_(client: Client) -> Callable[[User], Client]:
    def sign_in(user: User) -> Client:
        client.force_login(user)
        return client

    return sign_in


def page_of(item: Item) -> str:
    return f"/lab/fields/cooking/items/{item.pk}/"


def shown(client: Client, item: Item) -> str:
    return client.get(page_of(item)).content.decode()


As = Callable[[User], Client]


def test_a_draft_goes_to_review_and_two_others_accept_it(kitchen: Kitchen, as_: As) -> None:
    item, page = kitchen.draft, page_of(kitchen.draft)
    assert "Send to review" in shown(as_(kitchen.ada), item)
    as_(kitchen.ada).post(f"{page}move/", {"move": "submit"})
    assert "Give my verdict" not in shown(as_(kitchen.ada), item)
    for user in (kitchen.ben, kitchen.cleo):
        assert "Give my verdict" in shown(as_(user), item)
        as_(user).post(f"{page}review/", {"review-verdict": "accept", "review-text": "Good."})
    item.refresh_from_db()
    assert (item.status, item.accepted_by) == ("accepted", 2)
    text = shown(as_(kitchen.ada), item)
    assert "Accepted by 2 people who did not write it" in text
    assert "Start a new version" in text
    assert "Send to review" not in text


def test_others_verdicts_are_shown_after_ones_own(kitchen: Kitchen, as_: As) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    reviews.review(item, kitchen.ben, "refuse", "The methods give it away.")
    assert "give it away" in shown(as_(kitchen.ada), item)
    assert "give it away" not in shown(as_(kitchen.cleo), item)
    assert "give it away" not in shown(as_(kitchen.lead), item)
    reviews.review(item, kitchen.cleo, "accept")
    assert "give it away" in shown(as_(kitchen.cleo), item)


def test_a_refusal_without_words_is_asked_for_them(kitchen: Kitchen, as_: As) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    sent = {"review-verdict": "refuse", "review-text": " "}
    response = as_(kitchen.ben).post(f"{page_of(item)}review/", sent)
    assert response.status_code == 422
    assert "Say why in a few words." in response.content.decode()
    assert not item.reviews.exists()


def test_the_writer_alone_accepts_where_the_field_allows_it_and_the_page_says_so(
    kitchen: Kitchen, as_: As
) -> None:
    kitchen.field.reviews_needed = 0
    kitchen.field.save()
    item, page = kitchen.draft, page_of(kitchen.draft)
    as_(kitchen.ada).post(f"{page}move/", {"move": "submit"})
    assert "Accept it alone" in shown(as_(kitchen.ada), item)
    as_(kitchen.ada).post(f"{page}move/", {"move": "accept"})
    assert "Accepted by its writer alone, as this field allows" in shown(as_(kitchen.ada), item)


@pytest.mark.parametrize("status", ["draft", "in_review", "accepted", "retired"])
def test_a_wrong_step_changes_nothing_and_says_so(kitchen: Kitchen, as_: As, status: str) -> None:
    item = make_item(field="cooking", status=status, created_by=kitchen.ben)
    wrong = {
        "draft": {"move": "accept"},
        "in_review": {"move": "accept"},
        "accepted": {"move": "submit"},
        "retired": {"move": "submit"},
    }[status]
    client = as_(kitchen.ben)
    said = client.post(f"{page_of(item)}move/", wrong, follow=True).content.decode()
    assert "you cannot do this with it" in said
    assert client.post(f"{page_of(item)}move/", {"move": "nonsense"}).status_code == 404
    item.refresh_from_db()
    assert item.status == status


def test_back_to_draft_asks_for_a_reason(kitchen: Kitchen, as_: As) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    page = f"{page_of(item)}move/"
    assert as_(kitchen.ada).post(page, {"move": "back"}).status_code == 422
    as_(kitchen.ada).post(page, {"move": "back", "back-reason": "One word."})
    assert "“One word.”" in shown(as_(kitchen.ada), item)


def test_a_lead_retires_with_a_reason_and_sees_which_studies_have_it(
    kitchen: Kitchen, as_: As
) -> None:
    item = accepted(kitchen.draft)
    study = make_study("running", recruitment="open", title="The running study")
    study.study_items.create(item=item)
    page = f"{page_of(item)}retire/"
    assert as_(kitchen.ada).post(page, {"retire-reason": "x"}).status_code == 403
    told = shown(as_(kitchen.lead), item)
    assert "1 study that is not closed has this version" in told
    assert "The running study" not in told, "whose member she is not"
    study.members.add(kitchen.lead)
    assert "The running study" in shown(as_(kitchen.lead), item)
    assert as_(kitchen.lead).post(page, {}).status_code == 422
    as_(kitchen.lead).post(page, {"retire-reason": "It is leaky."})
    item.refresh_from_db()
    assert item.status == "retired"
    assert study.items.filter(pk=item.pk).exists()
    assert "give it to nobody" in shown(as_(kitchen.lead), item)


def test_an_edit_of_an_accepted_one_is_a_new_version_and_both_say_which_is_used(
    kitchen: Kitchen, as_: As
) -> None:
    first = accepted(kitchen.draft)
    place = as_(kitchen.ben).post(f"{page_of(first)}move/", {"move": "revise"})["Location"]
    second = Item.objects.get(version=2)
    assert place == f"{page_of(second)}write/"
    accepted(second)
    assert "Version 2 is accepted too" in shown(as_(kitchen.ada), first)
    assert "This version is what studies get" in shown(as_(kitchen.ada), second)


def test_comments_are_made_answered_and_resolved(kitchen: Kitchen, as_: As) -> None:
    item, client = kitchen.draft, as_(kitchen.ben)
    page = f"{page_of(item)}comments/"
    assert client.post(page, {"text": "", "quote": "dough"}).status_code == 422
    client.post(page, {"text": "Which dough?", "quote": "The dough"})
    [thread] = remarks.threads(item)
    there = f"{page}{thread.comment.pk}/"
    client.post(there, {"text": "Sourdough."})
    client.post(there, {"text": "\x00"})
    client.post(there, {"resolve": "1"})
    text = shown(client, item)
    assert "Sourdough." in text
    assert "Resolved by ben" in text
    client.post(there, {"reopen": "1"})
    assert "Resolved by ben" not in shown(client, item)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_words_are_shown_as_words(kitchen: Kitchen, as_: As, hostile: str) -> None:
    markup = TEXT.replace("rose early, fell", f"rose {hostile} | fell")
    markup = markup if "{" not in hostile else TEXT
    item = writing.write_draft(
        kitchen.draft, by=kitchen.ada, edits=0, markup=f"{markup} It was warm.", note=hostile
    )
    Item.objects.filter(pk=item.pk).update(status="in_review")
    remarks.answer(remarks.add_comment(item, kitchen.ada, hostile, hostile), kitchen.ada, hostile)
    reviews.review(item, kitchen.ben, "revise", hostile)
    reviews.back_to_draft(item, kitchen.ada, hostile)
    text = shown(as_(kitchen.ada), item)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "<svg onload" not in text
    assert "&lt;" in text or hostile[0] in "{\u202e"
    assert (
        hostile.split()[0].replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;") in text
    )


def test_a_stranger_finds_no_page(kitchen: Kitchen, as_: As) -> None:
    stranger = User.objects.create_user("stranger")
    assert as_(stranger).get(page_of(kitchen.draft)).status_code == 404
    make_item("elsewhere", field="sewing")
    elsewhere = Item.objects.get(key="elsewhere")
    assert as_(kitchen.lead).get(page_of(elsewhere)).status_code == 404
