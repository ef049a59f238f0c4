"""The three ways from an empty site to something to look at, in a browser and without a shell."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import look
from tests.browser.server import SiteServer
from tests.browser.sites import WORK_MS, figure, from_account_menu, serving
from tests.experiment.imports.small_copy import SmallCopy
from tests.factories import make_user, sound_text

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it


@pytest.fixture
def site(tmp_path: Path, transactional_db: None) -> Iterator[SiteServer]:
    with serving(tmp_path, lambda: make_user("boss", is_superuser=True)) as one:
        yield one


def test_the_demo_the_published_study_and_ones_own(
    open_as: Callable[..., Page], site: SiteServer, tmp_path: Path
) -> None:
    page = open_as("boss", "/lab/")
    expect(page.get_by_role("link", name="Import the published data")).to_be_visible()
    expect(page.get_by_role("link", name="Paste abstracts")).to_be_visible()
    look(page)
    page.get_by_role("button", name="Load the demo").click()
    expect(figure(page, "Finished")).to_have_text("12", timeout=WORK_MS)

    from_account_menu(page, "Import published data")
    page.get_by_label("ZIP").set_input_files(published(tmp_path / "copy"))
    page.get_by_role("button", name="Upload and import").click()
    expect(page.get_by_role("link", name="See its results")).to_be_visible(timeout=WORK_MS)
    look(page)

    page.get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="New study").click()
    page.get_by_role("link", name="paste them").click()
    look(page)
    page.get_by_label("Field of research").fill("baking")
    page.get_by_label("Abstracts").fill("\n\n".join(sound_text(n) for n in range(1, 11)))
    page.get_by_role("button", name="Create the study").click()
    preview = page.frame_locator("[name=preview-desktop]")
    expect(preview.get_by_text("The dough")).to_be_visible()
    expect(page).to_have_url(re.compile("preview=trial"))


def published(folder: Path) -> Any:
    """A ZIP of a small copy, as a browser sends it."""
    SmallCopy(folder).write()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for path in folder.rglob("*.*"):
            archive.write(path, f"results-main/{path.relative_to(folder)}")
    return {"name": "results.zip", "mimeType": "application/zip", "buffer": file.getvalue()}
