"""The two-parameter logistic model: against direct maximisation, and against simulated truth."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

from analysis.stats import NotEnough
from analysis.stats.item_response import (
    PRIOR_MEAN,
    PRIOR_SD,
    item_rest,
    rank_differences,
    two_parameters,
)


def simulated(n_people: int, n_items: int, each: int, seed: int = 1):
    """Answers of people to `each` of the items, drawn at random; and the items' a and b."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(0.6, 2.0, n_items), rng.normal(0, 1, n_items)
    ability = rng.normal(size=n_people)
    item = np.concatenate([rng.permutation(n_items)[:each] for _ in range(n_people)])
    person = np.repeat(np.arange(n_people), each)
    right = rng.random(len(item)) < special.expit(a[item] * (ability[person] - b[item]))
    return person, item, right, a, b


def direct(person, item, right, n_items: int, with_priors: bool):
    """SciPy's maximum of the marginal likelihood, integrated over an even grid: another rule, another search."""
    grid = np.linspace(-6, 6, 97)
    weights = stats.norm.pdf(grid) * (grid[1] - grid[0])
    answered = np.full((person.max() + 1, n_items), np.nan)
    answered[person, item] = right

    def loss(values: np.ndarray) -> float:
        a, d = values.reshape(2, n_items)
        predicted = np.outer(grid, a) + d
        known = ~np.isnan(answered)
        log_joint = np.where(known, np.nan_to_num(answered), 0) @ special.log_expit(predicted).T
        log_joint += (
            np.where(known, 1 - np.nan_to_num(answered), 0) @ special.log_expit(-predicted).T
        )
        total = special.logsumexp(log_joint, axis=1, b=weights).sum()
        if with_priors:
            total -= 0.5 * (((a - PRIOR_MEAN[0]) / PRIOR_SD[0]) ** 2).sum()
            total -= 0.5 * (((d - PRIOR_MEAN[1]) / PRIOR_SD[1]) ** 2).sum()
        return -float(total)

    start = np.concatenate([np.ones(n_items), np.zeros(n_items)])
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-4})
    return found.x.reshape(2, n_items), loss


def hessian(loss, at: np.ndarray, h: float = 1e-3) -> np.ndarray:
    """By central differences."""
    size, steps = len(at), np.eye(len(at)) * h
    out = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            out[i, j] = (
                loss(at + steps[i] + steps[j])
                - loss(at + steps[i] - steps[j])
                - loss(at - steps[i] + steps[j])
                + loss(at - steps[i] - steps[j])
            ) / (4 * h * h)
    return out


@pytest.mark.parametrize("with_priors", [True, False])
def test_em_finds_what_direct_maximisation_finds(with_priors: bool) -> None:
    person, item, right, _, _ = simulated(250, 5, 4)
    found = two_parameters(person, item, right, n_items=5, with_priors=with_priors, n_nodes=61)
    (a, d), loss = direct(person, item, right, 5, with_priors)
    assert found.has_converged
    np.testing.assert_allclose(found.a, a, atol=2e-3)
    np.testing.assert_allclose(found.d, d, atol=2e-3)
    covariance = np.linalg.inv(hessian(loss, np.concatenate([found.a, found.d])))
    se = np.sqrt(np.diag(covariance)).reshape(2, 5)
    np.testing.assert_allclose(found.a_se, se[0], rtol=0.02)
    np.testing.assert_allclose(found.d_se, se[1], rtol=0.02)


def test_complete_answers_give_the_items_back() -> None:
    z = []
    for seed in range(6):
        person, item, right, a, b = simulated(1_000, 12, 12, seed)
        found = two_parameters(person, item, right, n_items=12, with_priors=False)
        assert found.has_converged
        assert np.abs(found.a - a).mean() < 0.15
        assert np.abs(found.b - b).mean() < 0.15
        z += [(found.a - a) / found.a_se, (found.b - b) / found.b_se]
    assert np.abs(z).max() < 4
    assert 0.8 < np.sqrt(np.square(z).mean()) < 1.2  # the standard errors are the errors'


def test_nine_answers_of_sixty_items_give_them_back_within_their_errors() -> None:
    person, item, right, a, b = simulated(2_000, 60, 9, seed=4)
    found = two_parameters(person, item, right, n_items=60)
    assert found.has_converged
    assert found.n.sum() == len(item)
    z = (found.a - a) / found.a_se
    assert np.sqrt((z**2).mean()) < 1.3
    assert stats.spearmanr(found.b, b)[0] > 0.9
    assert (np.abs(found.b - b) < 2.5 * found.b_se).mean() > 0.9


def test_an_item_that_everyone_gets_right_stays_finite_under_the_priors() -> None:
    person, item, right, _, _ = simulated(300, 8, 8)
    found = two_parameters(person, item, right | (item == 2), n_items=8)
    assert np.isfinite([found.a[2], found.b[2], found.a_se[2], found.b_se[2]]).all()
    assert found.d[2] > 2


def test_too_few_people_are_said() -> None:
    person, item, right, _, _ = simulated(99, 8, 5)
    with pytest.raises(NotEnough, match="99 people"):
        two_parameters(person, item, right, n_items=8)
    alone = np.arange(500)  # one answer each
    with pytest.raises(NotEnough, match="0 people"):
        two_parameters(alone, alone % 8, alone % 2 == 0, n_items=8)


# Item-rest correlations and differences of ranks


def answers(seed: int = 1, each: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ability = rng.normal(size=300)
    rows = [(p, j) for p in range(300) for j in rng.permutation(12)[:each]]
    table = pd.DataFrame(rows, columns=["person", "item"])
    logit = ability[table["person"]] - (table["item"] - 6) / 4
    table["right"] = rng.random(len(table)) < 1 / (1 + np.exp(-logit))
    return table


def test_with_complete_answers_it_is_the_usual_corrected_correlation() -> None:
    table = answers()
    wide = table.pivot_table(index="person", columns="item", values="right").astype(float)
    for which in (0, 5, 11):
        usual = wide[which].corr(wide.drop(columns=which).sum(axis=1))
        found = item_rest(table["person"], table["item"], table["right"], which)
        assert found.r == pytest.approx(usual)
        low, high = stats.pearsonr(
            wide[which], wide.drop(columns=which).sum(axis=1)
        ).confidence_interval()
        assert found.ci95 == pytest.approx((low, high))


def test_with_few_answers_each_it_is_the_correlation_over_who_judged_it() -> None:
    table = answers(each=4)
    shares = table.groupby("item")["right"].mean()
    table["over"] = table["right"] - table["item"].map(shares)
    own, others = table[table["item"] == 3], table[table["item"] != 3]
    rest = others.groupby("person")["over"].mean()
    expected = own.set_index("person")["right"].astype(float).corr(rest)
    found = item_rest(table["person"], table["item"], table["right"], 3)
    assert found.r == pytest.approx(expected)
    assert found.n == len(own)


def test_item_rest_is_refused_with_too_few_or_agreeing_people() -> None:
    people = np.repeat(np.arange(9), 2)
    with pytest.raises(NotEnough, match="9 people"):
        item_rest(people, np.tile([0, 1], 9), people % 2 == 0, 0)
    table = answers()
    table.loc[table["item"] == 2, "right"] = True
    with pytest.raises(NotEnough, match="agree"):
        item_rest(table["person"], table["item"], table["right"], 2)


def test_differences_of_ranks_have_variance_one_where_nothing_is_shared() -> None:
    rng = np.random.default_rng(3)
    found = [rank_differences(rng.normal(size=50), rng.normal(size=50)) for _ in range(400)]
    assert np.mean(found) == pytest.approx(0)
    assert np.std(found) == pytest.approx(1, abs=0.03)
    same = rng.normal(size=50)
    assert not rank_differences(same, 3 * same + 1).any()
    assert np.isnan(rank_differences([1.0, 2.0], [1.0, 2.0])).all()
