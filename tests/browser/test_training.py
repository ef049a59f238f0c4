"""A researcher trains a model in the lab, watches its curves, and has it scored with one click; a worker of the site does it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from scoring.demo_lm.corpus import read_corpus
from tests.browser.accessibility import look
from tests.browser.conftest import load_demo
from tests.browser.server import SiteServer
from tests.browser.sites import WORK_MS, serving
from tests.factories import make_user

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it


def write() -> None:
    load_demo()
    make_user("boss", is_superuser=True)


@pytest.fixture
def site(tmp_path: Path, transactional_db: None) -> Iterator[SiteServer]:
    """With a corpus of the demonstration model's paragraphs."""
    papers, folder = tmp_path / "papers", tmp_path / "site"
    papers.mkdir()
    folder.mkdir()
    for n, paragraph in enumerate(read_corpus()):
        (papers / f"{n}.txt").write_text(paragraph.text)
    corpus = (f"corpus add --name onions {papers}", "corpus build --name onions")
    with serving(folder, write, *corpus, OMP_NUM_THREADS="1") as one:
        yield one


@pytest.mark.sweep
def test_a_model_is_trained_watched_and_scored(open_as: Callable[[str, str], Page]) -> None:
    page = open_as("boss", "/lab/training/")
    page.get_by_label("Name of the new model").fill("lab/onion-lm")
    page.get_by_label("Preset").select_option("tiny")
    page.get_by_text("Changes from the preset").click()
    for label, value in (
        ("Epochs", "2"),
        ("Tokens per row", "64"),
        ("Only the first N documents", "60"),
        ("Keep the weights of steps", "4, 8"),
    ):
        page.get_by_label(label).fill(value)
    look(page)
    page.get_by_role("button", name="Start training").click()
    expect(page.get_by_role("heading", name="lab/onion-lm")).to_be_visible()

    # The page follows the work by itself
    expect(page.get_by_role("heading", name="Finished")).to_be_visible(timeout=WORK_MS)
    expect(page.locator(".curve-line")).to_have_count(2)
    look(page)

    # The model, and the one that it was made of
    page.get_by_role("button", name="Score it on this study").click()
    expect(page.get_by_text("2 runs on", exact=False)).to_be_visible()
    expect(page.locator("#live-accuracies").get_by_role("link", name="onion-lm")).to_be_visible(
        timeout=WORK_MS
    )
    page.goto("/lab/training/")
    page.get_by_role("link", name="lab/onion-lm").click()
    page.get_by_role("link", name="lab/onion-lm").click()
    row = page.get_by_role("region", name="On the test").get_by_role("row").nth(1)
    expect(row).not_to_contain_text("–")  # noqa: RUF001 (neither before nor after)
    expect(page.get_by_text("nats per token before the training")).to_be_visible()
    look(page)

    # The steps that were kept
    page.get_by_role("link", name="Its training").click()
    page.get_by_role("button", name="Score the saved steps").click()
    expect(page.get_by_text("3 runs on", exact=False)).to_be_visible()
    page.goto("/lab/work/")
    expect(page.locator("#live-work")).to_contain_text("No jobs are running", timeout=WORK_MS)
    page.goto("/lab/training/")
    page.get_by_role("link", name="lab/onion-lm").click()
    expect(page.get_by_role("region", name="Steps on").get_by_role("row")).to_have_count(4)
    look(page)
    page.get_by_role("link", name="onions").click()
    expect(page.get_by_role("heading", name="Contents")).to_be_visible()
    look(page)
