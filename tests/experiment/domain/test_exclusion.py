"""Exclusion rules: what they say at their edges, and that switching one off touches no other."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.exclusion import (
    FLAGS,
    PARTICIPANT_REASONS,
    TRIAL_REASONS,
    ParticipantFacts,
    Rules,
    TrialFacts,
    judge_participant,
)

GOOD = TrialFacts(
    1,
    "human",
    correct=True,
    recognised=False,
    rt_ms=60_000,
    confidence_moved=True,
    expertise_moved=True,
)
STILL = replace(GOOD, trial_id=2, confidence_moved=False, expertise_moved=False)
CONFIDENT = replace(STILL, confidence_moved=True)
EXPERT = replace(STILL, trial_id=3, expertise_moved=True)
CAUGHT = replace(GOOD, trial_id=4, stratum="catch")
MISSED = replace(GOOD, trial_id=5, stratum="catch", correct=False)
# Who does not know an answer rates nothing
ASKED = replace(STILL, trial_id=6, stratum="question", correct=False)
FAST = replace(GOOD, trial_id=7, rt_ms=900, server_ms=1_000)
SLOW = replace(GOOD, trial_id=8, server_ms=61_000)
PERSON = ParticipantFacts(finished=True, cheated=False, trials=[GOOD])

OFF = Rules(min_rt_ms=0, fast_page_ms=0, hidden_flag_ms=0)
CHOICE = Rules(min_rt_clock="choice")
QUESTIONS = Rules(min_rt_ms=60_000, question_min_rt_ms=3_000)
TRIALS = [
    (Rules(), GOOD, {}, "", ""),
    (Rules(), GOOD, {"rt_ms": 4_999}, "too_fast", "fast_page"),
    (Rules(), GOOD, {"rt_ms": 5_000}, "", "fast_page"),
    (Rules(), GOOD, {"rt_ms": 0}, "too_fast", "fast_page"),
    (Rules(), GOOD, {"rt_ms": None, "hidden_ms": None}, "", ""),
    (Rules(), GOOD, {"rt_ms": 14_999}, "", "fast_page"),
    (Rules(), GOOD, {"rt_ms": 15_000}, "", ""),
    (Rules(), GOOD, {"hidden_ms": 60_000}, "", ""),
    (Rules(), GOOD, {"hidden_ms": 60_001}, "", "much_hidden"),
    (Rules(), GOOD, {"rt_ms": 6_000, "hidden_ms": 90_000}, "", "fast_page much_hidden"),
    (Rules(), GOOD, {"recognised": True}, "recognised", ""),
    (Rules(), GOOD, {"recognised": True, "rt_ms": 10}, "recognised too_fast", "fast_page"),
    (OFF, GOOD, {"rt_ms": 0, "hidden_ms": 10**9}, "", ""),
    # Measured until Continue, or until the choice
    (Rules(), GOOD, {"rt_choice_ms": 4_999, "rt_ms": 5_000}, "", "fast_page"),
    (CHOICE, GOOD, {"rt_choice_ms": 4_999, "rt_ms": 5_000}, "too_fast", "fast_page"),
    (CHOICE, GOOD, {"rt_choice_ms": 5_000}, "", ""),
    (CHOICE, GOOD, {"rt_ms": 4_999}, "too_fast", "fast_page"),  # the choice came before Continue
    (CHOICE, GOOD, {"rt_ms": 5_000}, "", "fast_page"),
    (CHOICE, GOOD, {"rt_ms": None}, "", ""),
    # A question has a time of its own and is not flagged as an abstract would be
    (QUESTIONS, ASKED, {"rt_ms": 2_999}, "too_fast", ""),
    (QUESTIONS, ASKED, {"rt_ms": 3_000}, "", ""),
    (QUESTIONS, ASKED, {"rt_ms": 0, "abstained": True}, "", ""),
    (replace(QUESTIONS, min_rt_clock="choice"), ASKED, {"rt_ms": 2_999}, "too_fast", ""),
    (replace(QUESTIONS, min_rt_clock="choice"), ASKED, {"rt_ms": 3_000}, "", ""),
    (replace(QUESTIONS, question_min_rt_ms=0), ASKED, {"rt_ms": 0}, "", ""),
]


@pytest.mark.parametrize(("rules", "trial", "changes", "reasons", "flags"), TRIALS)
def test_a_trial_is_left_out_and_flagged_for_what_it_is(
    rules: Rules, trial: TrialFacts, changes: dict[str, Any], reasons: str, flags: str
) -> None:
    trials = [replace(trial, **changes), replace(GOOD, trial_id=9)]
    verdict = judge_participant(replace(PERSON, trials=trials), rules)
    assert verdict.participant == verdict.participant_flags == ()
    assert verdict.trials[trial.trial_id] == tuple(reasons.split())
    assert verdict.trial_flags[trial.trial_id] == tuple(flags.split())
    if rules.min_rt_ms <= 5_000:  # the other trial stays
        assert (verdict.trials[9], verdict.trial_flags[9]) == ((), ())


NEITHER, EITHER, NO_RULE = (
    Rules(untouched_sliders=reading) for reading in ("neither", "either", "off")
)
PEOPLE = [
    (Rules(), {}, [], ""),
    # One missed catch trial is enough, and other mistakes are none
    (Rules(), {}, [GOOD, CAUGHT, MISSED], "missed_catch"),
    (Rules(), {}, [replace(GOOD, correct=False), CAUGHT], ""),
    (Rules(), {}, [GOOD, ASKED], ""),
    # One slider that was moved is enough; or each was to be moved once
    (NEITHER, {}, [STILL], "untouched_sliders"),
    (NEITHER, {}, [GOOD, STILL], ""),
    (NEITHER, {}, [CONFIDENT], ""),
    (EITHER, {}, [STILL], "untouched_sliders"),
    (EITHER, {}, [CONFIDENT], "untouched_sliders"),
    (EITHER, {}, [EXPERT], "untouched_sliders"),
    (EITHER, {}, [CONFIDENT, EXPERT], ""),
    (NO_RULE, {}, [STILL], ""),
    # They count as untouched by abstracts alone
    (NEITHER, {}, [ASKED], ""),
    (EITHER, {}, [GOOD, ASKED], ""),
    (NEITHER, {}, [STILL, replace(ASKED, confidence_moved=True)], "untouched_sliders"),
    (EITHER, {}, [STILL, replace(ASKED, confidence_moved=True)], "untouched_sliders"),
    # Who left early is not said to have never moved one; who was not asked has admitted nothing
    (Rules(), {"finished": False}, [STILL], "not_finished"),
    (Rules(), {"cheated": None}, [GOOD], ""),
    # More than half of what the server timed; who left early is only unfinished
    (Rules(), {}, [FAST, SLOW], ""),
    (Rules(), {}, [FAST, FAST, SLOW], "mostly_too_fast"),
    (Rules(), {}, [FAST, SLOW, replace(FAST, server_ms=None)], ""),
    (Rules(), {"finished": False}, [FAST], "not_finished"),
    (Rules(), {"cheated": True}, [GOOD], "admitted_cheating"),
    # A person decides whatever the rules are, and is counted after them
    (Rules(), {"by_hand": True}, [GOOD], "by_hand"),
    (Rules(), {"by_hand": True, "cheated": True}, [GOOD], "admitted_cheating by_hand"),
    (
        Rules(),
        {"cheated": True},
        [replace(STILL, stratum="catch", correct=False)],
        "missed_catch untouched_sliders admitted_cheating",
    ),
]


@pytest.mark.parametrize(("rules", "changes", "trials", "reasons"), PEOPLE)
def test_a_participant_is_left_out_for_what_they_did(
    rules: Rules, changes: dict[str, Any], trials: list[TrialFacts], reasons: str
) -> None:
    verdict = judge_participant(replace(PERSON, trials=trials, **changes), rules)
    assert verdict.participant == tuple(reasons.split())


def test_a_shared_external_id_is_a_flag() -> None:
    verdict = judge_participant(replace(PERSON, shares_external_id=True), Rules())
    assert (verdict.participant, verdict.participant_flags) == ((), ("duplicate_external_id",))


@pytest.mark.parametrize("excludes", [True, False])
def test_a_missed_attention_check_is_a_flag_and_a_reason_where_the_rules_say_so(
    *, excludes: bool
) -> None:
    facts = replace(PERSON, missed_attention=True)
    verdict = judge_participant(facts, Rules(missed_attention=excludes))
    assert verdict.participant == ("missed_attention",) * excludes
    assert verdict.participant_flags == ("wrong_attention",)


def test_codes_are_unique_and_stable() -> None:
    codes = " ".join(reason.code for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS, *FLAGS))
    assert codes == (
        "missed_catch untouched_sliders admitted_cheating missed_attention mostly_too_fast by_hand not_finished withdrawn "
        "recognised too_fast fast_page much_hidden times_disagree duplicate_external_id wrong_attention"
    )


FACTS = st.builds(
    ParticipantFacts,
    finished=st.booleans(),
    cheated=st.none() | st.booleans(),
    trials=st.lists(
        st.builds(
            TrialFacts,
            trial_id=st.integers(1, 99),
            stratum=st.sampled_from(["human", "machine", "catch"]),
            correct=st.booleans(),
            recognised=st.booleans(),
            rt_ms=st.none() | st.integers(0, 100_000),
            confidence_moved=st.booleans(),
            expertise_moved=st.booleans(),
            rt_choice_ms=st.none() | st.integers(0, 100_000),
            hidden_ms=st.none() | st.integers(0, 100_000),
        ),
        unique_by=lambda trial: trial.trial_id,
    ),
    shares_external_id=st.booleans(),
)
SWITCHES = {
    "missed_catch": False,
    "untouched_sliders": "off",
    "admitted_cheating": False,
    "recognised": False,
}


@given(FACTS, st.sampled_from(sorted(SWITCHES)))
def test_switching_a_rule_off_takes_its_reason_away_and_nothing_else(
    facts: ParticipantFacts, rule: str
) -> None:
    strict, lenient = (
        judge_participant(facts, Rules()),
        judge_participant(facts, Rules(**{rule: SWITCHES[rule]})),
    )

    def without(reasons: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(code for code in reasons if code != rule)

    assert lenient.participant == without(strict.participant)
    assert lenient.trials == {trial: without(reasons) for trial, reasons in strict.trials.items()}
    assert (lenient.participant_flags, lenient.trial_flags) == (
        strict.participant_flags,
        strict.trial_flags,
    )


@given(FACTS)
def test_every_trial_gets_a_verdict_and_every_code_is_known(facts: ParticipantFacts) -> None:
    verdict = judge_participant(facts, Rules())
    ids = {trial.trial_id for trial in facts.trials}
    assert set(verdict.trials) == set(verdict.trial_flags) == ids
    assert set(verdict.participant) <= {reason.code for reason in PARTICIPANT_REASONS}
    assert {code for reasons in verdict.trials.values() for code in reasons} <= {
        r.code for r in TRIAL_REASONS
    }
