"""A model is asked on a study's page, its answers are watched, and results and files say what it chose."""

import csv
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from experiment.models import Study
from lib.jobs import worker
from tests.browser.accessibility import look
from tests.browser.sites import WORK_MS, part
from tests.factories import make_participant, make_study
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.lab.rows import ask, finish

pytestmark = pytest.mark.django_db(transaction=True)
SLUG = "memory"


def work_off() -> None:
    """Do what waits in the test's own database, as a worker would."""
    while (job := worker.next_job()) is not None:
        worker.do(job)


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    """A model that knows the original half of the time, and says A else."""

    def reply(request: dict[str, list[dict[str, str]]]) -> str:
        case = request["messages"][0]["content"]
        knows = "human" in case
        is_a = "rose" in case.split("Version B:")[0]
        return f'{{"side": "{"A" if is_a or not knows else "B"}", "confidence": 80}}'

    with ChatStub(reply) as stub:  # type: ignore[arg-type]
        yield stub


@pytest.fixture
def study() -> Study:
    study = make_study(SLUG, human=8, machine=4)
    for correct in (True, False):
        make_participant(study, kind="simulated", judgment={"correct": correct, "confidence": 60})
    finish(ask(study, MODEL), right=5)  # the same model by perplexity
    return study


def test_from_the_form_to_the_chapter_and_the_file(
    open_page: Callable[..., Page], study: Study, stub: ChatStub
) -> None:
    page = open_page(f"/lab/studies/{SLUG}/")
    part(page, "Models", "Choices")
    look(page)
    page.get_by_label("Model", exact=True).fill(MODEL)
    page.get_by_label("Address of the server").fill(stub.url)
    page.get_by_role("button", name="Forecast").click()
    expect(page.get_by_text("This takes 24 requests")).to_be_visible()
    page.get_by_role("button", name="Ask the model").click()
    expect(page.get_by_text("Waiting for the worker")).to_be_visible()
    work_off()
    expect(page.get_by_text("83.3% of 12 judged test cases")).to_be_visible(timeout=WORK_MS)
    look(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="All answers of this run as CSV").click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert len(rows) == 24
    assert {row["side"] for row in rows if "machine" in row["item_key"]} == {"A"}

    page.goto(f"/lab/studies/{SLUG}/results/?kind=simulated")
    work_off()
    chapter = page.locator("#asked")
    expect(chapter).to_be_visible(timeout=WORK_MS)
    chapter.get_by_role("heading").first.click()
    # The report has this model scored, too
    expect(chapter.get_by_text(f"{MODEL} (asked)").first).to_be_visible()
    look(page)
