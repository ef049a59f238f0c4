"""Every participant page, error states included, against WCAG 2.2 A and AA, at any width and size of text."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import BrowserContext, Page, Route, expect

from experiment.models import Participant, Study
from tests.browser.accessibility import axe_source, faults, violations
from tests.browser.visitor import Answer, Visitor, other
from tests.factories import make_channel, make_participant, make_user

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


def without_script(page: Page) -> None:
    """As with JavaScript off, but so that axe can run: the pages' own scripts do not arrive."""
    page.route("**/static/js/*.js", lambda route: route.abort())


def change_what_is_sent(page: Page, old: str, new: str) -> None:
    def change(route: Route) -> None:
        body = re.sub(old, new, route.request.post_data or "")
        route.continue_(post_data=body)

    page.route("**/trial/**", lambda r: change(r) if r.request.method == "POST" else r.continue_())


def test_axe_is_recent_and_sees_what_is_wrong(visit: Visit, demo: Study) -> None:
    major, minor = map(int, re.findall(r"axe v(\d+)\.(\d+)", axe_source())[0])
    assert (major, minor) >= (4, 9)
    visitor = visit(demo)
    visitor.enter()
    visitor.page.evaluate(
        "document.querySelector('main').replaceChildren(document.createElement('input'))"
    )
    assert any(line.startswith("label:") for line in violations(visitor.page))


def test_misfits_are_seen(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.page.evaluate("document.querySelector('h1').style.width = '40rem'")
    assert any("sticks out" in fault for fault in faults(visitor.page))


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


def test_an_abstract_that_the_server_shows_again(
    visit: Visit, demo: Study, inspector: Inspector
) -> None:
    """What was sent is malformed, so that the server's own error page is seen, with scripts and without."""
    visitor = visit(demo).start()
    Study.objects.filter(pk=demo.pk).update(ratings_required=True)
    change_what_is_sent(visitor.page, "confidence=70", "confidence=700")
    visitor.fill(Answer("A", 70, 30))
    visitor.page.evaluate("document.querySelector('[name=confidence]').value = '70'")
    visitor.go_on()
    expect(visitor.error("confidence")).not_to_be_empty()
    expect(visitor.page.locator("#confidence")).to_be_focused()
    inspector.look(visitor)
    visitor.page.unroute("**/trial/**")
    without_script(visitor.page)
    visitor.page.goto(visitor.page.url)
    expect(visitor.page.locator("#shortcuts")).to_be_hidden()
    inspector.look(visitor)
    visitor.go_on()
    for name in ("side", "confidence", "expertise", "recognised"):
        expect(visitor.error(name)).not_to_be_empty()
    inspector.look(visitor)


def test_the_pages_without_script_in_their_later_states(
    visit: Visit, demo: Study, inspector: Inspector
) -> None:
    visitor = visit(demo).start()
    without_script(visitor.page)
    visitor.page.goto(visitor.page.url)
    visitor.driver.choose("B")
    inspector.look(visitor)
    visitor.answer_recognised()
    visitor.go_on()
    expect(visitor.page.locator("#confidence")).to_be_focused()
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


def test_the_previews_of_a_links_ends(
    open_browser: Callable[..., BrowserContext], demo: Study
) -> None:
    make_channel(demo, "prolific", completion_code="C0DE", screen_out_url="https://a.example")
    make_user("ruth", demo)
    page = open_browser().new_page()
    page.goto("/lab/studies/demo/recruitment/")
    page.get_by_label("Username").fill("ruth")
    page.get_by_label("Password").fill("ruth")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Prolific")).to_be_visible()
    found = faults(page)
    for end in ("completion", "screen-out", "full"):
        page.goto(f"/lab/studies/demo/recruitment/channels/prolific/{end}/")
        expect(page.get_by_text("Preview: what a participant sees.")).to_be_visible()
        found += faults(page)
    assert found == []


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
