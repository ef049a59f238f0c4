"""The practice: all that a trial asks, left by the right choice, and a page that says what comes."""

from collections.abc import Callable

from playwright.sync_api import expect

from experiment.models import Study
from experiment.services.counts import study_duration
from tests.browser import engines
from tests.browser.visitor import Answer, Visitor, other

Visit = Callable[..., Visitor]


@engines.both
def test_practice_is_a_whole_trial_and_says_what_was_wrong_and_right(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).practice()
    wrong = visitor.wrong_practice_side
    visitor.driver.choose(wrong)
    visitor.go_on()
    expect(visitor.error("recognised")).not_to_be_empty()
    visitor.answer_recognised()
    visitor.go_on()  # both ratings were left out
    expect(visitor.error("confidence")).not_to_be_empty()
    expect(visitor.page.locator("#confidence")).to_be_focused()
    given = visitor.fill(Answer(wrong, 70, 30))
    visitor.go_on()
    feedback = visitor.page.locator("#practice-feedback")
    expect(feedback).to_contain_text("Not this one.")
    expect(feedback).to_be_focused()
    visitor.is_at("practice")
    assert visitor.rating("confidence") == str(given.confidence)
    visitor.driver.choose(other(wrong))
    visitor.go_on()
    visitor.is_at("start")
    expect(feedback).to_contain_text(f"Right. Side {other(wrong)} is the original")
    minutes = study_duration(demo)
    comes = visitor.page.locator("#what-comes strong")
    expect(comes).to_have_text(
        [f"{demo.n_trials} abstracts", f"{minutes.low} to {minutes.high} minutes"]
    )
    visitor.page.reload()
    visitor.is_at("start")
    visitor.button("Show the first abstract").click()
    visitor.is_at("trial/1")
    assert visitor.participant.practice_attempts == 2
    assert visitor.judgments() == []
