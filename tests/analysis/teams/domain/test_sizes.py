"""Expected accuracy by size of team: enumeration, hypergeometric majorities and single accuracies as oracles."""

from itertools import combinations

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.teams.domain import sizes
from analysis.teams.domain.combination import calibrated
from analysis.teams.domain.folds import by_item
from analysis.teams.domain.sizes import expected_accuracies
from tests.analysis.teams.domain.simulated import make_evidence


def made(**changes):
    evidence = make_evidence(**{"n_items": 12, "per_item": 4, "models": (0.9, 0.5, 0.7), **changes})
    return evidence, calibrated(evidence, by_item(evidence))


def cell(found, h, m):
    return [(c.n_humans, c.n_models) for c in found.cells].index((h, m))


def accuracies(found):
    return np.array([c.accuracy for c in found.cells])


def n_draws(found):
    return {c.n_draws for c in found.cells}


def test_every_cell_is_what_trying_all_teams_gives():
    evidence, p = made()
    found = expected_accuracies(evidence, p)
    assert (found.max_humans, found.max_models, len(found.cells)) == (4, 3, 5 * 4 - 1)
    assert n_draws(found) == {0}
    for h, m in ((0, 2), (1, 1), (2, 0), (3, 2), (4, 3)):
        for i in range(12):
            rows = np.flatnonzero(evidence.item == i)
            tried = [
                np.mean([*p[list(people), 0], *p[rows[0], 1:][list(models)]]) > 0.5
                for people in combinations(rows, h)
                for models in combinations(range(3), m)
            ]
            assert found.per_item[i, cell(found, h, m)] == pytest.approx(np.mean(tried))
    assert accuracies(found) == pytest.approx(found.per_item.mean(axis=0))


def test_drawn_teams_agree_with_all_teams(monkeypatch):
    evidence, p = made(n_items=30, per_item=6, models=(0.9, 0.5, 0.7, 0.2, 0.4, 0.6))
    exact = expected_accuracies(evidence, p)
    monkeypatch.setattr(sizes, "MOST_SUBSETS", 1)
    drawn = expected_accuracies(evidence, p, n_draws=4000)
    again = expected_accuracies(evidence, p, n_draws=4000)
    assert n_draws(drawn) == {0, 4000}
    assert drawn.per_item.tolist() == again.per_item.tolist()
    # Four standard errors at most, with 4,000 draws of people and as many of models
    assert np.abs(drawn.per_item - exact.per_item).max() < 4 * np.sqrt(2 * 0.25 / 4000)


def test_people_go_as_far_as_half_of_the_items_have_them_and_on_those_items_alone():
    evidence, p = made(n_items=10, per_item=6)
    chosen = (evidence.item % 2 == 0) | (np.arange(60) % 6 < 2)  # 5 items of 6 judgments, 5 of 2
    found = expected_accuracies(evidence.rows(chosen), p[chosen])
    assert (found.max_humans, found.items.tolist()) == (6, [0, 2, 4, 6, 8])
    assert {c.n_items for c in found.cells} == {5}
    fewer = chosen & ((evidence.item > 0) | (np.arange(60) < 2))  # 4 items of 6
    found = expected_accuracies(evidence.rows(fewer), p[fewer])
    assert (found.max_humans, len(found.items)) == (2, 10)
    few = expected_accuracies(evidence, p, most_humans=3, most_models=2)
    assert len(few.cells) == 11


def test_models_alone_and_people_alone_are_sizes_too():
    evidence, p = made()
    machines = expected_accuracies(evidence.of(evidence.names[1:]), p[:, 1:])
    assert (machines.max_humans, machines.max_models, len(machines.items)) == (0, 3, 12)
    people = expected_accuracies(evidence.of(["human"]), p[:, :1])
    assert (people.max_humans, people.max_models) == (4, 0)
    with pytest.raises(NotEnough, match="no judgment"):
        expected_accuracies(evidence.rows(np.zeros(48, dtype=bool)), p[:0])
