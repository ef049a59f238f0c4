"""Somebody is invited, makes an account, sets codes up and signs in with one; each page on the way is accessible."""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from django_otp.plugins.otp_totp.models import TOTPDevice
from playwright.sync_api import BrowserContext, Page, expect

from experiment.models import Study
from tests.browser.accessibility import look
from tests.browser.sites import from_account_menu
from tests.experiment.lab.members.codes import shown_by_app
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "seven grey herons"


@pytest.fixture
def study() -> Study:
    return make_study()


def fill(page: Page, **fields: str) -> None:
    for label, text in fields.items():
        page.get_by_label(re.compile(f"^{label.replace('_', ' ')}:?$")).fill(text)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()


def test_from_an_invitation_to_signing_in_with_a_code(
    open_page: Callable[..., Page], open_browser: Callable[..., BrowserContext], study: Study
) -> None:
    ruths = open_page("/lab/studies/memory/members/")
    fill(ruths, For_whom="Ann")
    ruths.get_by_label("auditor").check()
    press(ruths, "Create a link")
    look(ruths)
    link = urlsplit(ruths.locator("#invitation-link").inner_text()).path

    page = open_browser().new_page()
    page.goto(link)
    look(page)
    fill(page, Username="ann", Password=PASSWORD, Password_confirmation=PASSWORD)
    press(page, "Create the account and join")
    expect(page.get_by_role("link", name=study.title)).to_be_visible()

    from_account_menu(page, "Password, codes and tokens")
    page.get_by_role("link", name="Set up codes").click()
    picture = page.get_by_role("img", name="QR code")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    device = TOTPDevice.objects.get(user__username="ann")
    fill(page, Code=shown_by_app(device))
    press(page, "Switch codes on")
    expect(page.get_by_role("heading", name="Your recovery codes")).to_be_visible()
    look(page)
    page.get_by_role("link", name="I have saved them").click()
    from_account_menu(page, "Password, codes and tokens")
    expect(page.get_by_text("10 recovery codes are left")).to_be_visible()
    look(page)

    from_account_menu(page, "Sign out")
    page.goto("/lab/studies/memory/trail/")
    fill(page, Username="ann", Password=PASSWORD)
    press(page, "Sign in")
    look(page)
    fill(page, Code=shown_by_app(device))
    press(page, "Sign in")
    press(page, "Check these events")
    expect(page.get_by_text("No event of this study was changed")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="accepted an invitation")).to_have_count(1)
    page.goto(link)
    look(page)
