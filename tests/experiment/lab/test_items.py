"""The page of a test case in its field, and in a study that draws from it."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Item, Study
from experiment.services.curation import remarks, reviews
from tests.experiment.services.curation.test_lifecycle import Kitchen
from tests.factories import accepted, make_item, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db


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


PAGE = "/lab/studies/memory/test-cases/"


@pytest.fixture
def vera(client: Client, study: Study) -> Client:
    user = make_user("vera")
    study.members.add(user, through_defaults={"role": "curator"})
    client.force_login(user)
    return client


def place(study: Study, key: str = "memory-human-1") -> str:
    return f"{PAGE}{study.items.get(key=key).pk}/"


def test_both_wordings_are_read(vera: Client, study: Study) -> None:
    shown = vera.get(place(study)).content.decode()
    assert '<span class="wording-text">rose</span>' in shown
    assert '<span class="wording-text">fell</span>' in shown


def test_drafts_of_newer_versions_are_not_read_here(vera: Client, study: Study) -> None:
    draft = make_item("memory-human-1", version=2, status="draft")
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 404
    Item.objects.filter(pk=draft.pk).update(status="accepted")
    assert vera.get(f"{PAGE}{draft.pk}/").status_code == 200


def test_members_of_the_field_are_led_to_the_page_of_the_test_case(
    vera: Client, study: Study
) -> None:
    item = study.items.get(key="memory-human-1")
    research_field = make_research_field("memory-research")
    Item.objects.filter(pk=item.pk).update(field=research_field.name)
    there = reverse("lab:item", args=[research_field.slug, item.pk])
    assert there not in vera.get(place(study)).content.decode()
    research_field.members.add(User.objects.get(username="vera"))
    assert there in vera.get(place(study)).content.decode()


def test_pausing_and_resuming_ask_for_a_reason(vera: Client, study: Study) -> None:
    row = study.study_items.get(item__key="memory-human-1")
    address = f"{place(study)}pause/"
    for act, is_paused in (("pause", True), ("resume", False)):
        refused = vera.post(address, {"act": act, "reason": " "})
        assert (refused.status_code, "Error:" in refused.content.decode()) == (422, True)
        assert vera.post(address, {"act": act, "reason": "A leak."}).status_code == 302
        row.refresh_from_db()
        assert (row.paused_at is not None) is is_paused
    assert AuditEvent.objects.filter(study="memory", actor="vera", reason="A leak.").count() == 2


def test_a_form_that_stayed_open_does_what_it_said(vera: Client, study: Study) -> None:
    address = f"{place(study)}pause/"
    for _ in range(2):  # the second time it is paused already
        vera.post(address, {"act": "pause", "reason": "A leak."})
    assert study.study_items.get(item__key="memory-human-1").paused_at is not None


def test_the_page_warns_before_participants_would_run_out(vera: Client) -> None:
    study = make_study("small", catch=2)
    study.members.add(make_user("ada"), through_defaults={"role": "curator"})
    vera.login(username="ada", password="ada")
    catch = study.items.filter(kind="catch")[0]
    shown = vera.get(f"/lab/studies/small/test-cases/{catch.pk}/pause/").content.decode()
    assert "2 catch trials a participant, but 1 such" in shown
    human = study.items.get(key="small-human-1")
    shown = vera.get(f"/lab/studies/small/test-cases/{human.pk}/pause/").content.decode()
    assert "run out" not in shown
