"""Exclusion rules: what they say at their edges, and that switching one off touches no other."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.exclusion import (
    FLAGS,
    PARTICIPANT_REASONS,
    TRIAL_REASONS,
    Clock,
    ParticipantFacts,
    Rules,
    TrialFacts,
    Untouched,
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
RULES = Rules()
PERSON = ParticipantFacts(finished=True, cheated=False, trials=[GOOD])


def trial_reasons(rules: Rules = RULES, **changes) -> tuple[str, ...]:
    verdict = judge_participant(replace(PERSON, trials=[replace(GOOD, **changes)]), rules)
    return verdict.trials[1]


def trial_flags(rules: Rules = RULES, **changes) -> tuple[str, ...]:
    verdict = judge_participant(replace(PERSON, trials=[replace(GOOD, **changes)]), rules)
    return verdict.trial_flags[1]


def person_reasons(*trials: TrialFacts, rules: Rules = RULES, **changes) -> tuple[str, ...]:
    return judge_participant(replace(PERSON, trials=trials or [GOOD], **changes), rules).participant


def test_nothing_speaks_against_a_careful_participant() -> None:
    verdict = judge_participant(PERSON, Rules())
    assert (verdict.participant, verdict.trials) == ((), {1: ()})
    assert (verdict.participant_flags, verdict.trial_flags) == ((), {1: ()})


@pytest.mark.parametrize(
    ("rt_ms", "reasons"), [(4_999, ("too_fast",)), (5_000, ()), (0, ("too_fast",)), (None, ())]
)
def test_a_trial_under_five_seconds_is_too_fast(
    rt_ms: int | None, reasons: tuple[str, ...]
) -> None:
    assert trial_reasons(rt_ms=rt_ms) == reasons


def test_a_recognised_trial_is_left_out_alone() -> None:
    other = replace(GOOD, trial_id=2)
    verdict = judge_participant(
        replace(PERSON, trials=[replace(GOOD, recognised=True), other]), Rules()
    )
    assert (verdict.participant, verdict.trials) == ((), {1: ("recognised",), 2: ()})


def test_several_reasons_come_in_the_order_of_the_rules() -> None:
    assert trial_reasons(recognised=True, rt_ms=10) == ("recognised", "too_fast")
    missed = replace(STILL, stratum="catch", correct=False)
    assert person_reasons(missed, cheated=True) == (
        "missed_catch",
        "untouched_sliders",
        "admitted_cheating",
    )


def test_one_missed_catch_trial_is_enough_and_other_mistakes_are_none() -> None:
    caught = replace(GOOD, trial_id=2, stratum="catch")
    missed = replace(GOOD, trial_id=3, stratum="catch", correct=False)
    assert person_reasons(GOOD, caught, missed) == ("missed_catch",)
    assert person_reasons(replace(GOOD, correct=False), caught) == ()


def test_one_moved_slider_is_enough() -> None:
    assert person_reasons(STILL, replace(STILL, trial_id=3)) == ("untouched_sliders",)
    assert person_reasons(GOOD, STILL) == ()


@pytest.mark.parametrize(
    ("trials", "reading", "is_out"),
    [
        # One of the two was never moved
        ([replace(STILL, confidence_moved=True)], "neither", False),
        ([replace(STILL, confidence_moved=True)], "either", True),
        ([replace(STILL, expertise_moved=True)], "either", True),
        # Each was moved once, in different trials
        (
            [
                replace(STILL, confidence_moved=True),
                replace(STILL, trial_id=3, expertise_moved=True),
            ],
            "either",
            False,
        ),
        ([STILL], "neither", True),
        ([STILL], "either", True),
        ([STILL], "off", False),
    ],
)
def test_an_untouched_slider_has_two_readings(
    trials: list[TrialFacts], reading: Untouched, is_out: bool
) -> None:
    reasons = person_reasons(*trials, rules=Rules(untouched_sliders=reading))
    assert reasons == (("untouched_sliders",) if is_out else ())


@pytest.mark.parametrize(
    ("choice_ms", "page_ms", "by_page", "by_choice"),
    [
        (4_999, 5_000, False, True),
        (4_999, 4_999, True, True),
        (5_000, 60_000, False, False),
        (None, 4_999, True, True),  # the choice came before Continue
        (None, 5_000, False, False),
        (None, None, False, False),
    ],
)
def test_too_fast_is_measured_to_continue_or_to_the_choice(
    choice_ms: int | None, page_ms: int | None, by_page: bool, by_choice: bool
) -> None:
    times = {"rt_choice_ms": choice_ms, "rt_ms": page_ms}
    assert trial_reasons(**times) == (("too_fast",) if by_page else ())
    choice = Rules(min_rt_clock="choice")
    assert trial_reasons(choice, **times) == (("too_fast",) if by_choice else ())


def test_who_left_early_is_not_said_to_have_never_moved_a_slider() -> None:
    assert person_reasons(STILL, finished=False) == ("not_finished",)
    assert judge_participant(replace(PERSON, trials=[]), Rules()).participant == ()


def test_who_was_not_asked_has_admitted_nothing() -> None:
    assert person_reasons(cheated=None) == ()
    assert person_reasons(cheated=True) == ("admitted_cheating",)


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({"rt_ms": 14_999}, ("fast_page",)),
        ({"rt_ms": 15_000}, ()),
        ({"hidden_ms": 60_000}, ()),
        ({"hidden_ms": 60_001}, ("much_hidden",)),
        ({"rt_ms": 6_000, "hidden_ms": 90_000}, ("fast_page", "much_hidden")),
        ({"rt_ms": None, "hidden_ms": None}, ()),
    ],
)
def test_flags_are_raised_and_exclude_nothing(changes: dict, flags: tuple[str, ...]) -> None:
    assert trial_flags(**changes) == flags
    assert trial_reasons(**changes) == ()


def test_a_shared_external_id_is_a_flag() -> None:
    verdict = judge_participant(replace(PERSON, shares_external_id=True), Rules())
    assert (verdict.participant, verdict.participant_flags) == ((), ("duplicate_external_id",))


def test_zero_switches_a_limit_off() -> None:
    off = Rules(min_rt_ms=0, fast_page_ms=0, hidden_flag_ms=0)
    assert trial_reasons(off, rt_ms=0) == ()
    assert trial_flags(off, rt_ms=0, hidden_ms=10**9) == ()


def test_codes_are_unique_and_stable() -> None:
    codes = [reason.code for reason in (*PARTICIPANT_REASONS, *TRIAL_REASONS, *FLAGS)]
    assert codes == [
        "missed_catch",
        "untouched_sliders",
        "admitted_cheating",
        "not_finished",
        "withdrawn",
        "recognised",
        "too_fast",
        "fast_page",
        "much_hidden",
        "duplicate_external_id",
    ]


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


ASKED = replace(
    GOOD,
    trial_id=3,
    stratum="question",
    correct=False,
    confidence_moved=False,
    expertise_moved=False,
)


@pytest.mark.parametrize("reading", ["neither", "either"])
def test_sliders_count_as_untouched_by_abstracts_alone(reading: Untouched) -> None:
    rules = Rules(untouched_sliders=reading)
    # Who does not know an answer rates nothing
    assert person_reasons(ASKED, rules=rules) == person_reasons(GOOD, ASKED, rules=rules) == ()
    moved = replace(ASKED, confidence_moved=True)
    assert person_reasons(STILL, moved, rules=rules) == ("untouched_sliders",)


@pytest.mark.parametrize("clock", ["page", "choice"])
@pytest.mark.parametrize(
    ("rt_ms", "abstained", "reasons"),
    [(2_999, False, ("too_fast",)), (3_000, False, ()), (2_999, True, ()), (0, True, ())],
)
def test_a_question_is_no_missed_catch_and_too_fast_by_a_time_of_its_own(
    clock: Clock, rt_ms: int, abstained: bool, reasons: tuple[str, ...]
) -> None:
    assert person_reasons(GOOD, ASKED) == ()
    trials = [replace(ASKED, rt_ms=rt_ms, abstained=abstained)]
    rules = Rules(min_rt_ms=60_000, min_rt_clock=clock, question_min_rt_ms=3_000)
    person = replace(PERSON, trials=trials)
    assert judge_participant(person, rules).trials[3] == reasons
    assert judge_participant(person, replace(rules, question_min_rt_ms=0)).trials[3] == ()


def test_a_quick_question_is_not_flagged_as_an_abstract_would_be() -> None:
    trials = [replace(GOOD, rt_ms=9_000), replace(ASKED, rt_ms=9_000)]
    assert judge_participant(replace(PERSON, trials=trials), RULES).trial_flags == {
        1: ("fast_page",),
        3: (),
    }
