"""Back, reload, two tabs, double clicks, and no network: no participant loses an answer or gives it twice."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Error, Route, expect

from experiment.models import Participant, Study
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]


def test_the_back_button_leads_to_the_abstract_one_is_on(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.practice().practise()
    visitor.answer("A")
    visitor.page.go_back()
    visitor.is_at("trial/2")
    assert visitor.chosen() == ""
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]


def test_a_page_from_the_browsers_memory_is_never_shown_stale(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    Participant.objects.update(position=2)
    visitor.page.evaluate(
        "window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    )
    visitor.is_at("trial/2")


def test_in_a_second_tab_the_first_answer_stands(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    first = visitor.page
    second = first.context.new_page()
    visitor.use(second)
    visitor.enter()
    visitor.fill(Answer("B", 10, 10))
    visitor.use(first)
    visitor.answer("A")
    visitor.use(second)
    visitor.go_on()
    expect(visitor.heading).to_have_text("Already answered")
    assert [judgment.side for judgment in visitor.judgments()] == ["A"]
    visitor.link("Go on where you were").click()
    visitor.is_at("trial/2")
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_double_click_on_continue_stores_one_answer(
    visit: Visit, demo: Study, has_script: bool
) -> None:
    visitor = visit(
        demo,
        NoScriptDriver if not has_script else type(visit(demo).driver),
        java_script_enabled=has_script,
    )
    visitor.start()
    visitor.fill(Answer("A", 70, 30))
    visitor.button("Continue").dblclick()
    visitor.is_at("trial/2")
    assert visitor.chosen() == ""
    assert [judgment.side for judgment in visitor.judgments()] == ["A"]
    if has_script:
        assert len(visitor.sent_keys()) == 1
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]


def test_an_open_page_tells_the_server_that_somebody_is_there(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.page.clock.install()
    visitor.start()
    Participant.objects.update(last_seen_at=timezone.now() - timedelta(hours=1))
    with visitor.page.expect_response(lambda r: r.url.endswith("/ping/")) as ping:
        visitor.page.clock.run_for(31_000)
    assert ping.value.status == 204
    assert timezone.now() - visitor.participant.last_seen_at < timedelta(minutes=1)
    with visitor.page.expect_response(lambda r: r.url.endswith("/ping/")):
        visitor.page.clock.run_for(31_000)


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
