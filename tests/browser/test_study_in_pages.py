"""A researcher with nothing but a browser: from a new site to the analysis set, which a program then downloads too."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.server import SiteServer
from tests.browser.sites import (
    WORK_MS,
    agree,
    figure,
    from_account_menu,
    name_study,
    open_recruitment,
    part,
    say_who_answers_for_it,
    serving,
    take_part,
)

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it

PASSWORD = "quiet-lamps-over-the-bay"
HUMAN, MACHINE = 8, 4  # test cases of the study


@pytest.fixture
def site(tmp_path: Path, shared_dir: Path, transactional_db: None) -> Iterator[SiteServer]:
    """With the published data to import."""
    with serving(tmp_path, IMPORTS_DIR=str(shared_dir)) as one:
        yield one


def test_a_study_from_the_preset_to_its_analysis_set_in_pages_alone(
    open_browser: Callable[[], BrowserContext], site: SiteServer, tmp_path: Path
) -> None:
    page = open_browser().new_page()
    come_in(page, json.loads(site.manage("create_admin", "--json"))["url"])
    import_published(page)
    study = make_study(page)
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
    downloaded = export_analysis(page, tmp_path)
    assert downloaded == by_program(page, site, study)
    assert downloaded == by_command(site, study, tmp_path)


def come_in(page: Page, link: str) -> None:
    page.goto(link)
    for field in page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    page.get_by_role("button").filter(has_not_text="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Studies")


def import_published(page: Page) -> None:
    from_account_menu(page, "Import published data")
    page.get_by_text("From a folder of the server").click()
    page.get_by_role("button", name="Start the import").click()
    expect(page.get_by_role("link", name="See the study")).to_be_visible(timeout=WORK_MS)


def make_study(page: Page) -> str:
    """From the preset, with a dozen test cases and all that the list of what is missing asks for; its short name."""
    slug = name_study(page, "Which neuroscience result is real?")
    page.locator('a[href$="/set-up/items/"]').first.click()
    page.get_by_text("List all").click()
    keys = page.locator("table.plain tbody th").all_inner_texts()
    chosen = [k for k in keys if "human" in k][:HUMAN] + [k for k in keys if "machine" in k][
        :MACHINE
    ]
    page.locator("#id_keys").fill("\n".join(key.split()[0] for key in chosen))
    page.get_by_role("button", name="Use these test cases").click()
    expect(figure(page, "Human-created").first).to_have_text(str(HUMAN))
    say_who_answers_for_it(page)
    return slug


def dry_run(page: Page) -> None:
    part(page, "Set up", "Dry run")
    page.get_by_label("Participants who finish").fill("12")
    page.get_by_role("button", name="Start the dry run").click()
    expect(figure(page, "Finished")).to_have_text("12", timeout=WORK_MS)


def score_the_demonstration_model(page: Page) -> None:
    part(page, "Models")
    page.get_by_label("Kind of model").select_option("embedded")
    page.get_by_role("button", name="Start scoring").click()
    expect(page.get_by_role("heading", name="Finished", exact=True)).to_be_visible(timeout=WORK_MS)


def read_results(page: Page) -> None:
    page.get_by_role("link", name="Which neuroscience result is real?").first.click()
    part(page, "Results")
    expect(page.get_by_role("region", name="in short")).to_contain_text("100.0%", timeout=WORK_MS)
    page.get_by_role("heading", name="Humans against models").click()
    expect(page.get_by_role("img").first).to_be_visible()


def export_analysis(page: Page, folder: Path) -> bytes:
    """The downloaded file, which holds as many rows as the page said."""
    part(page, "Export")
    page.get_by_label("Trials", exact=True).select_option("analysis")
    page.get_by_role("button", name="Show these trials").click()
    n_rows = int(page.locator(".export-count strong").inner_text())
    with page.expect_download() as download:
        page.locator("#download").click()
    path = folder / "downloaded.csv"
    download.value.save_as(path)
    content = path.read_bytes()
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


def by_command(site: SiteServer, study: str, folder: Path) -> bytes:
    path = folder / "by-command.csv"
    site.manage(
        "export_trials", study, "--set", "analysis", "--format", "csv", "--output", str(path)
    )
    return path.read_bytes()
