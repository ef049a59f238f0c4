"""The whole test, from the link to the thanks, on the published BrainBench test cases."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

from playwright.sync_api import expect

from experiment.models import Judgment, Study
from experiment.participant.forms import TrialForm
from tests.browser.drivers import KeyboardDriver, NoScriptDriver, TouchDriver
from tests.browser.visitor import Answer, Visitor, other

Visit = Callable[..., Visitor]
N_TRIALS = 11
READING_MS = 400_000
PHONE = {
    "viewport": {"width": 360, "height": 740},
    "has_touch": True,
    "is_mobile": True,
    "device_scale_factor": 2,
}


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
    assert order
    assert set(order) == {"AB"}


def see_the_results(visitor: Visitor) -> None:
    """Nine test trials, each with the right verdict, its original and the link to its article."""
    judged = [j for j in visitor.judgments() if j.trial.stratum != "catch"]
    right = sum(j.correct for j in judged)
    expect(visitor.page.get_by_text(f"{right} of {len(judged)}")).to_be_visible()
    note = "numbered as you saw them; 2 that only checked attention are not listed."
    expect(visitor.page.get_by_text(note)).to_be_visible()
    results = visitor.page.locator(".result")
    expect(results).to_have_count(len(judged))
    for judgment, result in zip(judged, results.all(), strict=True):
        number, verdict = judgment.trial.position, "right" if judgment.correct else "wrong"
        expect(result).to_contain_text(f"Abstract {number}: {verdict}.")
        item = judgment.trial.item
        wordings = result.locator(".wording-original .wording-text")
        marked = [passage.original for passage in item.abstract.alternations]
        assert wordings.all_text_contents() == marked
        link = result.get_by_role("link", include_hidden=True)
        assert link.get_attribute("href") == item.doi_url


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
    return judgments


def the_session_is_as_designed(visitor: Visitor) -> None:
    """Six human-created, three machine-created and two catch trials; no work twice; the sides balanced."""
    trials = list(visitor.participant.trials.select_related("item"))
    assert Counter(trial.stratum for trial in trials) == {"human": 6, "machine": 3, "catch": 2}
    test_items = [trial.item for trial in trials if trial.stratum != "catch"]
    assert len({item.doi for item in test_items}) == 9
    assert all(t.item.source == t.stratum for t in trials if t.stratum != "catch")
    assert all(t.item.kind == "catch" for t in trials if t.stratum == "catch")
    assert sorted(Counter(trial.original_side for trial in trials).values()) == [5, 6]
    assert visitor.participant.stage == "finished"
    assert visitor.participant.demographics == {
        "gender": "female",
        "age": "41",
        "country": "DE",
        "position": "doctoral_student",
        "experience_years": "prefer_not_to_say",
    }
    assert visitor.participant.practice_attempts == 2
    assert visitor.participant.comments == "A pleasure."
    assert visitor.participant.cheated is False


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


def only_the_recognised_trial_is_excluded(visitor: Visitor) -> None:
    assert visitor.participant.excluded_by == ""
    reasons = {j.trial.position: j.excluded_by for j in visitor.judgments() if j.excluded_by}
    assert reasons == {2: "recognised"}


def viewport(judgments: list[Judgment]) -> set[tuple[int | None, int | None]]:
    return {(j.viewport_width, j.viewport_height) for j in judgments}


def test_the_whole_test_on_a_desktop_with_the_mouse(visit: Visit, brainbench: Study) -> None:
    visitor = visit(brainbench)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    the_session_is_as_designed(visitor)
    the_times_are_sane(judgments)
    only_the_recognised_trial_is_excluded(visitor)
    assert viewport(judgments) == {(1280, 900)}
    # The one complaint in the console is the wrong practice answer's status: twice, as script and as page.
    assert all("practice" in line and "422" in line for line in visitor.console)


def test_the_whole_test_on_a_phone_by_touch(visit: Visit, brainbench: Study) -> None:
    visitor = visit(brainbench, TouchDriver, **PHONE)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    the_session_is_as_designed(visitor)
    the_times_are_sane(judgments)
    only_the_recognised_trial_is_excluded(visitor)
    assert viewport(judgments) == {(360, 740)}


def test_the_whole_test_with_the_keyboard_alone(visit: Visit, brainbench: Study) -> None:
    visitor = visit(brainbench, KeyboardDriver)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    the_session_is_as_designed(visitor)
    the_times_are_sane(judgments)
    only_the_recognised_trial_is_excluded(visitor)


def test_the_whole_test_with_javascript_off(visit: Visit, brainbench: Study) -> None:
    # Nothing can be skipped on the server's clock, which is all that there is: let no trial be too fast.
    Study.objects.filter(pk=brainbench.pk).update(min_rt_ms=0)
    visitor = visit(brainbench, NoScriptDriver, java_script_enabled=False)
    judgments = what_was_said_is_stored(visitor, take_the_whole_test(visitor))
    the_session_is_as_designed(visitor)
    only_the_recognised_trial_is_excluded(visitor)
    measures = [name for name in TrialForm.MEASURES if not name.startswith("viewport")]
    assert {getattr(j, name) for j in judgments for name in measures} == {None}
    assert viewport(judgments) == {(None, None)}
    assert all(j.timed_ms == j.server_ms >= 0 for j in judgments)
