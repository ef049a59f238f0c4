"""Every page, error states included, against WCAG 2.2 A and AA, at any width and size of text."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from experiment.lab.routes import ADMIN, PUBLIC, Route, routes
from experiment.models import Participant, Study
from tests.browser.accessibility import axe_source, faults, violations
from tests.browser.visitor import Answer, Visitor, other
from tests.config.test_rights import address, arguments
from tests.factories import (
    make_channel,
    make_participant,
    make_research_field,
    make_study,
    make_user,
)

Visit = Callable[..., Visitor]


class Inspector:
    """Looks at pages one after the other and keeps what is wrong with them."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def look(self, visitor: Visitor, heading: str = "") -> None:
        if heading:
            expect(visitor.heading).to_have_text(heading)
        self.found += faults(visitor.page)


@pytest.fixture
def inspector():
    one = Inspector()
    yield one
    assert one.found == []


def test_axe_is_recent_and_sees_what_is_wrong(visit: Visit, demo: Study) -> None:
    major, minor = map(int, re.findall(r"axe v(\d+)\.(\d+)", axe_source())[0])
    assert (major, minor) >= (4, 9)
    visitor = visit(demo)
    visitor.enter()
    visitor.page.evaluate(
        "document.querySelector('main').replaceChildren(document.createElement('input'))"
    )
    assert any(line.startswith("label:") for line in violations(visitor.page))


def test_pages_before_the_first_abstract(visit: Visit, demo: Study, inspector: Inspector) -> None:
    visitor = visit(demo)
    visitor.enter()
    inspector.look(visitor, demo.title)
    visitor.agree()
    inspector.look(visitor, "About you")
    visitor.button("Continue").click()
    expect(visitor.page.locator("#id_gender-group")).to_be_focused()
    assert visitor.page.title().startswith("Error: ")
    inspector.look(visitor)
    visitor.fill_demographics()
    inspector.look(visitor)
    visitor.go_on()
    expect(visitor.page.locator("#side-a")).to_be_focused()
    inspector.look(visitor)
    visitor.fill(Answer(visitor.wrong_practice_side, 70, 30))
    visitor.go_on()
    expect(visitor.page.locator("#practice-feedback")).to_be_focused()
    inspector.look(visitor)
    visitor.driver.choose(other(visitor.wrong_practice_side))
    visitor.go_on()
    inspector.look(visitor, "Now it starts")
    visitor.page.locator("#practice-feedback summary").click()
    inspector.look(visitor)


def test_an_abstract_in_every_state(visit: Visit, demo: Study, inspector: Inspector) -> None:
    visitor = visit(demo).start()
    inspector.look(visitor)
    visitor.go_on()
    expect(visitor.error("side")).not_to_be_empty()
    inspector.look(visitor)
    for side in "AB":
        visitor.driver.choose(side)
        inspector.look(visitor)
        visitor.button(f"only {side}").click()
        inspector.look(visitor)
        visitor.button("both").click()
    visitor.go_on()
    expect(visitor.error("recognised")).not_to_be_empty()
    inspector.look(visitor)
    visitor.answer_recognised()
    visitor.go_on()
    expect(visitor.page.locator("#confidence")).to_be_focused()
    inspector.look(visitor)
    visitor.page.context.set_offline(True)
    visitor.go_on()
    expect(visitor.page.locator("#send-status")).to_contain_text("No connection")
    inspector.look(visitor)


def test_the_pages_at_the_end(visit: Visit, demo: Study, inspector: Inspector) -> None:
    Study.objects.filter(pk=demo.pk).update(human_items=2, machine_items=0, catch_items=0)
    make_channel(demo, completion_url="https://panel.example/done")
    demo.refresh_from_db()
    visitor = visit(demo).start()
    rightly = visitor.trial.original_side
    visitor.answer(rightly)
    visitor.answer(other(visitor.trial.original_side))
    inspector.look(visitor, "Your results")
    for result in visitor.page.locator(".result summary").all():
        result.click()
    inspector.look(visitor)
    visitor.page.evaluate("document.querySelector('#comments').removeAttribute('maxlength')")
    visitor.page.locator("#comments").fill("x" * 5001)
    visitor.finish()
    expect(visitor.page.locator("#comments-error")).to_be_visible()
    expect(visitor.page.locator("#comments")).to_be_focused()
    inspector.look(visitor)
    make_channel(demo, completion_url="")
    visitor.page.locator("#comments").fill("")
    visitor.finish()
    inspector.look(visitor, "Thank you for taking part")
    make_channel(demo, completion_url="https://panel.example/done")
    visitor.page.reload()
    expect(visitor.link("Complete your participation")).to_be_visible()
    inspector.look(visitor)


def test_the_pages_of_withdrawing(visit: Visit, demo: Study, inspector: Inspector) -> None:
    code = make_participant(demo).withdrawal_code
    visitor = visit(demo)
    visitor.page.goto(f"{visitor.home}withdraw/")
    inspector.look(visitor, "See or withdraw what is stored about you")
    visitor.page.get_by_label("Your own code").fill("ABCD")
    visitor.button("Show what is stored").click()
    expect(visitor.page.locator("#code")).to_be_focused()
    inspector.look(visitor)
    visitor.page.get_by_label("Your own code").fill(code.lower())
    visitor.button("Show what is stored").click()
    inspector.look(visitor, "What is stored about you")
    visitor.button("Withdraw my answers").click()
    inspector.look(visitor, "Your answers are withdrawn")
    assert Participant.objects.get().stage == "withdrawn"


def test_the_pages_of_coming_back(visit: Visit, demo: Study, inspector: Inspector) -> None:
    visitor = visit(demo)
    link = (
        "?PROLIFIC_PID=5f3a9c21e0b7d4a6f8c1b2e3&STUDY_ID=65aa00112233445566778899&SESSION_ID=65bb"
    )
    visitor.enter(link)
    inspector.look(visitor, demo.title)  # consent with the ids of the link
    visitor.agree()
    visitor.page.context.clear_cookies()
    visitor.page.goto(f"{visitor.home}practice/")
    inspector.look(visitor, "We cannot tell who you are")
    visitor.page.get_by_label("Your own code").fill("ABCD")
    visitor.button("Go on with this code").click()
    expect(visitor.page.locator("#code")).to_be_focused()
    inspector.look(visitor, "Go on where you were")
    visitor.enter(link + "guessed")
    inspector.look(visitor, "You have been here before")


def test_the_pages_for_those_who_do_not_take_part(
    visit: Visit, demo: Study, inspector: Inspector
) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.button("I do not agree").click()
    inspector.look(visitor, "Thank you for considering it")
    make_participant(demo)
    make_channel(demo, screen_out_url="https://panel.example")
    for changes, heading in (
        ({"recruitment": "draft"}, "This study has not started"),
        ({"recruitment": "closed"}, "This study has ended"),
        (
            {"recruitment": "open", "target_valid": 1},
            "This study is complete",
        ),
    ):
        Study.objects.filter(pk=demo.pk).update(**changes)
        visitor.enter()
        inspector.look(visitor, heading)


def test_the_pages_for_problems(visit: Visit, demo: Study, inspector: Inspector) -> None:
    visitor = visit(demo)
    visitor.page.goto(f"{visitor.home}no-such-page/")
    inspector.look(visitor, "There is no such page")
    visitor.page.goto(f"{visitor.home}?id=%00")
    inspector.look(visitor, "This request cannot be read")
    visitor.enter()
    visitor.page.context.clear_cookies()
    visitor.button("I agree and want to take part").click()
    inspector.look(visitor, "The form could not be checked")
    visitor.start()
    visitor.fill(Answer("A", 50, 50))
    visitor.page.evaluate("const form = document.forms[0]; form.action = '../2/'; form.submit()")
    inspector.look(visitor, "You are on another page")
    people = Participant.objects.filter(study=demo)
    people.update(last_seen_at=timezone.now() - timedelta(days=30))
    visitor.enter()
    inspector.look(visitor, "The time to come back has passed")


pytestmark = pytest.mark.django_db(transaction=True)
# What an address can answer besides a page, by the name of its route
NO_PAGES = ("_live", "_count", "_preview")


def pages() -> list[Route]:
    """Those that a browser opens as a page of its own."""
    return [
        route
        for route in routes()
        if "GET" in route.methods
        and route.access != PUBLIC
        and not route.address.startswith((ADMIN, "api/"))
        and not route.name.endswith(NO_PAGES)
    ]


@pytest.fixture
def page(browser: Browser, live_server: Any) -> Iterator[Page]:
    """A page of a site administrator who has signed in."""
    make_user("boss", is_superuser=True, is_staff=True)
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    page.goto(reverse("lab:sign_in"))
    page.get_by_label("Username").fill("boss")
    page.get_by_label("Password").fill("boss")
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()


@pytest.fixture
def study() -> Study:
    """A study with people at several places, and the field of research of its name."""
    study = make_study()
    make_research_field(study.slug)
    for judged in (None, None, 2):
        make_participant(study, judged=judged)
    return study


def test_every_page_is_accessible_and_fits_at_any_width(page: Page, study: Study) -> None:
    troubles: list[str] = []
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    found: dict[str, list[str]] = {}
    opened = 0
    for route in pages():
        url = address(route, arguments(route, study))
        answer = page.request.get(url)
        if not (answer.ok and answer.headers["content-type"].startswith("text/html")):
            continue  # a file or a picture, or nobody made it yet
        page.goto(url)
        opened += 1
        if wrong := [*troubles, *faults(page)]:
            found[url] = wrong
        troubles.clear()
    assert found == {}
    assert opened > 25
