"""Reload, the back button, two tabs, double clicks, leaving and returning: nobody loses an answer or gives it twice."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from experiment.models import Judgment, Participant, Study
from tests.browser.hands import NoScript
from tests.browser.pages import Said, Visitor

Visit = Callable[..., Visitor]


def test_a_reload_keeps_the_answer_and_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(60_000)
    said = visitor.fill(Said("A", 80, 20))
    visitor.hands.choose("B")
    visitor.page.reload()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "B"
    assert visitor.rating("confidence") == str(said.confidence)
    assert visitor.rating("expertise") == str(said.expertise)
    expect(visitor.page.locator(".rating-state").first).to_have_text("Rated")
    expect(visitor.page.locator("#recognised-no")).to_be_checked()
    visitor.page.reload()
    visitor.read_for(30_000)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes, judgment.reloads) == ("B", 1, 2)
    assert judgment.rt_choice_ms >= 60_000  # the first choice, before the reloads
    assert 90_000 <= judgment.rt_ms < 120_000
    assert judgment.confidence == said.confidence


def test_a_closed_tab_opened_again_keeps_the_answer_and_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(7_000)
    said = visitor.fill(Said("A", 80, 20))
    visitor.reopen()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "A"
    assert visitor.rating("confidence") == str(said.confidence)
    visitor.go_on()
    visitor.is_at("trial/2")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes, judgment.reloads) == ("A", 0, 1)
    assert 7_000 <= judgment.rt_choice_ms <= judgment.rt_ms < 37_000
    assert judgment.excluded_by == ""
    assert judgment.expertise == said.expertise


def test_a_tab_closed_before_anything_was_chosen_keeps_the_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.read_for(7_000)
    visitor.reopen()
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert judgment.rt_ms >= 7_000
    assert (judgment.reloads, judgment.excluded_by) == (1, "")


def test_the_next_abstract_starts_with_nothing_chosen_and_the_clock_at_zero(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.read_for(60_000)
    visitor.answer("A")
    assert visitor.chosen() == ""
    assert visitor.rating("confidence") == ""
    expect(visitor.page.locator("input:checked:not(#shortcuts-on)")).to_have_count(0)
    visitor.answer("B")
    second = visitor.judgments()[1]
    assert second.rt_ms < 30_000
    assert second.reloads == 0


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
    visitor.fill(Said("B", 10, 10))
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


def test_two_tabs_on_one_abstract_do_not_count_the_time_twice(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    first = visitor.page
    visitor.read_for(100_000)
    visitor.hands.choose("A")
    second = first.context.new_page()
    visitor.use(second)
    visitor.enter()
    visitor.is_at("trial/1")
    assert visitor.chosen() == "A"
    for page in (first, second):  # time goes by in both
        visitor.use(page)
        visitor.read_for(50_000)
    visitor.reopen()
    visitor.answer("B")
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.changes) == ("B", 1)
    assert 150_000 <= judgment.rt_ms < 190_000
    assert 100_000 <= judgment.rt_choice_ms < 130_000
    # The tab that is still there does not bring back what is done with.
    kept = "Object.keys(localStorage).filter(key => key.includes(token))".replace(
        "token", f"'{judgment.trial.token}'"
    )
    first.wait_for_timeout(1_500)
    assert first.evaluate(kept) == []


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_a_double_click_on_continue_stores_one_answer(
    visit: Visit, demo: Study, has_script: bool
) -> None:
    visitor = visit(
        demo,
        NoScript if not has_script else type(visit(demo).hands),
        java_script_enabled=has_script,
    )
    visitor.start()
    visitor.fill(Said("A", 70, 30))
    visitor.button("Continue").dblclick()
    visitor.is_at("trial/2")
    assert visitor.chosen() == ""
    assert [judgment.side for judgment in visitor.judgments()] == ["A"]
    if has_script:
        assert len(visitor.sent_keys()) == 1
    visitor.answer("B")
    assert [judgment.side for judgment in visitor.judgments()] == ["A", "B"]


def test_who_closes_the_page_goes_on_with_the_same_abstract(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    visitor.answer("A")
    abstract = visitor.page.locator(".abstract").text_content()
    visitor.reopen()
    visitor.enter("?PROLIFIC_PID=")
    visitor.is_at("trial/2")
    assert visitor.page.locator(".abstract").text_content() == abstract
    assert Participant.objects.count() == 1
    assert visitor.participant.trials.count() == 2


def test_one_returns_to_the_same_abstract_within_the_studys_hours_and_not_later(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    abstract = visitor.page.locator(".abstract").text_content()
    hours = demo.resume_hours
    for away, heading in ((hours - 1, "Which version"), (hours + 1, "The time to come back")):
        Participant.objects.update(last_seen_at=timezone.now() - timedelta(hours=away))
        visitor.enter()
        expect(visitor.heading).to_contain_text(heading)
        if away < hours:
            assert visitor.page.locator(".abstract").text_content() == abstract


def test_pages_ahead_and_behind_lead_to_where_one_is(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    for page in ("about-you", "practice", "trial/2", "trial/11", "trial/99", "debrief", "done", ""):
        visitor.page.goto(visitor.home + page + ("/" if page else ""))
        visitor.is_at("trial/1")
    assert visitor.participant.trials.count() == 1


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


def test_leaving_the_page_is_counted_and_its_time_is_measured(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    hide = """hidden => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
      window.dispatchEvent(new Event(hidden ? "blur" : "focus"));
    }"""
    visitor.page.evaluate(hide, True)
    visitor.read_for(20_000)
    visitor.page.evaluate(hide, False)
    visitor.read_for(5_000)
    visitor.page.evaluate("window.dispatchEvent(new Event('blur'))")
    visitor.page.evaluate("window.dispatchEvent(new Event('focus'))")
    visitor.answer("A")
    [judgment] = visitor.judgments()
    assert judgment.blur_count == 2
    assert 20_000 <= judgment.hidden_ms < 25_000
    assert 25_000 <= judgment.rt_ms < 50_000


def test_an_answer_that_waited_for_days_is_still_taken(visit: Visit, demo: Study) -> None:
    """The page was left open past every limit; its answer counts."""
    visitor = visit(demo).start()
    visitor.fill(Said("A", 70, 30))
    away = timezone.now() - timedelta(days=6)
    Participant.objects.update(last_seen_at=away)
    visitor.go_on()
    visitor.is_at("trial/2")
    assert Judgment.objects.count() == 1
