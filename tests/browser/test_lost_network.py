"""A lost network at Continue: the answer stays, the page says so, and it is stored once with the same key."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Error, Route, expect

from experiment.models import Study
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]
WAITING = "No connection: your answer stays on this page and will be sent again."


def lose_posts(visitor: Visitor, *, after_delivery: bool = False) -> None:
    """Answers are lost on the way; or they arrive, and what the server says of it is lost."""

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        if after_delivery:
            route.fetch(max_redirects=0)
        with suppress(Error):  # on a slow machine the page has given it up by itself
            route.abort("connectionreset")

    visitor.page.route("**/trial/**", lose)


def deliver_posts(visitor: Visitor) -> None:
    visitor.page.unroute("**/trial/**")


def waits_with_the_answer(visitor: Visitor, given: Answer) -> None:
    expect(visitor.page.locator("#send-status")).to_have_text(WAITING)
    expect(visitor.button("Try again now")).to_be_visible()
    assert visitor.chosen() == given.side
    assert visitor.rating("confidence") == str(given.confidence)
    assert visitor.rating("expertise") == str(given.expertise)


def test_offline_the_answer_waits_in_sight_and_is_sent_once_when_the_network_is_back(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    given = visitor.fill(Answer("A", 70, 30))
    visitor.page.context.set_offline(True)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    # What is on its way can no longer be changed, and the focus is not lost.
    visitor.page.keyboard.press("b")
    assert visitor.chosen() == "A"
    expect(visitor.button("Continue")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    assert visitor.judgments() == []
    visitor.page.context.set_offline(False)
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.confidence) == ("A", given.confidence)
    keys = visitor.sent_keys()
    assert set(keys) == {str(judgment.idempotency_key)}


def test_the_answer_is_kept_over_a_reload_while_it_waits(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(300_000)
    given = visitor.fill(Answer("B", 70, 30))
    warnings: list[str] = []
    visitor.page.on("dialog", lambda dialog: (warnings.append(dialog.type), dialog.accept()))
    lose_posts(visitor)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    visitor.page.reload()
    waits_with_the_answer(visitor, given)
    assert warnings == ["beforeunload"]
    assert visitor.judgments() == []
    deliver_posts(visitor)  # the page sends again by itself
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert judgment.side == "B"
    assert set(visitor.sent_keys()) == {str(judgment.idempotency_key)}
    # The time of the first Continue: waiting for the network is no reading.
    assert 300_000 <= judgment.rt_ms < 600_000


def test_who_will_not_wait_can_send_at_once(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.page.clock.install()
    visitor.start()
    given = visitor.fill(Answer("A", 70, 30))
    lose_posts(visitor)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    visitor.page.clock.pause_at(timezone.now() + timedelta(minutes=1))  # no attempt by itself
    waits_with_the_answer(visitor, given)
    deliver_posts(visitor)
    visitor.button("Try again now").click()
    visitor.is_at("trial/2")
    assert [judgment.side for judgment in visitor.judgments()] == ["A"]


def test_the_answer_is_kept_in_a_closed_tab_too(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    given = visitor.fill(Answer("B", 70, 30))
    lose_posts(visitor)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    visitor.reopen()  # and the page sends what it finds
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.confidence) == ("B", given.confidence)
    assert set(visitor.sent_keys()) == {str(judgment.idempotency_key)}


def test_an_answer_that_arrived_although_its_reply_was_lost_is_stored_once(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    given = visitor.fill(Answer("A", 70, 30))
    lose_posts(visitor, after_delivery=True)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    assert len(visitor.judgments()) == 1
    deliver_posts(visitor)  # the page sends again by itself
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    keys = visitor.sent_keys()
    assert len(keys) >= 2
    assert set(keys) == {str(judgment.idempotency_key)}
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]


def test_a_server_that_fails_for_a_moment_is_asked_again(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    answers = [503, 429]

    def fail(route: Route) -> None:
        if route.request.method == "POST" and answers:
            route.fulfill(status=answers.pop(), body="busy")
        else:
            route.continue_()

    visitor.page.route("**/trial/**", fail)
    visitor.fill(Answer("A", 70, 30))
    visitor.go_on()
    visitor.is_at("trial/2")  # no one had to press anything
    assert answers == []
    [judgment] = visitor.judgments()
    assert visitor.sent_keys() == [str(judgment.idempotency_key)] * 3


def test_an_answer_that_was_refused_and_then_lost_is_still_there(visit: Visit, demo: Study) -> None:
    """What the server refuses is sent again as a page: when that is lost, the browser still has the answer."""
    visitor = visit(demo).start()
    visitor.read_for(300_000)
    given = visitor.fill(Answer("B", 70, 30))

    def refuse(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
        elif route.request.headers["accept"] == "application/json":
            route.fulfill(status=403, body="{}")
        else:
            route.abort("connectionreset")

    visitor.page.route("**/trial/**", refuse)
    with visitor.page.expect_event("requestfailed"):
        visitor.go_on()
    deliver_posts(visitor)
    visitor.reopen()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "B"
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.confidence) == ("B", given.confidence)
    assert 300_000 <= judgment.rt_ms < 600_000


def test_without_a_network_the_other_forms_keep_what_was_entered_and_send_it_then(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.agree()
    visitor.page.context.set_offline(True)
    visitor.send_demographics()
    expect(visitor.page.get_by_role("alert")).to_contain_text("No connection")
    expect(visitor.page.get_by_label("Female")).to_be_checked()
    visitor.page.context.set_offline(False)
    visitor.is_at("practice")


def test_while_the_site_is_away_the_other_forms_are_sent_again_by_themselves(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    visitor.enter()
    asked = []

    def away(route: Route) -> None:
        asked.append(route.request.method)
        if len(asked) <= 2:
            route.fulfill(status=503, headers={"Retry-After": "5"})
        else:
            route.continue_()

    visitor.page.route(visitor.page.url, away)
    visitor.button("I agree and want to take part").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("No connection")
    visitor.is_at("about-you")
    assert asked == ["POST"] * 3


def test_a_form_that_loads_a_page_by_itself_waits_for_the_person(visit: Visit, demo: Study) -> None:
    """Sent too early, the browser's own error would take the place of what was entered."""
    visitor = visit(demo)
    visitor.page.goto(f"{visitor.home}withdraw/")
    code = visitor.page.get_by_label("Your own code")
    code.fill("ABCD-EFGH-JKMN")
    visitor.page.context.set_offline(True)
    visitor.button("Show what is stored").click()
    expect(visitor.page.get_by_role("alert")).to_contain_text("Please try again in a moment")
    visitor.page.context.set_offline(False)
    visitor.page.wait_for_timeout(1_500)  # longer than what is sent again by itself waits first
    assert visitor.posts == []
    expect(code).to_have_value("ABCD-EFGH-JKMN")
    visitor.button("Show what is stored").click()
    expect(visitor.page.locator("#code-error")).to_be_visible()


def test_a_browser_that_refuses_to_store_anything_still_takes_the_test(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    for storage in ("localStorage", "sessionStorage"):
        visitor.page.add_init_script(
            f"Object.defineProperty(window, '{storage}', {{get() {{ throw new Error('refused'); }}}})"
        )
    visitor.start()
    visitor.answer("A")
    assert len(visitor.judgments()) == 1
