"""A site as it runs for a lab, in processes of its own; and its pages as a participant, a researcher and curators use them."""

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from django.contrib.auth.models import Permission
from django.test import override_settings
from playwright.sync_api import Locator, Page, expect

from config import settings as site_settings
from tests import databases
from tests.browser.server import SiteServer
from tests.browser.visitor import DOUBLE_CLICK_MS, SKIP
from tests.factories import make_research_field, make_user


@contextmanager
def serving(
    folder: Path, write: Callable[[], None] = lambda: None, *commands: str, **more: str
) -> Iterator[SiteServer]:
    """The site and its worker, as `make serve` starts them, on a copy of the test's database.

    `write` writes into it first, which takes less than a command of the site; `commands` are run before it starts.
    """
    one = SiteServer(folder, with_worker=True, **more)
    with override_settings(PASSWORD_HASHERS=site_settings.PASSWORD_HASHERS):
        write()
    databases.copy_to(one.database)
    for command in commands:
        one.manage(*command.split())
    one.start()
    try:
        yield one
    finally:
        one.kill()


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
            expect(page.locator("#shortcuts:not([hidden])")).to_be_attached()
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


WORK_MS = 300_000  # the worker's, on a slow machine
READ_MS = 20_000


def sign_in(page: Page, name: str, address: str) -> None:
    """To a page, as somebody whose password is the name."""
    page.goto(address)
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(name)
    page.get_by_role("button", name="Sign in").click()
    expect(account_menu(page)).to_be_visible()


def account_menu(page: Page) -> Locator:
    return page.locator(".account-menu > summary")


def from_account_menu(page: Page, name: str) -> None:
    account_menu(page).click()
    page.locator(".account-menu").get_by_text(name, exact=True).click()


def part(page: Page, name: str, section: str = "") -> None:
    """By the menu of a study."""
    menu = page.get_by_role("navigation", name="Parts of the study")
    menu.get_by_text(name, exact=True).click()
    if section:
        sections = page.get_by_role("navigation", name=name, exact=True)
        sections.get_by_role("link", name=section, exact=True).click()


def figure(page: Page, name: str) -> Locator:
    return page.locator(".figures div").filter(has_text=name).locator("dd")


def name_study(page: Page, title: str) -> str:
    """A new study from the preset; returns its short name."""
    page.get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Title").fill(title)
    page.get_by_role("button", name="Create the study").click()
    expect(page).to_have_url(re.compile("/studies/[-a-z]+/set-up/"))
    return page.url.split("/studies/")[1].split("/")[0]  # it is made of the title


def say_who_answers_for_it(page: Page) -> None:
    """The contact and the ethics approval, after which nothing is missing."""
    page.get_by_role("link", name="General").click()
    page.get_by_label("Contact", exact=True).fill("lab@example.org")
    page.get_by_label("Number of the ethics approval").fill("2026/7")
    page.get_by_label("Ethics committee", exact=True).fill("The board")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Before it opens").click()
    expect(page.locator(".finding-blocking")).to_have_count(0)


def open_recruitment(page: Page) -> None:
    part(page, "Set up", "Recruitment")
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
        expect(page.locator("#shortcuts:not([hidden])")).to_be_attached()
        page.evaluate(SKIP, READ_MS)
        read_on_the_server(site)
        answer(page, right_side(site, number, position))
    page.wait_for_timeout(DOUBLE_CLICK_MS)
    page.get_by_role("button", name="Finish").click()
    expect(page).to_have_url(re.compile("done"))


def read_on_the_server(site: SiteServer) -> None:
    """Its clock went on too: every trial that is open was shown a while ago."""
    with sqlite3.connect(site.database, timeout=30) as database:
        database.execute(
            "UPDATE experiment_trial SET shown_at = datetime(shown_at, ?) WHERE shown_at IS NOT NULL "
            "AND id NOT IN (SELECT trial_id FROM experiment_judgment)",
            [f"-{READ_MS // 1000} seconds"],
        )
    database.close()


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


def cooking() -> None:
    """A field with a lead who may make studies and three curators."""
    lead, *curators = [make_user(name) for name in ("lena", "ada", "ben", "cleo")]
    make_research_field("cooking", "Vegetables", "Baking", lead=lead, curators=curators)
    lead.user_permissions.add(Permission.objects.get(codename="add_study"))


SELECT = """(field, [words, length]) => {
  const start = field.value.indexOf(words);
  field.focus();
  field.setSelectionRange(start, start + (length ?? words.length));
}"""
PASTE = """(field, text) => {
  field.focus();
  document.execCommand("insertText", false, text);
}"""


def text_of(page: Page) -> Locator:
    return page.get_by_label("Abstract")


def select(page: Page, words: str, length: int | None = None) -> None:
    text_of(page).evaluate(SELECT, [words, length])


def change(page: Page, words: str, altered: str) -> None:
    select(page, words)
    page.keyboard.press("Control+e")
    expect(page.get_by_label("Wording of the altered version")).to_have_value(words)
    page.keyboard.type(altered)
    page.keyboard.press("Enter")


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_contain_text("Saved")


def send_to_review(page: Page) -> None:
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("in review").first).to_be_visible()


def accept(page: Page) -> None:
    page.get_by_label("Accept", exact=True).check()
    page.get_by_role("button", name="Give my verdict").click()
    expect(page.get_by_role("button", name="Give my verdict")).to_have_count(0)


def let_two_accept(open_as: Callable[[str, str], Page], names: tuple[str, str], path: str) -> Page:
    """Two people accept it, each in a browser of their own; returns the page as the second sees it then."""
    for name in names:
        page = open_as(name, path)
        accept(page)
    expect(page.get_by_text("Accepted by 2 people who did not write it")).to_be_visible()
    return page
