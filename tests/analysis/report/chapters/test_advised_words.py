"""The sentences on decisions with advice, each branch of small results."""

from dataclasses import replace

import pytest

from analysis.codec import MissingResult
from analysis.data.exclusions import ASSIGNED
from analysis.presentation import Paragraph
from analysis.report.chapters.advised.results import (
    AccuracyWithAdvice,
    Analysis,
    Comparison,
    ComputedTeam,
    Condition,
    ConditionReliance,
    Contrast,
    Decider,
    PairOfDeciders,
    RealAndComputed,
    Reliance,
)
from analysis.report.chapters.advised.tables import DECIDERS, FINAL, FIRST, effect_name
from analysis.report.chapters.advised.words.accuracy import (
    SECOND_LOOK,
    advised_figure,
    after_advice,
    on_accuracy,
    times,
)
from analysis.report.chapters.advised.words.estimates import brackets_of, points_of, share_of
from analysis.report.chapters.advised.words.reliance import (
    SWITCHED,
    advised_flow_figure,
    advised_reliance_figure,
    moved,
    on_reliance,
)
from analysis.report.chapters.advised.words.teams import (
    WITHIN_SENTENCES,
    advised_teams_figure,
    on_teams,
)
from analysis.stats.calibration import CalibrationError
from analysis.stats.estimates import Proportion, proportion
from analysis.stats.reliance.confidence import BeforeAndAfter, Rated, TimeRatio
from analysis.stats.reliance.measures import Detection, FlowCell, WeightOfAdvice
from analysis.stats.reliance.moderators import ADVICE_RIGHT, LEARNING, OWN, Effect, Moderators
from analysis.stats.reliance.realised import Realised
from analysis.stats.reliance.trials import AFTER, NONE, Estimate
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.advised import ADVISER
from analysis.teams.results import Method

NONE_YET = MissingResult("None.", "Some.")
ENOUGH, FEW = 40, 3  # participants, or test cases
# How p and the number of clusters of a difference give each verdict
CLEAR, UNCLEAR, TOO_FEW = (0.001, ENOUGH), (0.4, ENOUGH), (0.001, FEW)


def estimate(value: float, of: tuple[float, int] = CLEAR, *, ends: bool = True) -> Estimate:
    """An estimate from 1,200 trials, with its p before the correction."""
    ci95 = (value - 0.05, value + 0.05) if ends else None
    return Estimate(1200, 50, 60, value, ci95, of[0], of[1])


def condition(name: str, after: float, *, before: float | None = None) -> Condition:
    """An arm without first answers, or with them."""
    return Condition(
        name=name,
        arm=name,
        procedure=NONE if before is None else AFTER,
        n_participants=50,
        n_trials=1200,
        before=NONE_YET if before is None else estimate(before),
        after=estimate(after),
        change=NONE_YET if before is None else estimate(after - before),
        seconds_before=NONE_YET,
        seconds=NONE_YET,
    )


def comparison(value: float, of: tuple[float, int]) -> Comparison:
    time = TimeRatio(1200, 1.25, (1.1, 1.4), 0.01)
    return Comparison("advised", "alone", estimate(value, of), of[0], time=time)


def accuracy(
    *comparisons: Comparison, others: tuple[Analysis, ...] = (), before: float | None = 0.6
) -> AccuracyWithAdvice:
    """Two arms, one of them with advice after a first answer; without comparisons, the one with advice alone."""
    alone, advised = condition("alone", 0.6), condition("advised", 0.7, before=before)
    return AccuracyWithAdvice(
        adviser_name="a model",
        adviser=right(8, 10),
        conditions=(alone, advised) if comparisons else (advised,),
        comparisons=comparisons,
        other_analyses=others,
        model=NONE_YET,
        confidence_model=NONE_YET,
    )


def right(n_right: int, n: int) -> Proportion:
    return proportion([1.0] * n_right + [0.0] * (n - n_right))


def said(paragraphs: list[Paragraph]) -> list[str]:
    """Each paragraph's text and items, in their order."""
    return [text for own in paragraphs for text in (own.text, *own.items) if text]


# --- How an estimate is written.


def test_brackets_have_what_is_known_of_a_difference() -> None:
    known = estimate(0.1)
    assert brackets_of(known, 0.02) == (
        " (95% CI +5.0 to +15.0; p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}.001; "
        "after Holm p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}.020)"
    )
    assert brackets_of(replace(known, p=None)) == " (95% CI +5.0 to +15.0)"
    assert brackets_of(replace(known, p=None, ci95=None)) == ""
    assert points_of(replace(known, p=None, ci95=None)) == "+10.0 points"
    assert share_of(replace(known, ci95=None)) == "10.0%"


# --- Accuracy.


@pytest.mark.parametrize(
    ("value", "of", "words"),
    [
        (0.1, CLEAR, "people were right in 70.0% of their trials, 10.0 points more than in the arm “alone” (95% CI"),
        (-0.1, CLEAR, "people were right in 70.0% of their trials, 10.0 points less than in the arm “alone” (95% CI"),
        (0.1, UNCLEAR, "and in the arm “alone” in 60.0%, which is not a clear difference: +10.0 points (95% CI"),
        (0.1, TOO_FEW, "in 60.0%. There are too few participants or test cases to say whether they differ: +10.0 points (95% CI"),
    ],
)  # fmt: skip
def test_the_comparison_of_arms_follows_its_verdict(
    value: float, of: tuple[float, int], words: str
) -> None:
    assert words in after_advice(accuracy(comparison(value, of)))


def test_a_single_arm_is_compared_before_and_after_advice() -> None:
    own = accuracy()
    assert after_advice(own).startswith(
        "In the arm “advised”, people were right in 60.0% of their trials before advice and in 70.0% after it: +10.0 points (95% CI"
    )
    # The finding says it, so that the list does not
    assert said(on_accuracy(own))[1:] == [SECOND_LOOK]
    assert list(times(own)) == []


def test_arms_and_their_changes_are_both_said() -> None:
    adviser, change, second_look = said(on_accuracy(accuracy(comparison(0.1, CLEAR))))
    assert (
        adviser
        == "The adviser, shown to participants as “a model”, was right on 80.0% of 10 test cases that were judged."
    )
    assert change.startswith(
        "In 1,200 trials of the arm “advised”, the same people were right in 60.0% before advice and in 70.0% after it: +10.0 points"
    )
    assert second_look == SECOND_LOOK
    assert list(times(accuracy(comparison(0.1, CLEAR)))) == [
        "A trial of the arm “advised” took 1.25 (95% CI 1.10 to 1.40) times as long as one of the arm “alone”."
    ]


def test_without_first_answers_nothing_is_said_of_a_second_look() -> None:
    own = accuracy(comparison(0.1, CLEAR), before=None)
    assert len(said(on_accuracy(own))) == 1


def analysis(code: str, value: float, of: tuple[float, int]) -> Analysis:
    contrast = Contrast("advised", "alone", estimate(value, of), of[0])
    return Analysis(code, "Nothing is excluded.", 70, 1500, (contrast,))


@pytest.mark.parametrize(
    ("value", "of", "words"),
    [
        (0.1, CLEAR, "Intention to treat, by all answers of 50 participants of the two arms who gave any (1,200 trials), gives the same conclusion on “advised” against “alone”: +10.0 points"),
        (-0.1, CLEAR, "By intention to treat, with all answers of 50 participants of the two arms who gave any (1,200 trials), “advised” and “alone” differ: \u221210.0 points"),
        (0.1, UNCLEAR, "“advised” and “alone” do not clearly differ: +10.0 points"),
        (0.1, TOO_FEW, "there are too few participants or test cases to say whether “advised” and “alone” differ: +10.0 points"),
    ],
)  # fmt: skip
def test_intention_to_treat_follows_its_verdict(
    value: float, of: tuple[float, int], words: str
) -> None:
    own = accuracy(comparison(0.1, CLEAR), others=(analysis(ASSIGNED, value, of),))
    assert words in said(on_accuracy(own))[1]


def test_analyses_of_too_few_have_no_conclusion_that_could_be_the_same_or_change() -> None:
    others = (analysis(ASSIGNED, 0.1, TOO_FEW), analysis("no_rules", 0.1, UNCLEAR))
    own = accuracy(comparison(0.1, TOO_FEW), others=others)
    (assigned,) = on_accuracy(own)[1].items
    assert "too few participants or test cases to say whether" in assigned
    assert "same conclusion" not in assigned


def test_rules_that_turn_a_conclusion_are_named_after_intention_to_treat() -> None:
    same, turned = analysis("no_rules", 0.1, CLEAR), analysis("missed_catch", 0.1, UNCLEAR)
    assigned = analysis(ASSIGNED, 0.1, CLEAR)
    own = accuracy(comparison(0.1, CLEAR), others=(same, turned, assigned))
    items = on_accuracy(own)[1].items
    assert [text.split(",")[0] for text in items] == [
        "Intention to treat",
        "The conclusion on “advised” changes in this analysis: Nothing is excluded.",
    ]


def test_the_figure_of_accuracies_says_which_marks_it_has() -> None:
    both = advised_figure(accuracy(comparison(0.1, CLEAR)))
    assert both.caption == (
        "n = 1,200 trials of 50 participants in “alone”; 1,200 trials of 50 participants in “advised”. Thin lines are 95% intervals "
        "clustered by participants and test cases. Diamonds are first answers, before advice. The solid line is the accuracy of the "
        "adviser, the dashed line chance."
    )
    assert both.alt == (
        "alone: 60.0%; advised: 60.0% before advice, 70.0% after it; the adviser alone 80.0%."
    )
    last = advised_figure(accuracy(comparison(0.1, CLEAR), before=None))
    assert "Diamonds" not in last.caption
    assert last.alt == "alone: 60.0%; advised: 70.0%; the adviser alone 80.0%."


# --- Reliance.


def relied(**changes: object) -> ConditionReliance:
    """An arm with advice of which nothing is known but these measures."""
    unknown = dict.fromkeys(
        (
            *("agreement", "switching", "rair", "rsr", "overreliance", "underreliance", "weight"),
            *("detection", "detection_differ", "flow", "calibration"),
        ),
        NONE_YET,
    )
    return ConditionReliance(name="advised", procedure=AFTER, **{**unknown, **changes})  # type: ignore[arg-type]


def words_of(**changes: object) -> list[str]:
    return said(on_reliance(Reliance((relied(**changes),), NONE_YET)))


def test_an_arm_whose_measures_are_missing_has_no_sentence() -> None:
    assert words_of() == []
    assert words_of(rair=estimate(0.4)) == []
    alone = replace(relied(rair=estimate(0.4), rsr=estimate(0.9)), procedure=NONE)
    assert on_reliance(Reliance((alone,), NONE_YET)) == []


def test_corrected_and_kept_answers_stand_before_what_was_followed() -> None:
    followed = Detection(700, 500, 0.8, 0.3, 0.8, 0.3, 1.37, (0.9, 1.84), 0.1, None)
    corrected, advised = words_of(
        rair=estimate(0.4), rsr=estimate(0.9, ends=False), detection=followed
    )
    assert corrected == (
        "In the arm “advised”, people corrected 40.0% (95% CI 35.0% to 45.0%) of 1,200 wrong first answers when the advice was right, and "
        "kept 90.0% of 1,200 right ones when it was wrong."
    )
    assert advised == (
        "In the arm “advised”, the final answer was the advised one in 80.0% of trials with right advice and in 30.0% of those with wrong "
        "advice: a sensitivity d' of 1.37 (95% CI 0.90 to 1.84)."
    )


def test_a_sensitivity_without_an_interval_is_not_said() -> None:
    # Of corrected shares, d' is 0.29 although both kinds of advice were followed alike
    (advised,) = words_of(detection=Detection(2, 1, 1, 1, 5 / 6, 3 / 4, 0.29, None, -0.82, None))
    assert advised.endswith(
        "in 100.0% of trials with right advice and in 100.0% of those with wrong advice. The sensitivity d' has no interval here."
    )


@pytest.mark.parametrize(
    ("of", "ending"),
    [
        (CLEAR, "over 1,200 trials (after Holm p = .001)."),
        (UNCLEAR, "This is not clearly different from advice without weight."),
        (TOO_FEW, "There are too few participants, test cases or changes of confidence to say whether advice had any weight."),
    ],
)  # fmt: skip
def test_the_weight_of_advice_follows_its_verdict(of: tuple[float, int], ending: str) -> None:
    weight = WeightOfAdvice(estimate(0.3, of), estimate(0.4), 900, 20, 30, p_holm=of[0])
    (sentence,) = words_of(weight=weight)
    assert "final confidence differed by 30.0% (95% CI 25.0% to 35.0%) of a difference" in sentence
    assert sentence.replace("\N{NO-BREAK SPACE}", " ").endswith(ending)


def test_a_weight_without_a_test_has_no_p() -> None:
    weight = WeightOfAdvice(estimate(0.3), estimate(0.4), 900, 20, 30)
    assert "Holm" not in words_of(weight=weight)[0]


@pytest.mark.parametrize(
    ("value", "of", "ending"),
    [
        (0.1, CLEAR, " The difference rose: +10.0 points (95% CI"),
        (-0.1, CLEAR, " The difference fell: \u221210.0 points (95% CI"),
        (0.1, UNCLEAR, ""),
        (0.1, TOO_FEW, ""),
    ],
)
def test_the_change_of_overconfidence_follows_its_verdict(
    value: float, of: tuple[float, int], ending: str
) -> None:
    error = CalibrationError(0.1, None, 1200, 10, 0.8, 0.7, None, None, 100, 1, "rule", "ci")
    rated = Rated(0.8, 0.7, estimate(0.1), estimate(0.2), error)
    after = replace(rated, overconfidence=estimate(0.1 + value))
    change = BeforeAndAfter(rated, after, estimate(value, of), estimate(0), p_holm=of[0])
    (sentence,) = words_of(calibration=change)
    start, _, rest = sentence.partition("after it.")
    assert start.startswith(
        "In the arm “advised”, mean confidence minus accuracy was +10.0 points before advice and "
    )
    assert rest.startswith(ending)
    assert bool(rest) == bool(ending)


@pytest.mark.parametrize("name", SWITCHED)
def test_effects_on_switching_are_said_where_they_are_clear(name: str) -> None:
    def words(verdict: Verdict | None, estimated: float = 1.0) -> list[str]:
        effect = Effect(name, estimated, False, None, 0.01, verdict)
        return list(moved(Moderators(1200, 50, 60, (effect,), (), "rule")))

    above, below = words(Verdict.ABOVE), words(Verdict.BELOW)
    assert (above, below) == ([SWITCHED[name][0]], [SWITCHED[name][1]])
    assert words(Verdict.UNCLEAR) == words(Verdict.TOO_FEW) == words(None) == []


def test_signs_of_effects_on_switching_are_in_their_sentences() -> None:
    assert "right advice more readily" in SWITCHED[ADVICE_RIGHT][0]
    assert "the less they switched" in SWITCHED[OWN][1]
    assert "were better" in SWITCHED[LEARNING][0]
    assert list(moved(None)) == []


def test_effects_have_names_and_arms_stand_for_themselves() -> None:
    def named(name: str) -> str:
        return effect_name(Effect(name, 0.1, False, None))

    assert named(ADVICE_RIGHT) == "Right advice, against wrong"
    assert named(f"{ADVICE_RIGHT} x Second arm") == "Right advice x Second arm"
    assert named("Second arm") == "Second arm"


def test_the_figures_of_reliance_count_trials_and_answers() -> None:
    cells = (
        FlowCell(True, True, True, 700, None),
        FlowCell(True, False, False, 30, None),
        FlowCell(False, True, False, 1200, None),
        FlowCell(False, False, True, 70, None),
    )
    arm = relied(flow=cells)
    flow = advised_flow_figure([arm, replace(arm, name="other")])
    assert flow.caption.startswith("n = 2,000 trials in “advised”; 2,000 trials in “other”. Trials")
    assert flow.alt == (
        "advised: of 2,000 trials, 1,200 were switched from wrong to right and 30 from right to wrong; "
        "other: of 2,000 trials, 1,200 were switched from wrong to right and 30 from right to wrong."
    )
    plane = advised_reliance_figure([(arm, estimate(0.9), replace(estimate(0.4), n=1))])
    assert plane.caption.startswith(
        "n = 1 trial with a wrong first answer and right advice, and 1,200 trials with a right first answer and wrong advice, in “advised”. "
    )
    assert plane.alt == (
        "advised: 40.0% of wrong first answers corrected where the advice was right, and 90.0% of right ones kept where it was wrong."
    )


# --- Real decisions beside computed teams.


def teams(*others: tuple[str, tuple[float, int]], share: object = NONE_YET) -> RealAndComputed:
    """People after advice are the most accurate; each of the others with how its difference is known."""
    best = Decider(FINAL, estimate(0.8), None, None)
    deciders = [
        Decider(code, estimate(0.7), estimate(0.1), estimate(0.1, of), of[0]) for code, of in others
    ]
    realised = Realised(estimate(0.05), estimate(0.1), estimate(0.05), share, None)  # type: ignore[arg-type]
    team = ComputedTeam(Method.LOGISTIC, realised, "rule")
    pair = PairOfDeciders("logistic", FIRST, team.realised.computed, 0.01)
    no_bayesian = ("No Bayesian team.",)
    return RealAndComputed(1200, 50, 60, (best, *deciders), (pair,), (team,), no_bayesian)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ([(FIRST, CLEAR), (ADVISER, CLEAR)], "On the same 1,200 trials, the most accurate decisions were those of people after advice: 80.0% were right."),
        ([(FIRST, UNCLEAR), (ADVISER, CLEAR)], "the decisions of people after advice had the highest accuracy (80.0%), which is not clearly different from that of people before advice (70.0%)."),
        ([(FIRST, UNCLEAR), (ADVISER, UNCLEAR)], "from that of people before advice (70.0%) and the adviser alone (70.0%)."),
        ([(FIRST, UNCLEAR), (ADVISER, TOO_FEW)], "had the highest accuracy (80.0%). There are too few participants or test cases to say whether they were more accurate than those of others."),
    ],
)  # fmt: skip
def test_the_most_accurate_decisions_follow_the_verdicts_of_others(
    others: list[tuple[str, tuple[float, int]]], words: str
) -> None:
    first, *_, last = said(on_teams(teams(*others)))
    assert first.endswith(words)
    assert last == "No Bayesian team."


@pytest.mark.parametrize(
    ("of_first", "verdict", "words"),
    [
        (0.6, CLEAR, "the most accurate decisions were those of the adviser alone and people after advice: 80.0% were right."),
        (0.6, UNCLEAR, "the decisions of the adviser alone and people after advice had the highest accuracy (80.0%), which is not clearly different from that of people before advice (60.0%)."),
        (0.8, UNCLEAR, "the decisions of people before advice, the adviser alone and people after advice had the same accuracy (80.0%)."),
    ],
)  # fmt: skip
def test_deciders_that_are_equally_accurate_are_named_together(
    of_first: float, verdict: tuple[float, int], words: str
) -> None:
    own = teams((FIRST, verdict), (ADVISER, UNCLEAR))
    accuracies = {FIRST: of_first, ADVISER: 0.8, FINAL: 0.8}
    order = (FIRST, ADVISER, FINAL)
    deciders = sorted(
        (replace(one, accuracy=estimate(accuracies[one.code])) for one in own.deciders),
        key=lambda one: order.index(one.code),
    )
    assert said(on_teams(replace(own, deciders=tuple(deciders))))[0].endswith(words)


def test_a_share_of_the_computed_gain_has_its_interval_where_there_is_one() -> None:
    def realised(own: RealAndComputed) -> str:
        return said(on_teams(own))[1]

    own = teams((FIRST, CLEAR))
    assert realised(own).startswith(
        "Decisions of the logistic team would have changed accuracy by +10.0 points (95% CI +5.0 to +15.0; p"
    )
    assert realised(own).endswith(
        "After advice minus before it, the change was +5.0. Without a computed gain, there is no share of it that people realised."
    )
    own = teams((FIRST, CLEAR), share=0.5)
    assert realised(own).endswith(
        "the change was +5.0. The share of the gain that people realised (50%) has no interval, because that of the computed gain includes 0 "
        "or less."
    )
    (team,) = own.teams
    team = replace(team, realised=replace(team.realised, share_ci95=(0.2, 0.8)))
    assert realised(replace(own, teams=(team,))).endswith(
        "the change was +5.0: people realised 50% (95% CI 20.0% to 80.0%) of the computed gain."
    )
    (pair,) = own.pairs
    unclear = realised(replace(own, teams=(team,), pairs=(replace(pair, p_holm=0.08),)))
    assert "which is not a clear change. After advice" in unclear
    assert unclear.endswith(
        "realised (50%) is only described, because the computed gain is not clear."
    )


def test_each_decider_has_a_name_in_sentences_and_in_the_figure() -> None:
    assert WITHIN_SENTENCES.keys() == DECIDERS.keys()
    figure = advised_teams_figure(own := teams((ADVISER, CLEAR)))
    assert figure.alt == "people after advice 80.0%; adviser alone 70.0%."
    assert "Computed teams combine" in figure.caption
    assert "There is no computed team." in advised_teams_figure(replace(own, teams=())).caption
