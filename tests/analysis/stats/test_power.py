"""How many participants an interval of a wanted width takes, against simulated studies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from analysis.stats.power import (
    Components,
    Design,
    components,
    expected,
    floor_width,
    interval_width,
    participants_for,
    target,
    variance,
)

DESIGN = Design(40, np.array([4, 6, 8]))


def test_components_are_those_of_drawn_people_and_items():
    rng = np.random.default_rng(1)
    u, v = rng.normal(size=(4000, 1)), rng.normal(size=(1, 4000))
    p = expit(0.6 + 0.7 * u + 1.1 * v)
    found = components(0.6, 0.7, 1.1)
    assert found.participants == pytest.approx(p.mean(axis=1).var(), rel=0.06)
    assert found.items == pytest.approx(p.mean(axis=0).var(), rel=0.06)
    assert sum((found.participants, found.items, found.rest)) == pytest.approx(
        p.mean() * (1 - p.mean()), rel=0.01
    )


def test_the_closed_form_is_the_variance_of_means_of_answers_drawn_one_by_one():
    rng = np.random.default_rng(2)
    each = DESIGN.trials_of(30)
    person, item = np.repeat(np.arange(30), each), np.arange(each.sum()) % 40
    u, v = rng.normal(size=(20_000, 30)), rng.normal(size=(20_000, 40))
    p = expit(0.5 + 0.8 * u[:, person] + 0.9 * v[:, item])
    means = (rng.random(p.shape) < p).mean(axis=1)
    assert variance(components(0.5, 0.8, 0.9), DESIGN, 30) == pytest.approx(means.var(), rel=0.04)


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 0.05), st.floats(0, 0.05), st.floats(0.03, 0.3))
def test_the_number_found_is_the_first_that_is_enough(participants, items, width):
    parts = Components(participants, items, 0.25 - participants - items)
    found = participants_for(parts, DESIGN, width, most=20_000)
    n = found.n_participants
    if n is None:
        assert interval_width(parts, DESIGN, 20_000) > width
        assert found.n_items_needed > DESIGN.n_items
    else:
        assert interval_width(parts, DESIGN, n) <= width
        assert n <= 2 or interval_width(parts, DESIGN, n - 1) > width


@given(st.floats(0.05, 0.15))
@settings(max_examples=20, deadline=None)
def test_a_wanted_width_takes_more_people_the_more_items_vary_and_some_widths_none_reach(width):
    found = target(0.5, 0.3, 0.6, (0.2, 1.6), DESIGN, width)
    assert found.n_participants == participants_for(components(0.5, 0.3, 0.6), DESIGN, width).n_participants  # fmt: skip
    ends = (found.n_participants_low, found.n_participants, found.n_participants_high)
    known = [n if n is not None else np.inf for n in ends]
    assert known == sorted(known)
    floor = floor_width(components(0.5, 0.3, 1.6), DESIGN.n_items)
    if floor >= width:
        assert found.n_participants_high is None
    assert target(0.5, 0.3, 0.6, None, DESIGN, width).n_participants_low is None


@given(st.floats(0.06, 0.2))
@settings(max_examples=20, deadline=None)
def test_the_curve_meets_a_wanted_width_where_its_target_is(width):
    parameters = (0.5, 0.3, 0.6, (0.2, 1.6), DESIGN)
    aim = target(*parameters, width)
    ends = (
        ("ci_width", aim.n_participants),
        ("ci_width_low", aim.n_participants_low),
        ("ci_width_high", aim.n_participants_high),
    )
    for name, n in ends:
        if n is not None and n > 1:
            assert getattr(expected(*parameters, n), name) <= width
            assert getattr(expected(*parameters, n - 1), name) > width
