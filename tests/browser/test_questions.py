"""Questions between abstracts: written, kept, sent once, and read by whoever cannot see or point."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from experiment.models import Study, WrittenAnswer
from experiment.services.taking_part import Written
from tests.browser.accessibility import look
from tests.browser.test_interruptions import WAITING
from tests.browser.visitor import Answer, Visitor
from tests.experiment.asked import EXPERT, make_asking_study

Visit = Callable[..., Visitor]
TEXT = "It rises,\nslowly and in the cold."


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_asking_study(asked=2, counts=(2, 0, 0))


def at_question(visitor: Visitor) -> Visitor:
    """Answer the abstracts that come before it."""
    while not visitor.participant.is_asked(visitor.participant.position):
        answer_abstract(visitor)
    expect(visitor.page.locator("#answer_text")).to_be_visible()
    return visitor


def answer_abstract(visitor: Visitor) -> None:
    position = visitor.participant.position
    visitor.fill(Answer("A", 70, 30))
    visitor.go_on()
    visitor.page.wait_for_url(lambda url: f"/trial/{position}/" not in url)


def written() -> list[Written]:
    rows = WrittenAnswer.objects.order_by("judgment__trial__position")
    return [Written(row.text, row.abstained) for row in rows]


def test_a_study_of_two_questions_and_two_abstracts(visit: Visit, study: Study) -> None:
    visitor = visit(study)
    visitor.begin()
    visitor.skip()
    at_question(visitor)
    page = visitor.page
    assert EXPERT[:20] not in page.content()
    # Nothing is rated before there is an answer, and nothing is sent without one
    expect(page.locator("#ratings-later")).to_be_visible()
    expect(page.locator("#confidence")).to_be_hidden()
    visitor.go_on()
    expect(visitor.error("answer_text")).to_contain_text("I do not know")
    expect(page.locator("#answer_text")).to_be_focused()
    look(page)
    page.keyboard.type(TEXT)
    expect(visitor.error("answer_text")).to_be_empty()
    expect(page.locator("#answer-count")).to_have_text(f"{len(TEXT)} characters written.")
    visitor.driver.rate("confidence", 80)
    look(page)
    # It is there again after a reload, and while the network is gone
    page.reload()
    expect(page.locator("#answer_text")).to_have_value(TEXT)
    assert visitor.rating("confidence") != ""
    page.context.set_offline(True)
    visitor.go_on()
    expect(page.locator("#send-status")).to_have_text(WAITING)
    expect(page.locator("#answer_text")).to_have_value(TEXT)
    assert written() == []
    page.context.set_offline(False)
    expect(page.locator("#send-status")).to_be_empty()
    assert written() == [Written(TEXT)]
    row = WrittenAnswer.objects.get()
    assert row.first_ms is not None
    assert row.last_ms is not None
    assert 0 < row.first_ms <= row.last_ms <= (row.judgment.rt_ms or 0)
    assert (row.judgment.reloads, row.judgment.correct) == (1, None)
    # Who does not know types nothing and rates nothing; by the keyboard
    at_question(visitor)
    page.locator("#answer_text").press_sequentially("I th")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#answer_text")).to_be_disabled()
    expect(page.locator("#confidence")).to_be_hidden()
    look(page)
    page.reload()
    expect(page.locator("#abstained")).to_be_checked()
    visitor.go_on()
    expect(page.locator("#answer_text")).to_have_count(0)
    assert written() == [Written(TEXT), Written(abstained=True)]
    while visitor.participant.stage == "trial":
        answer_abstract(visitor)
    expect(page.locator("main")).to_contain_text("You answered 2 questions in your own words.")
    assert EXPERT[:20] not in page.content()
    look(page)
    visitor.finish()
    visitor.is_at("done")
    assert len(visitor.judgments()) == 4
