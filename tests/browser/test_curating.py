"""From an abstract to results: written or drafted, accepted by two people, judged by a participant; in pages alone."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser import sites
from tests.browser.sites import (
    WORK_MS,
    SiteServer,
    agree,
    figure,
    name_study,
    open_recruitment,
    part,
    say_who_answers_for_it,
    sign_in,
    take_part,
)
from tests.scoring.services.drafting.abstracts import Lessons, abstract

pytestmark = pytest.mark.sqlite  # a site as `make serve` starts it

FIELD = "/lab/fields/cooking/"
WHOLE_SENTENCE = "The crust was darker, too, in every loaf that we cut."
ABSTRACT = (
    "Bread is old, and so are the disputes about how much sugar belongs in it. We baked loaves with and without sugar "
    "on twelve days in one oven, and weighed each of them after an hour. All loaves were coded, and nobody who cut them "
    f"knew how they had been made. With sugar the dough rose faster than without. {WHOLE_SENTENCE}"
)
OpenAs = Callable[[str, str], Page]


@pytest.fixture
def site(tmp_path: Path, transactional_db: None) -> Iterator[SiteServer]:
    """The site and its worker, with a field and its people."""
    one = SiteServer(tmp_path, with_worker=True)
    one.take_database()
    one.manage("shell", "-c", sites.COOKING)
    one.start()
    yield one
    one.kill()


@pytest.fixture
def open_as(new_page: Callable[[], Page], site: SiteServer) -> Iterator[OpenAs]:
    """Opens a page as one of them, in a browser of their own; no script may fail, nor the pages' policy be broken."""
    errors: list[str] = []

    def open_one(name: str, path: str) -> Page:
        page = new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        sign_in(page, name, site.url + path)
        return page

    yield open_one
    assert errors == []


def test_a_pasted_abstract_comes_before_a_participant_and_into_the_results(
    open_as: OpenAs, new_page: Callable[[], Page], site: SiteServer
) -> None:
    path = write_and_send(open_as("ada", FIELD))
    page = sites.let_two_accept(open_as, ("ben", "cleo"), path)
    key = page.get_by_role("heading", level=1).inner_text().split()[0]

    lena = open_as("lena", "/lab/")
    study = make_study(lena)
    open_recruitment(lena)
    part(lena, "Watch")
    person = new_page()
    agree(person, f"{site.url}/s/{study}/")
    take_part(person, site, 1)

    expect(figure(lena, "Valid")).to_have_text("1")
    lena.goto(site.url + path)
    lena.get_by_role("link", name="Exposures, accuracy, models and comments").click()
    people = lena.get_by_role("region", name="People").get_by_role("row")
    expect(people.filter(has_text="Which loaf is real?").get_by_role("cell").first).to_have_text(
        "1"
    )
    lena.goto(site.url + FIELD)
    line = lena.get_by_role("row").filter(has_text=key)
    expect(line.get_by_role("cell").nth(3)).to_have_text("1")
    expect(line).to_contain_text("100%")
    lena.goto(f"{site.url}/lab/studies/{study}/results/")
    short = lena.get_by_role("region", name="in short")
    expect(short).to_contain_text("100.0%", timeout=WORK_MS)


def write_and_send(page: Page) -> str:
    """Paste it, alter it by the key, explain the warning, send it to review; returns the path of its page."""
    page.get_by_role("link", name="New test case").click()
    expect(page.locator("#tools")).to_be_visible()  # its scripts are at work
    sites.text_of(page).evaluate(sites.PASTE, ABSTRACT)
    page.get_by_label("Subfield").select_option("Baking")
    sites.change(page, "faster", "slower")
    sites.change(page, WHOLE_SENTENCE, WHOLE_SENTENCE.replace("darker", "paler"))
    expect(page.locator("#preview-facts")).to_contain_text("2 alternations")
    page.get_by_role("button", name="Save and send to review").click()
    checks = page.get_by_role("region", name="Checks")
    expect(checks).to_contain_text("a whole sentence")
    expect(
        page.get_by_role("heading", name="To be changed, or explained in a word")
    ).to_be_visible()
    checks.get_by_label("Why it is right as it is").fill("The loaf is cut in no other sentence.")
    checks.get_by_role("button", name="Explain").click()
    expect(checks.get_by_role("heading", name="Explained")).to_be_visible()
    sites.send_to_review(page)
    return re.sub(r"^https?://[^/]+|[?#].*$", "", page.url)


def make_study(page: Page) -> str:
    """Of the field's test cases alone, as many as there are; returns its short name."""
    slug = name_study(page, "Which loaf is real?")
    page.locator('a[href$="/set-up/items/"]').first.click()
    page.get_by_label("Field of research").select_option("cooking")
    expect(page.locator("#counted")).to_contain_text("Human-created")
    page.get_by_role("button", name="Take these test cases").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    expect(figure(page, "Human-created").first).to_have_text("1")
    expect(figure(page, "Practice").first).to_have_text("1")
    page.get_by_role("link", name="Trials and ratings").click()
    expect(page.get_by_label("Human-created test cases")).to_have_value("1")
    expect(page.get_by_label("Machine-created test cases")).to_have_value("0")
    say_who_answers_for_it(page)
    return slug


def test_a_draft_of_a_model_is_refused_repaired_and_accepted_by_two_people(
    open_as: OpenAs,
) -> None:
    page = open_as("lena", f"{FIELD}drafting/")
    with sites.DecliningStub(Lessons(a1=["changed"])) as stub:
        rows = sites.have_drafted(page, stub.url, [abstract(1), abstract(2)], "Vegetables")
    expect(rows.nth(1)).to_contain_text("drafted")
    expect(rows.nth(2)).to_contain_text("no answer")
    rows.nth(1).get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_text("The abstract reads")).to_have_count(2)  # and what the model was told
    page.get_by_role("link", name="See test case").click()
    expect(page.locator("#item-text")).to_contain_text("sharpens")
    sites.send_to_review(page)
    path = re.sub(r"^https?://[^/]+", "", page.url)
    page = sites.let_two_accept(open_as, ("ben", "cleo"), path)
    expect(page.get_by_text("altered by writer-2026-01")).to_be_visible()
