"""Reload, the back button, two tabs, double clicks, leaving and returning: no participant loses an answer or gives it twice."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from experiment.models import Participant, Study
from tests.browser import engines
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Answer, Visitor, other

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


@engines.both
def test_each_form_is_the_one_request_to_its_next_page(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    asked: list[str] = []
    kinds = ("document", "fetch")
    visitor.page.on(
        "request",
        # A page that is open for long says that somebody is there
        lambda r: (
            asked.append(r.method)
            if r.resource_type in kinds and "/s/" in r.url and "/ping/" not in r.url
            else None
        ),
    )
    visitor.enter()
    visitor.agree()
    visitor.fill_demographics()
    visitor.fill(Answer(other(visitor.wrong_practice_side), 70, 30))
    visitor.go_on()
    visitor.is_at("start")
    visitor.press_unhurried("Show the first abstract")
    visitor.is_at("trial/1")
    for _ in range(demo.n_trials):
        visitor.answer("A")
    visitor.finish()
    visitor.is_at("done")
    assert asked == ["GET"] + ["POST"] * (5 + demo.n_trials)
    expect(visitor.page.locator("body > [role=status]")).to_have_text(visitor.page.title())
    visitor.page.go_back()
    visitor.is_at("done")
