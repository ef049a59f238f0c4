"""Trials with advice, after and before the own choice: on a desktop, a phone, by keyboard and without JavaScript, and interrupted."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from experiment.models import AdvisedTrial, Judgment, Study
from tests.browser import engines
from tests.browser.accessibility import look
from tests.browser.drivers import Driver, KeyboardDriver, MouseDriver, NoScriptDriver, TouchDriver
from tests.browser.test_interruptions import WAITING, lose_replies
from tests.browser.visitor import Answer, Visitor, other
from tests.factories import make_adviser, make_arms

Visit = Callable[..., Visitor]
PHONE = {"viewport": {"width": 390, "height": 760}, "has_touch": True, "is_mobile": True}
BROWSERS: list[tuple[type[Driver], dict[str, Any]]] = [
    (MouseDriver, {}),
    (TouchDriver, PHONE),
    (KeyboardDriver, {}),
    (NoScriptDriver, {"java_script_enabled": False}),
]
IDS = ["desktop", "phone", "keyboard", "without JavaScript"]
KEEP_OR_CHANGE = "Do you want to keep or change your answer?"


def advised(study: Study, procedure: str) -> Study:
    """With two test cases, and one arm in which all see advice."""
    Study.objects.filter(pk=study.pk).update(human_items=2, machine_items=0, catch_items=0)
    make_arms(study, {"advice": procedure})
    make_adviser(study, shows_passages=True)
    study.refresh_from_db()
    return study


def box(visitor: Visitor) -> Any:
    return visitor.page.get_by_role("region", name=re.compile("Advice"))


def is_asked_again(visitor: Visitor, sure: str = "56 of 100") -> None:
    expect(visitor.heading).to_have_text(KEEP_OR_CHANGE)
    expect(box(visitor)).to_contain_text(sure)
    visitor.wait_for_script()


def switch(visitor: Visitor, side: str, confidence: int = 90) -> None:
    """Choose the other side than before the advice, and rate the confidence in it."""
    visitor.driver.choose(side)
    visitor.driver.rate("confidence", confidence)


def practise(visitor: Visitor, procedure: str) -> None:
    """Come through the practice, where the example of advice is; with the wrong side first."""
    visitor.practice()
    right, wrong = other(visitor.wrong_practice_side), visitor.wrong_practice_side
    if procedure == "after":
        expect(box(visitor)).to_have_count(0)
        visitor.fill(Answer(wrong, 70, 30))
        visitor.go_on()
        is_asked_again(visitor, "40 of 100")
        expect(visitor.page.get_by_text("Not this one.")).to_have_count(0)
    expect(box(visitor)).to_contain_text("This is only an example")
    if visitor.driver_type is MouseDriver:
        look(visitor.page)
    if procedure == "after":
        visitor.press_unhurried("Continue")
        expect(visitor.page.get_by_text("Not this one.")).to_be_visible()
        expect(visitor.heading).to_have_text("Which version of this abstract is the original?")
        visitor.wait_for_script()
        switch(visitor, right)
    else:
        visitor.fill(Answer(right, 70, 30))
    visitor.go_on()
    visitor.is_at("start")
    visitor.press_unhurried("Show the first abstract")
    visitor.is_at("trial/1")


def rows() -> list[AdvisedTrial]:
    return list(AdvisedTrial.objects.select_related("trial").order_by("trial__position"))


@pytest.mark.parametrize(("driver", "options"), BROWSERS, ids=IDS)
def test_an_answer_is_kept_or_changed_after_advice(
    visit: Visit, demo: Study, driver: type[Driver], options: dict[str, Any]
) -> None:
    visitor = visit(advised(demo, "after"), driver, **options)
    practise(visitor, "after")
    for where, side in (("trial/2", "A"), ("debrief", "B")):  # the second one follows the advice
        expect(box(visitor)).to_have_count(0)
        visitor.read_for(30_000)
        first = visitor.fill(Answer("A", 96, 3))
        visitor.go_on()
        is_asked_again(visitor)
        assert (visitor.chosen(), visitor.rating("confidence")) == ("A", str(first.confidence))
        expect(visitor.page.locator(".recognised, #expertise")).to_have_count(0)
        if side == "A" and driver is MouseDriver:
            look(visitor.page)
        visitor.read_for(6_000)
        if side == "B":
            switch(visitor, "B")
        visitor.go_on()
        visitor.is_at(where)
    stored = visitor.judgments()
    assert [judgment.side for judgment in stored] == ["A", "B"]
    assert [row.first_side for row in rows()] == ["A", "A"]
    assert stored[0].confidence == rows()[0].first_confidence
    if driver.has_script:
        for row, judgment in zip(rows(), stored, strict=True):
            assert row.first_rt_ms is not None
            assert row.viewed_ms is not None
            assert row.first_rt_ms >= 30_000
            assert 6_000 <= row.viewed_ms < 30_000
            assert judgment.rt_ms == row.first_rt_ms + row.viewed_ms
        assert [judgment.changes for judgment in stored] == [0, 1]
    if driver is MouseDriver:
        look(visitor.page)
    expect(visitor.page.locator(".result-advice")).to_have_count(2)


FIRST_RATING = "The rating shown is the one that you gave before the advice."


@pytest.mark.parametrize(("driver", "options"), BROWSERS, ids=IDS)
def test_the_first_confidence_is_not_kept_for_the_other_side(
    visit: Visit, demo: Study, driver: type[Driver], options: dict[str, Any]
) -> None:
    Study.objects.filter(pk=demo.pk).update(ratings_required=False)
    visitor = visit(advised(demo, "after"), driver, **options).start()
    first = visitor.fill(Answer("A", 96, 3))
    visitor.go_on()
    is_asked_again(visitor)
    visitor.driver.choose("B")
    if not driver.has_script:
        expect(visitor.page.get_by_text(FIRST_RATING)).to_be_visible()
        assert visitor.rating("confidence") == str(first.confidence)
        return
    expect(visitor.page.get_by_text(FIRST_RATING)).to_have_count(0)
    state = visitor.page.locator(".rating-state")
    assert visitor.rating("confidence") == ""
    expect(state).to_have_text("Not yet rated")
    visitor.driver.choose("A")
    assert visitor.rating("confidence") == str(first.confidence)
    expect(state).to_have_text("Rated")
    # A rating of the other side may stay empty after one reminder, as any other
    visitor.driver.choose("B")
    visitor.go_on()
    expect(visitor.page.locator("#confidence-error")).to_contain_text("You have not answered this")
    visitor.go_on()
    expect(visitor.page.locator('input[name="revises"]')).to_have_count(0)
    [judgment] = visitor.judgments()
    assert (judgment.side, judgment.confidence) == ("B", None)
    assert judgment.expertise is not None


@pytest.mark.parametrize(("driver", "options"), BROWSERS, ids=IDS)
def test_advice_is_seen_with_the_abstract_where_it_comes_before(
    visit: Visit, demo: Study, driver: type[Driver], options: dict[str, Any]
) -> None:
    visitor = visit(advised(demo, "before"), driver, **options)
    practise(visitor, "before")
    if driver is MouseDriver:
        look(visitor.page)
    for _ in range(2):
        expect(box(visitor)).to_have_count(1)
        visitor.page.reload()
        expect(box(visitor)).to_have_count(1)
        visitor.answer("B")
    assert [(row.procedure, row.first_side) for row in rows()] == [("before", "")] * 2
    assert [judgment.side for judgment in visitor.judgments()] == ["B", "B"]


def interrupted(visitor: Visitor, side: str, sure: str) -> tuple[Visitor, Answer]:
    """Answer, reload, go back, and answer otherwise in a second tab, which is left on the page with the advice."""
    here = visitor.page.url
    stale = visitor.page.context.new_page()
    stale.goto(here)
    visitor.page.bring_to_front()
    first = visitor.fill(Answer(side, 70, 30))
    visitor.go_on()
    is_asked_again(visitor, sure)
    visitor.driver.choose(other(side))
    visitor.page.reload()
    is_asked_again(visitor, sure)
    assert (visitor.chosen(), visitor.rating("confidence")) == (other(side), "")
    visitor.page.go_back()
    if visitor.page.url == "about:blank":  # the practice was this browser's first page
        visitor.page.goto(here)
    expect(visitor.page).to_have_url(here)
    is_asked_again(visitor, sure)
    # A tab that still shows the first page brings no other first answer
    tab = Visitor(stale, visitor.site, visitor.study)
    stale.bring_to_front()
    tab.fill(Answer(other(side), 10, 10))
    tab.go_on()
    expect(tab.heading).to_have_text("Already answered")
    tab.link("Continue where you left off").click()
    is_asked_again(tab, sure)
    visitor.use(visitor.page)
    visitor.page.bring_to_front()
    return tab, first


@engines.both
def test_reload_back_and_a_second_tab_between_answer_and_advice_change_nothing(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(advised(demo, "after")).practice()
    right, wrong = other(visitor.wrong_practice_side), visitor.wrong_practice_side
    tab, first = interrupted(visitor, wrong, "40 of 100")
    kept = visitor.participant.practice_first
    assert (kept["side"], kept["confidence"]) == (wrong, first.confidence)
    switch(visitor, right)
    visitor.go_on()
    visitor.is_at("start")
    tab.page.bring_to_front()
    tab.driver.rate("confidence", 90)
    tab.go_on()  # what the other tab still shows leads on
    tab.is_at("start")
    tab.page.close()
    visitor.page.bring_to_front()
    visitor.press_unhurried("Show the first abstract")
    visitor.is_at("trial/1")
    tab, first = interrupted(visitor, "A", "56 of 100")
    [row] = rows()
    assert (row.first_side, row.first_confidence) == ("A", first.confidence)
    assert not Judgment.objects.filter(trial=row.trial).exists()
    switch(visitor, "B")
    visitor.go_on()
    expect(visitor.page.locator('input[name="revises"]')).to_have_count(0)
    # What the other tab still shows is answered by now
    tab.page.bring_to_front()
    tab.driver.rate("confidence", 90)
    tab.go_on()
    expect(tab.heading).to_have_text("Already answered")
    assert [j.side for j in Judgment.objects.filter(trial=row.trial)] == ["B"]


def test_a_network_that_is_cut_between_answer_and_advice_loses_and_doubles_nothing(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(advised(demo, "after")).start()
    # Away before the first answer
    visitor.fill(Answer("A", 70, 30))
    visitor.page.context.set_offline(True)
    visitor.go_on()
    expect(visitor.page.locator("#send-status")).to_have_text(WAITING)
    expect(box(visitor)).to_have_count(0)
    assert rows() == []
    visitor.page.context.set_offline(False)
    is_asked_again(visitor)
    # The answer after the advice arrives, and what the site says of it is lost
    lose_replies(visitor)
    switch(visitor, "B")
    visitor.go_on()
    expect(visitor.page.locator("#send-status")).to_have_text(WAITING)
    visitor.page.unroute("**/trial/**")
    expect(visitor.page.locator('input[name="revises"]')).to_have_count(0)
    # The first answer arrives, the advice is lost on its way, and the tab is closed
    lose_replies(visitor)
    visitor.fill(Answer("B", 70, 30))
    visitor.go_on()
    expect(visitor.page.locator("#send-status")).to_have_text(WAITING)
    expect(box(visitor)).to_have_count(0)
    assert [row.first_side for row in rows()] == ["A", "B"]
    visitor.page.unroute_all(behavior="ignoreErrors")  # one may be on its way as the tab closes
    visitor.reopen()
    is_asked_again(visitor)
    assert visitor.chosen() == "B"
    visitor.go_on()
    expect(visitor.page.locator('input[name="revises"]')).to_have_count(0)
    keys = [
        *(row.first_key for row in rows()),
        *Judgment.objects.values_list("idempotency_key", flat=True),
    ]
    assert len(keys) == len(set(keys))
    assert [judgment.side for judgment in visitor.judgments()] == ["B", "B"]
