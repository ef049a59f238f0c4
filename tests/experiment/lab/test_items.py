"""The page of a test case in its field, and in a study that draws from it."""

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Item, Study
from experiment.services.curation import remarks, reviews, writing
from tests.experiment.services.curation.test_lifecycle import Kitchen
from tests.factories import accepted, make_item, make_research_field, make_study, make_user
from tests.forms import Browser, PageForm, form_at, forms_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def as_(user: User) -> Browser:
    """The browser of one of them."""
    client = Browser()
    client.force_login(user)
    return client


def page_of(item: Item) -> str:
    return f"/lab/fields/cooking/items/{item.pk}/"


def shown(client: Client, item: Item) -> str:
    return client.get(page_of(item)).text


def test_others_verdicts_are_shown_after_ones_own(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    reviews.review(item, kitchen.ben, "refuse", "The methods give it away.")
    assert "give it away" in shown(as_(kitchen.ada), item)
    assert "give it away" not in shown(as_(kitchen.cleo), item)
    assert "give it away" not in shown(as_(kitchen.lead), item)
    reviews.review(item, kitchen.cleo, "accept")
    assert "give it away" in shown(as_(kitchen.cleo), item)


def test_a_verdict_after_others_were_seen_is_shown_with_the_one_before(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    for verdict in ("revise", "refuse"):
        reviews.review(item, kitchen.ben, verdict, "The salt.")
        reviews.take_back(item, kitchen.ben)
    reviews.review(item, kitchen.ben, "accept")
    reviews.review(item, kitchen.lead, "refuse", "Too long.")
    text = shown(as_(kitchen.ada), item)
    assert text.count("before seeing the other verdicts") == 1
    assert "accept (before seeing the other verdicts: revise)" in text
    item = reviews.back_to_draft(item, kitchen.ada, "a word")
    item = writing.write_draft(item, by=kitchen.ada, doi="10.1234/bread")
    reviews.review(reviews.submit(item, kitchen.ada), kitchen.ben, "accept")
    assert "before seeing the other verdicts" not in shown(as_(kitchen.ada), item)


def test_a_wrong_step_changes_nothing_and_says_so(kitchen: Kitchen) -> None:
    item = make_item(field="cooking", status="in_review", created_by=kitchen.ben)
    client = as_(kitchen.ben)
    said = client.post(f"{page_of(item)}move/", {"move": "accept"}, follow=True).text
    assert "this action is not possible" in said
    assert client.post(f"{page_of(item)}move/", {"move": "nonsense"}).status_code == 404
    item.refresh_from_db()
    assert item.status == "in_review"


def test_going_back_asks_for_a_reason_and_a_refusal_for_words(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    page = page_of(item)
    sent = {"review-verdict": "refuse", "review-text": " "}
    response = as_(kitchen.ben).post(f"{page}review/", sent)
    assert response.status_code == 422
    assert "Please give a short reason." in response.text
    assert not item.reviews.exists()
    assert as_(kitchen.ada).post(f"{page}move/", {"move": "back"}).status_code == 422
    as_(kitchen.ada).post(f"{page}move/", {"move": "back", "back-reason": "One word."})
    assert "“One word.”" in shown(as_(kitchen.ada), item)


def test_a_verdict_is_given_only_on_the_text_that_was_read(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    ben, url = as_(kitchen.ben), f"{page_of(item)}review/"
    read = form_at(ben, url)
    assert read is not None
    reviews.back_to_draft(item, kitchen.ada, "a word")
    new = item.markup.replace("rose", "swelled")
    writing.write_draft(item, by=kitchen.ada, markup=new)
    reviews.submit(Item.objects.get(pk=item.pk), kitchen.ada)
    verdict = {"review-verdict": "accept"}
    told = Client.post(ben, url, read.filled(**verdict))
    assert (told.status_code, "Changed by ada" in told.text) == (422, True)
    assert not item.reviews.exists()
    # That page shows the new text
    assert Client.post(ben, url, forms_with(told.text, url).filled(**verdict)).status_code == 302
    assert item.reviews.count() == 1


def forms_with(page: str, url: str) -> PageForm:
    return next(f for f in forms_of(page) if f.action == url and "review-text" in f.names)


def test_a_lead_retires_with_a_reason_and_sees_which_studies_have_it(kitchen: Kitchen) -> None:
    item = accepted(kitchen.draft)
    study = make_study("running", recruitment="open", title="The running study")
    study.study_items.create(item=item)
    page = f"{page_of(item)}retire/"
    assert as_(kitchen.ada).post(page, {"retire-reason": "x"}).status_code == 403
    told = shown(as_(kitchen.lead), item)
    assert "1 draft, pilot or open study has this version" in told
    assert "The running study" not in told, "whose member she is not"
    study.members.add(kitchen.lead)
    assert "The running study" in shown(as_(kitchen.lead), item)
    assert as_(kitchen.lead).post(page, {}).status_code == 422
    as_(kitchen.lead).post(page, {"retire-reason": "It is leaky."})
    item.refresh_from_db()
    assert item.status == "retired"
    assert study.items.filter(pk=item.pk).exists()
    assert "do not show it to participants" in shown(as_(kitchen.lead), item)


def test_comments_and_explanations_are_given_on_the_page(kitchen: Kitchen) -> None:
    item, client = kitchen.draft, as_(kitchen.ben)
    page = f"{page_of(item)}comments/"
    assert client.post(page, {"text": "", "quote": "dough"}).status_code == 422
    client.post(page, {"text": "Which dough?", "quote": "The dough"})
    [thread] = remarks.threads(item)
    there = f"{page}{thread.comment.pk}/"
    for sent in ({"text": "Sourdough."}, {"text": "\x00"}, {"resolve": "1"}):
        client.post(there, sent)
    text = shown(client, item)
    assert "Sourdough." in text
    assert "Resolved by ben" in text
    client.post(there, {"reopen": "1"})
    assert "Resolved by ben" not in shown(client, item)
    explained = {"finding": "length", "text": "Short on purpose."}
    short = make_item("short", markup="Dough [[rose, fell]].", field="cooking", status="draft")
    form = form_at(as_(kitchen.cleo), f"{page_of(short)}explain/")
    assert form is not None
    client.post(f"{page_of(short)}explain/", explained)
    answer = short.explanations.get()
    assert (answer.finding, answer.text, answer.by) == (*explained.values(), kitchen.ben)
    late = {"finding": "length", "text": "A teaching example."}
    said = as_(kitchen.cleo).post(f"{page_of(short)}explain/", late | form.opened, follow=True).text
    assert "is now “Short on purpose.”. Changed by ben on" in said
    assert short.explanations.get().by == kitchen.ben
    of_others = make_item("lens", markup="It [[rose, fell]].", field="optics", status="draft")
    assert client.post(f"{page_of(of_others)}explain/", explained).status_code == 404
    assert not of_others.explanations.exists()


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


def test_both_wordings_are_read_and_no_drafts_of_newer_versions(vera: Client, study: Study) -> None:
    page = vera.get(place(study)).text
    for word in ("rose", "fell"):
        assert f'<span class="wording-text">{word}</span>' in page
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
    assert there not in vera.get(place(study)).text
    research_field.members.add(User.objects.get(username="vera"))
    assert there in vera.get(place(study)).text


def test_pausing_and_resuming_ask_for_a_reason_and_are_done_once(
    vera: Client, study: Study
) -> None:
    row = study.study_items.get(item__key="memory-human-1")
    address = f"{place(study)}pause/"
    for act, is_paused in (("pause", True), ("resume", False)):
        refused = vera.post(address, {"act": act, "reason": " "})
        assert (refused.status_code, "Error:" in refused.text) == (422, True)
        for _ in range(2):  # a form that stayed open does what it said
            assert vera.post(address, {"act": act, "reason": "A leak."}).status_code == 302
            row.refresh_from_db()
            assert (row.paused_at is not None) is is_paused
    assert AuditEvent.objects.filter(study="memory", actor="vera", reason="A leak.").count() == 2
