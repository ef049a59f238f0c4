"""The chapter on the mixed model: crossed random intercepts, and the effect of confidence."""

from dataclasses import replace

import pytest
from threadpoolctl import threadpool_limits

from analysis.report.chapter import SourceResults
from analysis.report.chapters.mixed_model.results import (
    Fitted,
    Mixed,
    Power,
    PowerAnalysis,
    two_digits,
)
from analysis.report.chapters.mixed_model.words import mixed_model_figure, power_figure
from analysis.report.chapters.uncertainty.results import Crossed
from analysis.report.contents import chapter_named
from analysis.stats.power import Components, Expected, Target
from analysis.stats.verdicts import Verdict
from lib.levels import LEVEL
from tests.analysis.made import make_data
from tests.analysis.report.chapters.chapter_results import page_of, results_of

CROSSED = chapter_named("crossed")
MIXED_MODEL = chapter_named("mixed_model")
POWER = chapter_named("power")


@pytest.fixture(autouse=True)
def one_thread():
    """As the report does: for matrices this small a second thread only waits."""
    with threadpool_limits(1):
        yield


def test_the_published_trials_vary_between_items_and_hardly_between_people(published):
    found = results_of(published, MIXED_MODEL).of(Mixed).mixed_model
    assert (found.n_trials, found.n_participants, found.n_items) == (1011, 171, 200)
    assert found.accuracy_marginal == pytest.approx(641 / 1011, abs=0.002)
    # Not 0, as Laplace has it: tests/analysis/stats/test_mixed_model_quadrature.py
    assert found.sd_participants == pytest.approx(0.162, abs=0.002)
    assert found.lrt.participants.p > 0.3
    assert found.sd_items == pytest.approx(0.722, abs=0.001)
    assert found.lrt.participants.without.sd_other == pytest.approx(0.719, abs=0.0005)
    assert found.sd_items_ci95[0] > 0.3
    share = found.items_share
    assert share.value == pytest.approx(0.722**2 / (0.722**2 + 0.162**2), abs=0.005)
    assert 0.5 < share.ci95[0] < share.value < share.ci95[1] == 1
    assert share.verdict is Verdict.ABOVE
    slope = found.confidence.slope
    assert 0 < slope.ci95[0] < slope.estimate < slope.ci95[1]
    assert found.lrt.items.p < 0.001


@pytest.mark.parametrize(
    ("study", "verdict", "said"),
    [
        # The estimates alone say that test cases vary more in the first
        ({"sd_participants": 0.6, "sd_items": 0.7, "seed": 1}, Verdict.UNCLEAR, "not clearly different"),
        ({"sd_participants": 0.1, "sd_items": 1.5, "seed": 1}, Verdict.ABOVE, "Test cases vary more than participants"),
        ({"sd_participants": 1.8, "sd_items": 0.1, "seed": 1}, Verdict.BELOW, "Test cases vary less than participants"),
        # Neither varies in the fit, so that their shares have no interval
        ({"sd_participants": 0.0, "sd_items": 0.0, "seed": 4}, Verdict.UNCLEAR, "not defined which vary more"),
        ({"n_items": 7, "trials_each": 7, "sd_items": 2.0, "seed": 1}, Verdict.TOO_FEW, "too few of them to say which vary more"),
    ],
)  # fmt: skip
def test_an_interval_decides_whether_people_or_test_cases_vary_more(study, verdict, said):
    data = make_data(**{"n_participants": 40, "n_items": 30, "trials_each": 10} | study)
    results = results_of(data, MIXED_MODEL)
    found = results.of(Mixed).mixed_model
    assert found.sd_items != found.sd_participants or found.sd_items == 0
    assert found.items_share.verdict is verdict
    assert said in page_of(MIXED_MODEL, results)[1]


# --- The chapter on power: how many participants for an interval of a wanted width.


def test_the_published_study_is_as_wide_as_a_simulated_one_of_its_size(published):
    found = results_of(published, POWER).of(Power).power
    row = next(r for r in found.curve if r.n_participants == 171)
    humans = results_of(replace(published, resamples=2), CROSSED).of(Crossed).crossed.humans
    low, high = humans.errors.two_way_ci95
    assert row.ci_width == pytest.approx(high - low, rel=0.1)
    widths = [r.ci_width for r in found.curve]
    assert widths == sorted(widths, reverse=True)
    needed = [t.n_participants for t in found.targets if t.n_participants]
    assert needed == sorted(needed)
    assert found.trials_per_participant == pytest.approx(1011 / 171)


@pytest.mark.parametrize(("statistic", "p"), [(3.2, 0.037), (2.6, 0.053)])
def test_the_model_without_participants_is_shown_where_the_test_does_not_reject_it(
    small, statistic, p
):
    source = results_of(small, MIXED_MODEL)
    found = source.of(Mixed).mixed_model
    test = replace(found.lrt.participants, statistic=statistic, p=p)
    shown = replace(
        found,
        lrt=replace(found.lrt, participants=test),
        sd_participants=0.4,
        sd_participants_ci95=(0.0, 1.3),
    )
    words = page_of(MIXED_MODEL, SourceResults("human", {Mixed: Mixed(shown)}))[1]
    assert ("test against no variation" in words) == (p >= LEVEL)


def test_a_number_needed_is_rounded_to_one_that_is_enough(published):
    found = results_of(published, POWER)
    for target in found.of(Power).power.targets:
        for n in (target.n_participants, target.n_items_needed):
            assert n is None or n <= two_digits(n) < 1.1 * n
    assert two_digits(114) == 120


# --- Their words.


def text_of(chapter, results):
    page, _ = page_of(chapter, SourceResults("human", {type(results): results}))
    return [paragraph.text for paragraph in page.text]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"n_items": 7}, "There are too few participants or test cases for the intervals"),
        ({"sd_participants": 0.001}, "An SD of 0 means that these trials show no variation"),
        ({"converged": False}, "The fit did not converge, so these values are approximate."),
    ],
)
def test_limits_of_the_model_are_stated(small, changed, said):
    found = results_of(small, MIXED_MODEL).of(Mixed).mixed_model
    usual = {"n_items": 30, "n_participants": 40, "sd_participants": 0.5, "converged": True}
    text = text_of(MIXED_MODEL, Mixed(replace(found, **usual | changed)))
    assert [one for one in text[2:] if "likelihood ratio" not in one] == [text[-1]]
    assert text[-1].startswith(said)
    rest = text_of(MIXED_MODEL, Mixed(replace(found, **usual)))
    assert not [one for one in rest if one.startswith(said)]


def test_the_mixed_models_caption_counts_what_it_is_of(small):
    found = results_of(small, MIXED_MODEL).of(Mixed).mixed_model
    text = mixed_model_figure(replace(found, n_trials=320, n_participants=1, sd_items=0.7))
    assert text.caption.startswith("n = 320 judgments by 1 person on 30 test cases. Logistic")
    assert "; between test cases 0.70. Typical accuracy " in text.alt


def target(width, n=None, low=None, high=None, items=None):
    return Target(
        width=width,
        n_participants=n,
        n_participants_low=low,
        n_participants_high=high,
        n_items_needed=items,
    )


def power_of(*targets, ci95=(0.4, 0.9), floor_width=0.0, each=8.2):
    return PowerAnalysis(
        variances=Components(0.01, 0.02, 0.2),
        curve=(Expected(25, 0.1, 0.2, None, None),),
        targets=targets,
        floor_width=floor_width,
        trials_per_participant=each,
        n_items=30,
        method="",
        fitted=Fitted(0.6, 0.5, 0.7, ci95, 40),
    )


@pytest.mark.parametrize(
    ("own", "needed"),
    [
        (power_of(target(0.1, 61, 50, 80), target(0.08, 1201, 900)),
         ": 61 for 10 points (50 to 80); 1,300 for 8 points (900 at the lower end, out of reach at the upper). Brackets give the numbers"),
        (power_of(target(0.1, 61), ci95=None), ": 61 for 10 points."),
        (power_of(target(0.1, 61), ci95=None, each=1.4), "with about 1 trial per participant"),
        (power_of(target(0.1, 61), ci95=None, each=1.6), "with about 2 trials per participant"),
    ],
)  # fmt: skip
def test_how_many_participants_a_width_needs(own, needed):
    (text,) = text_of(POWER, Power(own))
    assert needed in text
    assert ("Brackets" in text) == (own.fitted.sd_items_ci95 is not None)


BEYOND = "A width of 5 points is out of reach with these test cases"
HARDLY = "A width of 5 points is hardly within reach with these test cases: it needs about 5,000 participants as fitted"


@pytest.mark.parametrize(
    ("aim", "said"),
    [
        (target(0.05), f"{BEYOND}."),
        (target(0.05, items=101), f"{BEYOND}; at the estimated variation, this width would need about 110 test cases."),
        (target(0.05, low=200, items=101), f"{BEYOND} unless they vary less than estimated (about 200 participants at the lower end of the CI of their SD); at the estimated variation, this width would need about 110 test cases."),
        (target(0.05, n=5000, low=200), f"{HARDLY} (about 200 participants at the lower end of the CI of their SD)."),
        (target(0.05, n=5000), f"{HARDLY}."),
    ],
)  # fmt: skip
def test_a_width_out_of_reach_is_said_with_what_would_reach_it(aim, said):
    beyond, floor = text_of(POWER, Power(power_of(aim, floor_width=0.0487)))
    assert beyond == said
    assert floor.startswith("With only the test cases of this study, no number of participants")
    assert "below 4.9 points" in floor


def test_the_power_figure_says_what_each_width_needs():
    aims = (
        target(0.1, 61),
        target(0.08, 1),
        target(0.05, 5000),
        target(0.04, items=101),
        target(0.03),
    )
    own = power_of(*aims, floor_width=0.0487)
    text = power_figure(own)
    assert text.alt == (
        "Width of the 95% interval of people's accuracy by number of participants. 10 points: 61 people; 8 points: 1 person; "
        "5 points: hardly within reach; 4 points: needs 110 test cases; 3 points: out of reach."
    )
    assert text.caption.startswith("n = 8 judgments per person on 30 test cases, as in this study.")
    assert text.caption.endswith(
        "(0.70 log-odds) at either end of its 95% interval (0.40 to 0.90)."
    )
    bare = power_figure(power_of(ci95=None))
    assert bare.alt.endswith(" by number of participants.")
    assert bare.caption.endswith("both axes logarithmic.")
