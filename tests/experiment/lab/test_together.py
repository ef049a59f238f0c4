"""A step with the test cases that are ticked in a field's list, and the way through a reviewer's queue; without a script."""

import pytest
from django.test import Client

from experiment.models import Explanation, Item
from experiment.services.curation import reviews, writing
from tests.experiment.lab.test_items import as_, page_of
from tests.experiment.services.curation.test_lifecycle import Kitchen
from tests.factories import make_item
from tests.forms import forms_of

pytestmark = pytest.mark.django_db
TOGETHER = "/lab/fields/cooking/items/together/"


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def sent(client: Client, act: str, *items: Item, **more: object) -> str:
    """With `sure`, as the page sends it that asks first."""
    data = {"act": act, "item": [item.pk for item in items], **more}
    asked = client.post(TOGETHER, {name: data[name] for name in data if name != "sure"}).text
    return client.post(TOGETHER, data | opened(asked), follow=True).text


def opened(page: str) -> dict[str, list[str]]:
    return next((form.opened for form in forms_of(page) if form.action == TOGETHER), {})


def test_all_that_are_shown_go_to_review_once_their_warnings_are_explained(
    kitchen: Kitchen,
) -> None:
    short = writing.create_draft(kitchen.field, "Rats [[slept, ran]] in boxes.", by=kitchen.ada)
    own = as_(kitchen.ada)
    shown = {"act": "submit", "shown": [kitchen.draft.pk, short.pk], "every": "on"}
    page = own.post(TOGETHER, shown | {"sure": "1"})
    assert page.status_code == 422, "a warning is not explained yet"
    fields = page.context["form"].fields
    said = {f"explain-{code}": "A short report." for code in fields}
    sure = {"sure": "1", "query": "status=draft"} | opened(page.text)
    again = own.post(TOGETHER, shown | sure | said, follow=True)
    assert again.redirect_chain[-1][0] == "/lab/fields/cooking/?status=draft"
    assert {*Item.objects.values_list("status", flat=True)} == {"in_review"}
    assert Explanation.objects.filter(text="A short report.").count() == len(fields)


def test_the_page_shows_the_texts_before_a_verdict_and_nothing_of_others_verdicts(
    kitchen: Kitchen,
) -> None:
    item = make_item("a", field="cooking", status="in_review", created_by=kitchen.ada)
    item.reviews.create(
        reviewer=kitchen.ben, verdict="refuse", text="Salt.", sha256=item.reviewed_sha256
    )
    page = sent(as_(kitchen.cleo), "accept", item, kitchen.draft)
    assert item.segments[0].text in page
    assert "Salt." not in page
    assert item.reviews.count() == 1
    sent(as_(kitchen.cleo), "accept", item, kitchen.draft, sure="1")
    assert [review.reviewer for review in item.reviews.all()] == [kitchen.ben, kitchen.cleo]


def test_test_cases_of_another_field_and_unknown_steps_are_refused(kitchen: Kitchen) -> None:
    elsewhere = make_item("b", field="neuroscience", status="in_review")
    assert "at least one" in sent(as_(kitchen.lead), "retire", elsewhere, sure="1")
    assert (
        as_(kitchen.lead).post(TOGETHER, {"act": "eat", "item": kitchen.draft.pk}).status_code
        == 404
    )


def test_a_verdict_leads_to_the_next_that_waits(kitchen: Kitchen) -> None:
    a, b = (make_item(key, field="cooking", status="in_review") for key in "ab")
    client = as_(kitchen.ben)
    verdict = {"review-verdict": "accept", "next": "1"}
    assert client.post(f"{page_of(a)}review/", verdict).headers["Location"] == page_of(b)
    assert client.post(f"{page_of(b)}review/", verdict).headers["Location"] == page_of(b)


def test_texts_that_changed_after_they_were_shown_are_left_out(kitchen: Kitchen) -> None:
    item = reviews.submit(kitchen.draft, kitchen.ada)
    other = make_item("other", field="cooking", status="in_review")
    data = {"act": "accept", "item": [item.pk, other.pk]}
    ben = as_(kitchen.ben)
    asked = ben.post(TOGETHER, data).text
    reviews.back_to_draft(item, kitchen.ada, "a word")
    new = item.markup.replace("rose", "swelled")
    writing.write_draft(item, by=kitchen.ada, markup=new)
    reviews.submit(Item.objects.get(pk=item.pk), kitchen.ada)
    told = ben.post(TOGETHER, data | {"sure": "1"} | opened(asked), follow=True).text
    assert "so nothing was done" in told
    assert "Changed by ada" in told
    assert (item.reviews.count(), other.reviews.count()) == (0, 1)
