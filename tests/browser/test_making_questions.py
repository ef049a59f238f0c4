"""Questions come from a file and from a template, in a browser; each page on the way is accessible and fits a phone."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from experiment.models import Item, Study
from tests.browser.accessibility import faults
from tests.factories import make_question, make_research_field, make_study

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = "key,question,answer,topic_category\n" + "".join(
    f"q-{n},What is {'a very long name of a substance ' * n}?,<b>A metal</b> {n}.,Metals; Acids\n"
    for n in range(1, 5)
)
TABLE = "name,n\n" + "".join(f"e{n},{n % 4}\n" for n in range(12))


def upload(page: Page, name: str, text: str) -> None:
    page.set_input_files(
        "input[type=file]", {"name": name, "mimeType": "text/csv", "buffer": text.encode()}
    )


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=re.compile(name)).click()


@pytest.fixture
def study() -> Study:
    return make_study()


def test_questions_from_a_file_and_from_a_template(open_page: Callable[..., Page]) -> None:
    ruth = User.objects.get(username="ruth")
    make_research_field("matter", lead=ruth)
    make_question("q-1", field="matter", markup="What is it?")
    page = open_page("/lab/fields/matter/questions/import/")
    upload(page, "questions.csv", ROWS)
    press(page, "Show the difference")
    found = faults(page)
    page.get_by_role("link", name="1 changed").click()
    found += faults(page)
    press(page, "Import 4 questions")
    expect(page.get_by_text("3 questions are new, 1 is changed.")).to_be_visible()
    found += faults(page)
    page.get_by_role("link", name="q-2 v1").click()
    expect(page.locator("#item-text").get_by_text("<b>A metal</b> 2.")).to_be_visible()
    found += faults(page)

    page.goto("/lab/fields/matter/questions/templates/new/")
    page.get_by_role("textbox", name="Key").fill("counts")
    page.get_by_role("textbox", name="Question").fill("How many has {{ name }}?")
    page.get_by_label("Where").first.fill("n > 1")
    page.get_by_label("Answer").first.fill("{{ name }} has {{ n }}.")
    found += faults(page)
    press(page, "Save")
    upload(page, "table.csv", TABLE)
    press(page, "Show what it makes")
    page.get_by_label("How many").fill("4")
    page.get_by_label("Spread evenly over").fill("n")
    press(page, "^Show$")
    expect(page.get_by_text("12 rows make 6 pairs, of which 4 are drawn")).to_be_visible()
    found += faults(page)
    press(page, "Make 4 questions")
    expect(page.get_by_text("4 questions are new")).to_be_visible()
    assert found == []
    assert Item.objects.filter(template__key="counts").count() == 4
