"""A researcher with nothing but a browser: from a new site to the analysis set, which a program then downloads too."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.accessibility import look
from tests.browser.server import SiteServer
from tests.browser.sites import (
    WORK_MS,
    agree,
    figure,
    open_recruitment,
    part,
    say_who_answers_for_it,
    serving,
    sign_in,
    take_part,
)
from tests.factories import make_user, sound_text

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it

TITLE = "Which loaf is real?"


@pytest.fixture
def site(tmp_path: Path, transactional_db: None) -> Iterator[SiteServer]:
    with serving(tmp_path, lambda: make_user("boss", is_superuser=True)) as one:
        yield one


def test_a_study_from_pasted_abstracts_to_its_analysis_set_in_pages_alone(
    open_browser: Callable[[], BrowserContext], site: SiteServer
) -> None:
    page = open_browser().new_page()
    sign_in(page, "boss", "/lab/")
    expect(page.get_by_role("button", name="Load the demo")).to_be_visible()
    look(page)
    study = paste_study(page)
    dry_run(page)
    open_recruitment(page)

    # Two come, and the page that is open sees them
    part(page, "Overview")
    page.get_by_role("link", name="Real").click()
    people = [open_browser().new_page() for _ in range(2)]
    for n, person in enumerate(people, start=1):
        agree(person, f"/s/{study}/")
        expect(figure(page, "On a page now")).to_have_text(str(n))
    for number, person in enumerate(people, start=1):
        take_part(person, site, number)
    expect(figure(page, "Valid")).to_have_text("2")

    score_the_demonstration_model(page)
    read_results(page)
    assert export_analysis(page) == by_program(page, site, study)


def paste_study(page: Page) -> str:
    """Have a study of four abstracts, which is previewed at once, and give what its list asks for; its short name."""
    page.get_by_role("link", name="Paste abstracts").click()
    page.get_by_label("Field of research").fill("baking")
    page.get_by_label("Title").fill(TITLE)
    page.get_by_label("Abstracts").fill("\n\n".join(sound_text(n) for n in range(1, 5)))
    page.get_by_role("button", name="Create the study").click()
    preview = page.frame_locator("[name=preview-desktop]")
    expect(preview.get_by_text("The dough")).to_be_visible()
    expect(page).to_have_url(re.compile("preview=trial"))
    say_who_answers_for_it(page)
    return page.url.split("/studies/")[1].split("/")[0]


def dry_run(page: Page) -> None:
    part(page, "Set up", "Dry run")
    page.get_by_label("Participants who finish").fill("3")
    page.get_by_role("button", name="Start the dry run").click()
    expect(figure(page, "Finished")).to_have_text("3", timeout=WORK_MS)


def score_the_demonstration_model(page: Page) -> None:
    part(page, "Models")
    page.get_by_label("Kind of model").select_option("embedded")
    page.get_by_role("button", name="Start scoring").click()
    expect(page.get_by_role("heading", name="Finished", exact=True)).to_be_visible(timeout=WORK_MS)


def read_results(page: Page) -> None:
    page.get_by_role("link", name=TITLE).first.click()
    part(page, "Results")
    expect(page.get_by_role("region", name="in short")).to_contain_text("100.0%", timeout=WORK_MS)
    page.get_by_role("heading", name="Humans against models").click()
    expect(page.get_by_role("img").first).to_be_visible()


def export_analysis(page: Page) -> bytes:
    """The downloaded file, which holds as many rows as the page said."""
    part(page, "Export")
    page.get_by_label("Trials", exact=True).select_option("analysis")
    page.get_by_role("button", name="Show these trials").click()
    expect(page).to_have_url(re.compile("set=analysis"))
    n_rows = int(page.locator(".export-count strong").inner_text())
    with page.expect_download() as download:
        page.locator("#download").click()
    content = download.value.path().read_bytes()
    assert content.count(b"\n") == n_rows + 1 > 2
    return content


def by_program(page: Page, site: SiteServer, study: str) -> bytes:
    page.get_by_role("link", name="The same file by a program").click()
    page.get_by_label("Name").fill("a notebook")
    page.get_by_role("button", name="Create").click()
    token = page.locator("code, input").filter(has_text=re.compile("^bbl_")).first.inner_text()
    context: Any = page.context.browser
    program = context.new_context(extra_http_headers={"Authorization": f"Bearer {token}"})
    answered = program.request.get(
        f"{site.url}/api/v1/studies/{study}/trials/?set=analysis&format=csv"
    )
    assert answered.status == 200, answered.text()
    content: bytes = answered.body()
    program.close()
    return content
