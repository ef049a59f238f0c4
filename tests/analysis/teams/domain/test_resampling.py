"""A gain has the two errors that an accuracy has: resampled, and robust to clusters of people and items."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from analysis.teams.domain.folds import Draws, difference, two_way_of
from tests.analysis.teams.domain.simulated import make_evidence

SIZES = {"n_items": 60, "per_item": 12, "n_participants": 40, "models": (0.9, 0.5)}


def answers(evidence, seed=1):
    """Answers of two teams, which differ more on some items, and of some people, than on others."""
    rng = np.random.default_rng(seed)
    of_items, of_people = rng.normal(0, 1, SIZES["n_items"])[evidence.item], rng.normal(0, 1, 40)
    ease = of_items + of_people[evidence.participant[:, 0]]
    return [rng.normal(0, 1, len(evidence)) < level * ease for level in (1.0, -0.5)]


@pytest.mark.parametrize("n_humans", [1, 2])
def test_the_two_way_error_of_a_gain_is_that_of_statsmodels(n_humans):
    """Clusters are items and the first people of rows, also where rows join two."""
    evidence = make_evidence(n_humans=n_humans, **SIZES)
    a, b = answers(evidence)
    found = difference(1.0 * a, 1.0 * b, Draws.of(evidence, resamples=50))
    more = a.astype(float) - b
    groups = np.column_stack([evidence.participant[:, 0], evidence.item])
    model = sm.OLS(more, np.ones(len(more)))
    known = model.fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert found.se == pytest.approx(known.bse[0], rel=1e-9)
    clusters = min(len(np.unique(column)) for column in groups.T)
    scale = stats.t.ppf(0.975, clusters - 1) / stats.norm.ppf(0.975)
    ends = found.value + (known.conf_int()[0] - found.value) * scale
    assert found.ci95 == pytest.approx(ends, rel=1e-6)
    assert found.value == pytest.approx(known.params[0])


def test_where_rows_are_items_the_two_way_error_is_that_of_a_paired_t_test():
    rng = np.random.default_rng(1)
    a, b = rng.random((2, 300)) < [[0.8], [0.7]]
    found = difference(1.0 * a, 1.0 * b, Draws.of_items(300, 4_000))
    t = stats.ttest_rel(a.astype(float), b.astype(float))
    assert found.value / found.se == pytest.approx(t.statistic)
    assert found.p == pytest.approx(t.pvalue)
    again = difference(1.0 * a, 1.0 * b, Draws.of_items(300, 40, seed=2))
    assert again == found, "no seed, and no number of resamples, moves it"


@pytest.mark.parametrize(("n_items", "n_people"), [(200, 5), (5, 200)])
def test_clusters_are_as_many_as_there_are_items_or_people_whichever_are_fewer(n_items, n_people):
    evidence = make_evidence(n_items=n_items, per_item=n_people, n_participants=n_people)
    assert Draws.of(evidence).n_clusters == 5


def test_fewer_than_three_items_or_people_have_no_two_way_error():
    evidence = make_evidence(**SIZES)
    for chosen in (evidence.item < 2, evidence.participant[:, 0] < 2):
        some = evidence.rows(chosen)
        more = np.random.default_rng(1).normal(size=len(some))
        assert two_way_of(more, Draws.of(some)) is None
    assert two_way_of(np.ones(2), Draws.of_items(2)) is None


@pytest.mark.parametrize("n_humans", [0, 1])
def test_a_team_like_its_best_member_gains_nothing_within_an_interval(n_humans):
    evidence = make_evidence(n_items=20, n_humans=n_humans, seed=3)
    alike = evidence.points[:, -1]
    found = difference(alike, alike, Draws.of(evidence, 200))
    assert (found.value, found.p, found.se) == (0, 1, 0)
    assert found.ci95[0] < -0.1 < 0.1 < found.ci95[1]
