"""The results page in a real browser: computed while one waits, filtered, downloaded; and accessible to all."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from experiment.models import Study
from tests.browser.accessibility import look
from tests.factories import make_participant, make_study
from tests.scoring.lab.rows import ask, finish

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("uncomputed")]
RESULTS = "/lab/studies/memory/results/"


def open_chapter(page: Page, title: str) -> None:
    page.get_by_role("heading", name=title, exact=True).click()


# All chapters at once, which a reader cannot have on the screen
UNFOLD = """() => document.querySelectorAll("details.chapter").forEach(chapter => {
  chapter.removeAttribute("name");
  chapter.open = true;
})"""


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study, kind="simulated")
    make_participant(study, kind="simulated", judgment={"correct": False, "confidence": 20})
    for n in range(2):
        finish(ask(study, f"lab/{n}"), right=5)
    return study


def test_chapters_are_opened_filtered_and_saved(open_page: Callable[..., Page]) -> None:
    page = open_page(RESULTS)
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    page.wait_for_load_state()  # the script is there
    first, second = page.locator("#models"), page.locator("#calibration")
    expect(page.locator("details.chapter[open]")).to_have_count(0)
    open_chapter(page, "Humans against models")
    expect(page).to_have_url(re.compile("#models$"))
    picture = page.get_by_alt_text("Alt of accuracy").last
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    with page.expect_download() as download:
        first.get_by_role("link", name="PDF of “Title of accuracy”").click()
    assert download.value.path().read_bytes().startswith(b"%PDF")
    open_chapter(page, "Calibration")
    expect(second).to_have_attribute("open", "")
    expect(first).not_to_have_attribute("open", "")
    expect(page).to_have_url(re.compile("#calibration$"))  # or the next address would be no other
    page.goto(f"{RESULTS}#models")  # by its address
    expect(first).to_have_attribute("open", "")
    expect(second).not_to_have_attribute("open", "")

    page.get_by_text("Shown:").click()
    page.get_by_label("All judged trials").check()
    page.get_by_label("1", exact=True).check()
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("trials=all.*models=lab%2F1"))
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    page.get_by_text("Shown:").click()
    page.get_by_role("link", name="Reset to the defaults").click()
    expect(page).to_have_url(re.compile(rf"{RESULTS}$"))

    # All of it fits and is accessible at any width
    page.goto(f"{RESULTS}?source=all&models=nobody")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    page.evaluate(UNFOLD)
    look(page)
    hint = page.get_by_text("scroll sideways").filter(visible=True)
    expect(hint).to_have_count(0)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(hint).not_to_have_count(0)
