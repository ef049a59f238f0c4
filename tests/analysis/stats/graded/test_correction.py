"""A judge that errs, put right by a sample that people graded; and rates under other thresholds."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.stats.graded import FATES
from analysis.stats.graded.correction import corrected_rates
from analysis.stats.graded.rates import clustered_rates
from analysis.stats.graded.sensitivity import Abstaining, by_threshold
from scoring.domain.grading.rubric import BIOSCORE
from tests.analysis.stats.graded.simulated import consistent_with, counts, probabilities

# What a judge says of an answer that is good, abstained, bad, unparsed in people's eyes: too mild
JUDGE = np.array(
    [
        [0.95, 0.0, 0.04, 0.01],
        [0.1, 0.85, 0.04, 0.01],
        [0.3, 0.02, 0.67, 0.01],
        [0.0, 0.0, 0.0, 1.0],
    ]
)
NAMES = np.array(FATES)


def study(
    rng, rqr=0.37, sr=0.31, n_templates=40, each=50, share=0.1, alike=0.1, judge=JUDGE, failed=0.0
):
    """Fates by the judge, by people of a random sample of the texts, templates, and which answers have a text.

    failed: the mean share of answers without one, which is each template's own.
    """
    table = counts(rqr, sr, np.full(n_templates, each), alike, rng)
    true = np.concatenate([np.repeat(np.arange(4), row) for row in table])
    said = (rng.random(len(true))[:, None] > judge.cumsum(axis=1)[true]).sum(axis=1).clip(0, 3)
    template = np.repeat(np.arange(n_templates), each)
    of_template = rng.beta(3 * failed, 3 * (1 - failed), n_templates) if failed else np.zeros(n_templates)  # fmt: skip
    has_text = rng.random(len(true)) >= of_template[template]
    said[~has_text] = 3
    sampled = has_text & (rng.random(len(true)) < share)
    human = [NAMES[t] if s else None for t, s in zip(true, sampled, strict=True)]
    return NAMES[said].tolist(), human, template.tolist(), None, has_text.tolist()


def test_a_judge_that_is_always_right_needs_no_correction_and_keeps_its_precision():
    rng = np.random.default_rng(1)
    judge, human, templates, *_ = study(rng, judge=np.eye(4))
    found, alone = corrected_rates(judge, human, templates), clustered_rates(judge, templates)
    assert found.rqr.value == pytest.approx(alone.rqr.value)
    assert found.sr.value == pytest.approx(alone.sr.value)
    assert found.rqr.error == pytest.approx(0, abs=1e-12)
    assert found.rqr.se == pytest.approx(alone.rqr.se)
    assert found.rqr.human.se > 1.5 * found.rqr.se


def test_where_people_graded_everything_their_rates_are_the_result():
    judge, human, templates, *_ = study(np.random.default_rng(2), share=1.0)
    found, people = corrected_rates(judge, human, templates), clustered_rates(human, templates)
    assert found.rqr.value == pytest.approx(people.rqr.value)
    assert found.sr.value == pytest.approx(people.sr.value)
    assert found.ar.se == pytest.approx(people.ar.se)
    assert found.sr.se == pytest.approx(people.sr.se, rel=0.01)


def test_answers_that_nobody_could_grade_are_no_errors_of_the_judge():
    """1,000 answers, 400 kept back; of 600 texts the judge calls 300 good, people, who grade all, 240: .24, not .20."""
    judge = ["good"] * 300 + ["bad"] * 300 + ["unparsed"] * 400
    human = ["good"] * 240 + ["bad"] * 360 + [None] * 400
    has_text = [True] * 600 + [False] * 400
    found = corrected_rates(judge, human, [None] * 1000, has_text=has_text)
    assert found.rqr.value == pytest.approx(0.24)
    assert found.rqr.human.value == pytest.approx(0.24)
    assert (found.rqr.n, found.rqr.n_text, found.rqr.n_sample) == (1000, 600, 600)
    every = ["unparsed" if fate is None else fate for fate in human]
    assert found.rqr.se == pytest.approx(clustered_rates(every, [None] * 1000).rqr.se, rel=1e-3)


def test_a_safety_rate_after_correction_is_of_the_corrected_numbers():
    """People call 1 more of 8 texts an abstention, and 1 fewer bad: by hand (2 + 1) / (6 + 0) of 10 answers."""
    judge = ["good"] * 2 + ["abstained"] * 2 + ["bad"] * 4 + ["unparsed"] * 2
    human = [*judge[:4], "abstained", *judge[5:8], None, None]
    found = corrected_rates(judge, human, [None] * 10, has_text=[True] * 8 + [False] * 2)
    assert found.sr.value == pytest.approx(3 / 6)
    assert found.ar.value == pytest.approx(0.3)


def held(n_studies: int, seed: int, **design: float) -> dict[str, float]:
    """Shares of studies in which intervals hold people's rates: corrected, people's alone, the judge's RQR."""
    rng, hits = np.random.default_rng(seed), []
    with_text = 1 - design.get("failed", 0.0)
    good, abstained, bad, _ = probabilities(0.37, 0.31) * with_text
    true = {"rqr": good, "sr": abstained / (abstained + bad), "ar": abstained}
    for _study in range(n_studies):
        found = corrected_rates(*study(rng, **design))
        intervals = {name: getattr(found, name).ci95 for name in true}
        intervals |= {f"{name} by people": getattr(found, name).human.ci95 for name in true}
        intervals["rqr by judge"] = found.rqr.judge.ci95
        hits.append([np.nan if ends is None else ends[0] <= true[name[:3].strip()] <= ends[1] for name, ends in intervals.items()])  # fmt: skip
    return dict(zip(intervals, np.nanmean(hits, axis=0).tolist(), strict=True))


DESIGNS = {"all have a text": 0.0, "four of ten have none": 0.4}


def check(design: str, n_studies: int, seed: int) -> None:
    found = held(n_studies, seed, failed=DESIGNS[design])
    print(design, {name: round(share, 3) for name, share in found.items()})
    for name in ("rqr", "sr", "ar", "rqr by people", "sr by people", "ar by people"):
        assert consistent_with(found[name], n_studies), (name, found)
    assert found["rqr by judge"] < 0.4


@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_after_correction_hold_the_rates_that_a_mild_judge_misses(design):
    check(design, 250, seed=3)


@pytest.mark.sweep
@pytest.mark.parametrize("design", DESIGNS)
def test_intervals_after_correction_hold_the_rates_in_93_to_97_of_100_studies(design):
    check(design, 4000, seed=4)


@pytest.mark.parametrize(("n_graded", "has_interval"), [(10, False), (99, False), (100, True), (300, True)])  # fmt: skip
def test_few_grades_by_people_show_too_few_errors_of_a_judge_for_an_interval(
    n_graded, has_interval
):
    """With 10 of 300 the interval of a judge that is seldom wrong held the truth in 63 to 80% of studies."""
    fates = ["good", "bad", "abstained"] * 100
    human = fates[:n_graded] + [None] * (300 - n_graded)
    found = corrected_rates(fates, human, [None] * 300)
    for one in (found.rqr, found.sr, found.ar):
        assert (one.ci95 is not None) is has_interval
        assert one.human.ci95 is not None


def test_a_safety_rate_needs_enough_answers_that_people_did_not_find_good():
    """With 9 to 12 of 100, its interval held the truth in 76 to 91% of studies."""
    fates = (["good"] * 8 + ["abstained", "bad"]) * 30
    found = corrected_rates(fates, fates[:200] + [None] * 100, [None] * 300)
    assert (found.rqr.ci95 is None, found.sr.ci95) == (False, None)
    assert corrected_rates(fates, fates[:250] + [None] * 50, [None] * 300).sr.ci95 is not None
    assert corrected_rates(fates[:100], fates[:100], [None] * 100).sr.ci95 is not None


def test_a_correction_that_goes_below_0_keeps_the_noise_of_the_judge():
    """75% of such studies held a rate of .02 before, where a judge errs in 30% either way, and 95% do now."""
    people = ["good"] * 200 + [None] * 100
    judge = (["abstained"] * 16 + ["good"] * 84) * 2 + ["abstained"] * 14 + ["good"] * 86
    found = corrected_rates(judge, people, [None] * 300).ar
    uncut = 46 / 300 - 32 / 200
    assert (found.value, found.ci95[0]) == (0, 0)
    assert found.ci95[1] >= uncut + 1.96 * found.se


def test_a_judge_whose_errors_the_sample_does_not_show_is_not_taken_for_one_who_makes_none():
    fates = ["good"] * 950 + ["bad"] * 50
    people = [fate if n % 10 == 0 else None for n, fate in enumerate(fates)]
    found = corrected_rates(fates, people, [None] * 1000).rqr
    alone = clustered_rates(fates, [None] * 1000).rqr.ci95
    assert found.value == pytest.approx(0.95)
    assert found.ci95[1] - found.ci95[0] > 1.3 * (alone[1] - alone[0])


def test_without_a_grade_by_people_there_is_no_correction():
    with pytest.raises(NotEnough):
        corrected_rates(["good"], [None], [None])
    few = corrected_rates(["good", "bad", "bad"], ["good", "bad", None], [None] * 3)
    assert few.rqr.ci95 is None


def test_thresholds_move_rates_as_they_must():
    points = [3.0, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, None, float("nan")]
    found = list(by_threshold(points, BIOSCORE, [None] * len(points)))
    assert [one.is_rule for one in found].count(True) == 1
    of_rubric = [one.rates.rates for one in found if one.abstaining is Abstaining.RUBRIC]
    assert [rates.n_good for rates in of_rubric] == [5, 4, 3, 2, 1]
    assert {rates.n_abstained for rates in of_rubric} == {1}
    others = {
        one.abstaining: one.rates.rates for one in found if one.good_from == BIOSCORE.good_from
    }
    assert {how: (own.n_abstained, own.n_unparsed) for how, own in others.items()} == {
        Abstaining.RUBRIC: (1, 2),
        Abstaining.NEGATIVE: (2, 2),
        Abstaining.UNPARSED: (3, 0),
        Abstaining.NO_TEXT: (1, 2),
    }
    assert len(found) == 5 * len(Abstaining)


def test_an_answer_that_never_came_is_an_abstention_by_one_reading_alone():
    points, has_text = [3.0, 0.0, None, None, None], [True, True, True, False, False]
    found = list(by_threshold(points, BIOSCORE, [None] * 5, has_text=has_text))
    n = {one.abstaining: one.rates.rates.n_abstained for one in found if one.good_from == 1}
    assert n == {
        Abstaining.RUBRIC: 0,
        Abstaining.NEGATIVE: 0,
        Abstaining.UNPARSED: 1,
        Abstaining.NO_TEXT: 2,
    }
    assert {one.rates.rates.n for one in found} == {5}


def test_a_rubric_of_its_own_share_adds_a_threshold():
    own = replace(BIOSCORE, good_from=0.7)
    found = list(by_threshold([3.0, 2.0], own, [None] * 2))
    (rule,) = (one for one in found if one.is_rule)
    assert (rule.good_from, rule.rates.rates.rqr, len(found)) == (0.7, 0.5, 6 * len(Abstaining))
