"""Item-rest correlations and differences of ranks, against pandas and by what they must do."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.stats import NotEnough
from analysis.stats.item_response import item_rest, rank_differences


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


def test_an_item_that_the_able_get_wrong_is_negative() -> None:
    table = answers()
    table.loc[table["item"] == 2, "right"] ^= True
    assert item_rest(table["person"], table["item"], table["right"], 2).ci95[1] < 0


def test_what_cannot_be_said_is_not() -> None:
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
