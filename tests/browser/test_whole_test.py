"""The whole test, from the link to the thanks: with a mouse, by touch, with the keyboard alone, and without JavaScript."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import expect

from experiment.models import Judgment, Study
from experiment.participant.forms import TrialForm
from tests.browser.conftest import DESKTOP
from tests.browser.drivers import Driver, KeyboardDriver, MouseDriver, NoScriptDriver, TouchDriver
from tests.browser.visitor import Answer, Visitor, other
from tests.factories import make_study

Visit = Callable[..., Visitor]
N_TRIALS = 3
READING_MS = 400_000
PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}


@pytest.fixture
def study(transactional_db: None) -> Study:
    # Nothing can be skipped on the server's clock, which is all that there is without JavaScript: no trial is too fast.
    shape = {"human_items": 1, "machine_items": 1, "catch_items": 1, "min_rt_ms": 0}
    return make_study(recruitment="open", **shape)


def take_the_whole_test(visitor: Visitor) -> list[Answer]:
    """Choose rightly in catch trials and in every second other one; returns what was answered."""
    visitor.enter()
    visitor.agree()
    visitor.fill_demographics()
    visitor.practise()
    given = []
    for position in range(1, N_TRIALS + 1):
        visitor.is_at(f"trial/{position}")
        side_a_comes_first_everywhere(visitor)
        trial = visitor.trial
        rightly = trial.stratum == "catch" or position % 2 == 0
        side = trial.original_side if rightly else other(trial.original_side)
        visitor.read_for(READING_MS)
        confidence, expertise = (96, 3) if position % 3 else (5, 100)
        given.append(visitor.fill(Answer(side, confidence, expertise, recognised=position == 2)))
        visitor.go_on()
    visitor.is_at("debrief")
    see_the_results(visitor)
    visitor.driver.write(visitor.page.get_by_label("Comments"), "A pleasure.")
    visitor.finish()
    visitor.is_at("done")
    return given


def side_a_comes_first_everywhere(visitor: Visitor) -> None:
    order = visitor.page.locator(".abstract .alternation").evaluate_all(
        "nodes => nodes.map(n => [...n.querySelectorAll('.side-tag')].map(t => t.textContent).join(''))"
    )
    assert set(order) == {"AB"}


def see_the_results(visitor: Visitor) -> None:
    """Each test trial with the right verdict, both wordings by name, and the link to its article."""
    judged = [j for j in visitor.judgments() if j.trial.stratum != "catch"]
    right = sum(j.correct for j in judged)
    expect(visitor.page.get_by_text(f"{right} of {len(judged)}")).to_be_visible()
    note = "One abstract only showed whether you were reading and is not listed."
    expect(visitor.page.get_by_text(note)).to_be_visible()
    results = visitor.page.locator(".result")
    expect(results).to_have_count(len(judged))
    for judgment, result in zip(judged, results.all(), strict=True):
        number, verdict = judgment.trial.position, "right" if judgment.correct else "wrong"
        expect(result).to_contain_text(f"Abstract {number}: {verdict}.")
        item = judgment.trial.item
        result.locator("summary").press("Enter")  # a tap amid scrolling only ends the scrolling
        [alternation] = item.abstract.alternations
        for kind, words in (("original", alternation.original), ("changed", alternation.altered)):
            wording = result.locator(f".wording-{kind}")
            expect(wording.locator(".wording-text")).to_have_text(words)
            expect(wording.locator(".wording-tag")).to_have_text(kind)
            expect(wording).to_be_visible()
        assert result.get_by_role("link").get_attribute("href") == item.doi_url


def what_was_said_is_stored(visitor: Visitor, given: list[Answer]) -> list[Judgment]:
    judgments = visitor.judgments()
    assert [j.trial.position for j in judgments] == list(range(1, N_TRIALS + 1))
    for judgment, answer in zip(judgments, given, strict=True):
        assert judgment.side == answer.side
        assert judgment.correct == (answer.side == judgment.trial.original_side)
        assert (judgment.confidence, judgment.expertise) == (answer.confidence, answer.expertise)
        assert judgment.confidence_moved
        assert judgment.expertise_moved
        assert judgment.recognised is answer.recognised
    person = visitor.participant
    assert person.demographics == {
        "gender": "female",
        "age": "41",
        "country": "DE",
        "position": "doctoral_student",
        "experience_years": "prefer_not_to_say",
    }
    assert (person.stage, person.practice_attempts, person.excluded_by) == ("finished", 2, "")
    assert (person.comments, person.cheated) == ("A pleasure.", False)
    reasons = {j.trial.position: j.excluded_by for j in judgments if j.excluded_by}
    assert reasons == {2: "recognised"}
    return judgments


def the_times_are_sane(judgments: list[Judgment]) -> None:
    for judgment in judgments:
        assert judgment.rt_choice_ms >= READING_MS
        assert judgment.rt_choice_ms < judgment.rt_ms < READING_MS + 300_000
        assert (judgment.changes, judgment.reloads) == (0, 0)
        assert judgment.rt_final_choice_ms == judgment.rt_choice_ms
        for name in ("confidence", "expertise"):
            first = getattr(judgment, f"{name}_first_ms")
            last = getattr(judgment, f"{name}_last_ms")
            assert judgment.rt_choice_ms <= first <= last <= judgment.rt_ms
        # The server's clock did not skip the reading: what the browser adds to it is the skipped time.
        assert judgment.rt_ms - READING_MS <= judgment.server_ms
    for earlier, later in pairwise(judgments):
        assert earlier.received_at <= later.trial.shown_at


@pytest.mark.parametrize(
    ("driver", "options"),
    [(MouseDriver, DESKTOP), (TouchDriver, PHONE), (KeyboardDriver, DESKTOP)],
)
def test_the_whole_test(
    visit: Visit, study: Study, driver: type[Driver], options: dict[str, Any]
) -> None:
    visitor = visit(study, driver, **options)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    the_times_are_sane(judgments)
    seen = {(j.viewport_width, j.viewport_height) for j in judgments}
    assert seen == {tuple(options["viewport"].values())}


def test_the_whole_test_with_javascript_off(visit: Visit, study: Study) -> None:
    visitor = visit(study, NoScriptDriver, java_script_enabled=False)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    assert {getattr(j, name) for j in judgments for name in TrialForm.MEASURES} <= {None, ""}
    assert all(j.timed_ms == j.server_ms >= 0 for j in judgments)
