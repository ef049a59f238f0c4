"""From the consent to the first abstract on a site in processes of its own, with the keyboard, as quickly as it goes."""

import re

from playwright.sync_api import Page, expect

from tests.browser.visitor import DOUBLE_CLICK_MS


def agree(page: Page, link: str) -> None:
    page.goto(link)
    page.locator("#agree").click()
    expect(page).to_have_url(re.compile("about-you"))


def come_to_the_first_abstract(page: Page) -> None:
    """Say nothing about oneself, practise on one side or both, and begin."""
    for name in ("gender", "country", "position"):
        field = page.locator(
            f'select[name="{name}"], input[name="{name}"][value="prefer_not_to_say"]'
        )
        if field.evaluate("node => node.tagName") == "SELECT":
            field.select_option("prefer_not_to_say")
        else:
            field.check()
    for name in ("age", "experience_years"):
        page.locator(f"#id_{name}_1").check()
    page.get_by_role("button", name="Continue").click()
    expect(page).to_have_url(re.compile("practice"))
    for side in "ab":
        if "practice" in page.url:
            expect(page.locator("#shortcuts")).to_be_visible()
            answer(page, side)
            expect(page.locator("#practice-feedback")).to_be_visible()  # of both sides
    page.wait_for_timeout(DOUBLE_CLICK_MS)
    page.get_by_role("button", name="Show the first abstract").click()


def answer(page: Page, side: str) -> None:
    page.keyboard.press(side)
    for name in ("confidence", "expertise"):
        page.locator(f"#{name}").press("End")
    page.locator("#recognised-no").check()
    page.get_by_role("button", name="Continue").click()
