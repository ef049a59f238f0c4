"""Two people save one form, and the second one sees both values on a desktop and a phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from experiment.models import Study
from tests.browser.accessibility import look
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}
PAGE = "/lab/studies/memory/set-up/"


@pytest.fixture
def study() -> Study:
    return make_study()


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_a_conflict_is_read_and_settled_with_one_click(
    open_page: Callable[..., Page],
    open_as: Callable[..., Page],
    study: Study,
    screen: dict[str, object],
) -> None:
    make_user("ben", study)
    mine = open_page(f"{PAGE}general/", **screen)
    theirs = open_as("ben", f"{PAGE}general/")
    theirs.get_by_label("Title").fill("Forests and what they remember")
    save(theirs)
    mine.get_by_label("Title").fill("Woods " * 20)
    mine.get_by_label("Field").fill("ecology")
    save(mine)
    told = mine.get_by_role("alert").filter(has_text="Others have changed this")
    expect(told).to_contain_text("Forests and what they remember")
    expect(told).to_contain_text("Changed by ben on")
    expect(mine.get_by_label("Title", exact=True)).to_have_value("Woods " * 20)
    look(mine)
    mine.get_by_label("As it is now").check()
    save(mine)
    expect(mine.get_by_text("Saved.")).to_be_visible()
    study.refresh_from_db()
    assert (study.title, study.field) == ("Forests and what they remember", "ecology")
