"""The results page in a real browser: computed while one waits, filtered, downloaded; and accessible to all."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from analysis.report.chapters.accuracy.results import Accuracy
from experiment.models import Study
from tests.analysis import results_stub as stub
from tests.browser.accessibility import faults
from tests.factories import make_participant, make_study
from tests.scoring.lab.rows import ask, finish

pytestmark = pytest.mark.django_db(transaction=True)
RESULTS = "/lab/studies/memory/results/"


@pytest.fixture(autouse=True)
def results_dir(settings: Any, tmp_path: Any) -> None:
    settings.VAR_DIR = tmp_path
    settings.JOB_EXECUTOR = "inline"


@pytest.fixture
def stubbed(monkeypatch: Any) -> None:
    """Everything there, without computing, with the longest words that may come."""
    own = stub.source().of(Accuracy)
    longest = replace(own.models[0], display_name=f"org/{'long-name-' * 12}")
    results = stub.without(stub.source(), "flips", "integration")
    results = stub.with_results(results, replace(own, models=(*own.models, longest)))
    monkeypatch.setattr(
        "analysis.report.services.make.make_report", lambda s, o, p=None: stub.report(s, o, results)
    )
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures)


def open_chapter(page: Page, title: str) -> None:
    page.get_by_role("heading", name=title, exact=True).click()


def unfold(page: Page) -> None:
    """All chapters at once, which a reader cannot have on the screen."""
    page.evaluate(
        """() => document.querySelectorAll("details.chapter").forEach(chapter => {
            chapter.removeAttribute("name");
            chapter.open = true;
        })"""
    )


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study, kind="simulated")
    make_participant(study, kind="simulated", judgment={"correct": False, "confidence": 20})
    for n in range(2):
        finish(ask(study, f"lab/{n}"), right=5)
    return study


@pytest.mark.usefixtures("stubbed")
def test_numbers_appear_by_themselves_and_can_be_filtered_and_saved(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(RESULTS)
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    open_chapter(page, "Humans against models")
    picture = page.get_by_alt_text("Alt of accuracy")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    with page.expect_download() as download:
        page.get_by_role("link", name="PDF of “Title of accuracy”").click()
    assert download.value.path().read_bytes().startswith(b"%PDF")

    page.get_by_text("Shown:").click()
    page.get_by_label("All judged trials").check()
    page.get_by_label("1", exact=True).check()
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    assert re.search(r"trials=all.*models=lab%2F1", page.url)
    page.get_by_text("Shown:").click()
    page.get_by_role("link", name="Back to the usual").click()
    # The study has no participants but simulated ones
    expect(page).to_have_url(re.compile(rf"{RESULTS}\?participants=simulated$"))


@pytest.mark.usefixtures("stubbed")
def test_the_page_fits_and_is_accessible_at_any_width(open_page: Callable[..., Page]) -> None:
    page = open_page(f"{RESULTS}?source=all&models=nobody")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    assert "\n".join(faults(page)) == ""
    unfold(page)
    assert "\n".join(faults(page)) == ""
    assert page.get_by_text("scroll sideways").filter(visible=True).count() == 0
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.get_by_text("scroll sideways").filter(visible=True).count() > 0


@pytest.mark.usefixtures("stubbed")
def test_chapters_open_one_at_a_time_and_by_their_address(open_page: Callable[..., Page]) -> None:
    page = open_page(RESULTS)
    expect(page.get_by_role("heading", name="Humans against models")).to_be_visible()
    page.wait_for_load_state()  # the script is there
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    first, second = page.locator("#models"), page.locator("#calibration")
    expect(page.locator("details.chapter[open]")).to_have_count(0)
    open_chapter(page, "Humans against models")
    expect(page).to_have_url(re.compile("#models$"))
    expect(page.get_by_alt_text("Alt of accuracy")).to_be_visible()
    open_chapter(page, "Calibration")
    expect(second).to_have_attribute("open", "")
    expect(first).not_to_have_attribute("open", "")
    assert any("figures/human_accuracy.svg" in url for url in asked)
    page.goto(f"{RESULTS}#models")
    expect(first).to_have_attribute("open", "")
    expect(second).not_to_have_attribute("open", "")
    page.reload()
    expect(page.get_by_alt_text("Alt of accuracy")).to_be_visible()
