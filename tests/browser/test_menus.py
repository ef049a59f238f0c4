"""Menus on a phone and without scripts: nothing of them is cut off, and each opens by a tap."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from experiment.models import Study
from tests.browser.sites import account_menu
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
NARROW = {"viewport": {"width": 320, "height": 700}}


@pytest.fixture
def study() -> Study:
    make_user("boss", is_superuser=True)
    return make_study()


def is_whole(place: Locator, width: int) -> bool:
    box = place.bounding_box()
    return box is not None and box["x"] >= 0 and box["x"] + box["width"] <= width


@pytest.mark.parametrize("java_script_enabled", [True, False])
def test_on_a_phone_menus_open_by_a_tap_and_are_seen_whole(
    open_as: Callable[..., Page], study: Study, java_script_enabled: bool
) -> None:
    address = f"/lab/studies/{study.slug}/members/"
    page = open_as("boss", address, java_script_enabled=java_script_enabled, **NARROW)
    menu = page.get_by_role("navigation", name="Parts of the study")
    expect(menu.get_by_role("link", name="Export")).to_be_visible()
    assert all(is_whole(link, 320) for link in menu.get_by_role("link").all())
    privacy = page.get_by_role("link", name="Privacy")
    expect(privacy).to_be_hidden()
    page.locator(".sections summary").click()
    assert is_whole(privacy, 320)
    account_menu(page).click()
    assert is_whole(page.locator(".account-menu ul"), 320)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    if java_script_enabled:
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


def test_where_there_is_room_sections_need_no_tap(
    open_as: Callable[..., Page], study: Study
) -> None:
    page = open_as("boss", f"/lab/studies/{study.slug}/set-up/")
    page.get_by_role("link", name="Exclusion rules").click()
    page.get_by_role("link", name="Privacy").click()
    expect(page.get_by_role("link", name="Privacy")).to_have_attribute("aria-current", "page")
