"""The page of tokens in a browser: nothing scrolls sideways, and a copied snippet keeps its lines."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from experiment.models import Study
from tests.browser.accessibility import faults
from tests.browser.conftest import open_page  # noqa: F401 (a fixture)
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study() -> Study:
    return make_study()


def test_a_token_is_made_and_lines_are_copied(open_page: Callable[..., Page], study: Study) -> None:  # noqa: F811
    page = open_page(
        "/lab/studies/memory/tokens/", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_label("Name").fill("laptop")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#new-token")).to_contain_text("bbl_")
    page.locator("[data-copy=snippet-pandas]").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert [line.split()[0] for line in copied.splitlines()] == ["import", "headers", "trials"]
    found = faults(page)
    page.goto("/lab/account/tokens/")
    found += faults(page)
    assert found == []
