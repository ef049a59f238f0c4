"""The pages of the lab as a researcher uses them, and a participant's way through a study on a site of its own."""

import re
import sqlite3
from itertools import count

from playwright.sync_api import Locator, Page, expect

from tests.browser.first_pages import answer, come_to_the_first_abstract
from tests.browser.server import SiteServer
from tests.browser.visitor import DOUBLE_CLICK_MS, SKIP

WORK_MS = 300_000  # the worker's, on a slow machine
READ_MS = 20_000


def sign_in(page: Page, name: str, address: str) -> None:
    """To a page, as somebody whose password is the name."""
    page.goto(address)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(name)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def part(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Parts of the study").get_by_text(name, exact=True).click()


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures div").filter(has_text=name).locator("dd")


def name_study(page: Page, title: str) -> str:
    """A new study from the preset; returns its short name."""
    page.get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Make the study").click()
    expect(page).to_have_url(re.compile("/studies/[-a-z]+/set-up/"))
    return page.url.split("/studies/")[1].split("/")[0]  # it is made of the title


def say_who_answers_for_it(page: Page) -> None:
    """The contact and the ethics approval, after which nothing is missing."""
    page.get_by_role("link", name="General").click()
    page.get_by_label("Contact", exact=True).fill("lab@example.org")
    page.get_by_label("Number of the ethics approval").fill("2026/7")
    page.get_by_label("Who approved").fill("The board")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".finding-blocking")).to_have_count(0)


def open_recruitment(page: Page) -> None:
    part(page, "Recruitment")
    page.get_by_label("Open", exact=True).check()
    page.get_by_role("button", name="Change recruitment").click()
    expect(page.locator(".state")).to_have_text("open")


def take_part(page: Page, site: SiteServer, number: int) -> None:
    """From the questions about oneself through all pages, with every answer right; a participant reads for some time."""
    come_to_the_first_abstract(page)
    for position in count(1):
        expect(page).to_have_url(re.compile(f"/(trial/{position}|debrief)/"))
        if "debrief" in page.url:
            break
        expect(page.locator("#shortcuts")).to_be_visible()
        page.evaluate(SKIP, READ_MS)
        answer(page, right_side(site, number, position))
    page.wait_for_timeout(DOUBLE_CLICK_MS)
    page.get_by_role("button", name="Finish").click()
    expect(page).to_have_url(re.compile("done"))


def right_side(site: SiteServer, number: int, position: int) -> str:
    """Read beside the server: the page does not say it."""
    with sqlite3.connect(site.database) as database:
        [[side]] = database.execute(
            "SELECT original_side FROM experiment_trial WHERE position = ? AND participant_id = "
            "(SELECT id FROM experiment_participant WHERE kind = 'real' ORDER BY id LIMIT 1 OFFSET ?)",
            [position, number - 1],
        )
    database.close()
    return str(side).lower()
