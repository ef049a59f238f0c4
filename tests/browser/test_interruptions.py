"""Back, reload, two tabs, double clicks, and no network: no participant loses an answer or gives it twice."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Error, Route, expect

from experiment.models import Participant, Study
from tests.browser.visitor import Answer, Visitor

Visit = Callable[..., Visitor]
WAITING = "No connection: your answer stays on this page and will be sent again."


def test_a_double_click_goes_on_once_and_the_way_back_leads_to_the_abstract_one_is_on(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    visitor.practice().practise()
    visitor.fill(Answer("A", 70, 30))
    visitor.button("Continue").dblclick()
    visitor.is_at("trial/2")
    assert visitor.chosen() == ""
    assert len(visitor.sent_keys()) == 1
    visitor.page.go_back()
    visitor.is_at("trial/2")
    assert visitor.chosen() == ""
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]
    Participant.objects.update(position=4)
    visitor.page.evaluate(
        "window.dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"
    )
    visitor.is_at("trial/4")  # a page from the browser's memory is never shown stale


def test_in_two_tabs_time_counts_once_and_the_first_answer_stands(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    first = visitor.page
    visitor.read_for(1_000_000)
    visitor.driver.choose("A")
    second = first.context.new_page()
    visitor.use(second)
    visitor.enter()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "A"
    for page in (first, second):  # time goes by in both
        visitor.use(page)
        visitor.read_for(500_000)
    visitor.reopen()
    visitor.answer("B")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes) == ("B", 1)
    assert 1_500_000 <= judgment.rt_ms < 1_900_000
    assert 1_000_000 <= judgment.rt_choice_ms < 1_300_000
    # The tab that is still there does not bring back what is done with.
    # It hears of that a little later, and what it kept until then goes with it.
    first.wait_for_timeout(1_500)  # longer than trial.js takes from one keeping to the next
    first.wait_for_function(
        "token => !Object.keys(localStorage).some(key => key.includes(token))",
        arg=str(judgment.trial.token),
    )
    visitor.use(first)
    visitor.fill(Answer("A", 10, 10))
    visitor.go_on()
    expect(visitor.heading).to_have_text("Already answered")
    visitor.link("Continue where you left off").click()
    visitor.is_at("trial/2")
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["B", "B"]


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


def lose_replies(visitor: Visitor) -> None:
    """Answers arrive, and what the server says of it is lost."""

    def lose(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        route.fetch(max_redirects=0)
        with suppress(Error):  # on a slow machine the page has given it up by itself
            route.abort("connectionreset")

    visitor.page.route("**/trial/**", lose)


def waits_with_the_answer(visitor: Visitor, given: Answer) -> None:
    expect(visitor.page.locator("#send-status")).to_have_text(WAITING)
    expect(visitor.button("Try again now")).to_be_visible()
    assert visitor.chosen() == given.side
    assert visitor.rating("confidence") == str(given.confidence)
    assert visitor.rating("expertise") == str(given.expertise)


def test_without_a_network_each_form_waits_in_sight_and_is_stored_once(
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
    visitor.practise()

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

    given = visitor.fill(Answer("B", 70, 30))
    lose_replies(visitor)
    visitor.go_on()
    waits_with_the_answer(visitor, given)
    assert len(visitor.judgments()) == 2
    visitor.page.unroute("**/trial/**")  # the page sends again by itself
    visitor.is_at("trial/3")

    # A server that fails for a moment is asked again
    answers = [503, 429]

    def fail(route: Route) -> None:
        if route.request.method == "POST" and answers:
            route.fulfill(status=answers.pop(), body="busy")
        else:
            route.continue_()

    visitor.page.route("**/trial/**", fail)
    visitor.fill(Answer("A", 70, 30))
    visitor.go_on()
    visitor.is_at("trial/4")  # no one had to press anything
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B", "A"]
    own_keys = [str(judgment.idempotency_key) for judgment in visitor.judgments()]
    sent = visitor.sent_keys()
    assert list(dict.fromkeys(sent)) == own_keys
    assert sent.count(own_keys[1]) >= 2
    assert sent.count(own_keys[2]) == 3


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
