"""Rules of every way of combining: held-out truths have no part in predictions, and names of sides no meaning."""

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.teams.domain.chance import SymmetricHalves
from analysis.teams.domain.folds import Folds, by_item, in_blocks
from analysis.teams.domain.runs import BAYESIAN, METHODS, method_named
from analysis.teams.results import Member, MemberKind
from tests.analysis.teams.domain.simulated import make_evidence

PAIR = make_evidence(n_items=24, per_item=3, n_participants=12, models=(0.9,), seed=11)
MIXED = make_evidence(
    n_items=24, per_item=4, n_participants=12, n_humans=2, models=(0.9, 0.5), seed=12
)
SYMMETRIC = [name for name in METHODS if name != "as-published"]  # its intercept prefers a side


def with_people_held_out(evidence):
    items, people = evidence.item % 2, evidence.participant[:, 0] % 2
    return Folds(2 * items + people, items, people, "two blocks of items by two of people")


@pytest.mark.parametrize(
    ("evidence", "folds"),
    [(PAIR, with_people_held_out(PAIR)), (MIXED, in_blocks(MIXED, 3))],
    ids=["items and people", "items"],
)
@pytest.mark.parametrize("method", METHODS)
def test_held_out_truths_have_no_part_in_their_prediction(method, evidence, folds):
    """Nor what is true of rows that only share an item or a person with them, where both are held out."""
    held, aside = folds.fold == 0, ~folds.train(0)
    turned = replace(evidence, truth=np.where(aside, -evidence.truth, evidence.truth))
    before, after = (
        METHODS[method].held_out(e, folds).p_original[held] for e in (evidence, turned)
    )
    np.testing.assert_allclose(after, 1 - before, atol=1e-4)


def test_where_single_items_are_left_out_by_reweighting_it_has_hardly_any_part():
    """Within the Monte Carlo error of the draws: they lie around a posterior that knew the item."""
    many = make_evidence(n_items=60, per_item=2, n_participants=20, seed=13)
    before = BAYESIAN.held_out(many, by_item(many))
    assert before.about.n_refitted == 0
    for item in (0, 30):
        np.testing.assert_allclose(*turned_and_not(many, BAYESIAN, item, before), atol=0.005)


def turned_and_not(evidence, method, item, before=None):
    """Predictions of the item's original, and of its other side when that is the original."""
    rows, folds = evidence.item == item, by_item(evidence)
    turned = replace(evidence, truth=np.where(rows, -evidence.truth, evidence.truth))
    before = before or method.held_out(evidence, folds)
    return before.p_original[rows], 1 - method.held_out(turned, folds).p_original[rows]


@pytest.mark.parametrize("method", SYMMETRIC)
def test_the_names_of_sides_have_no_meaning(method):
    """Sides of single trials exchanged: truth and confidences change their sign, and nothing else changes."""
    flip = np.where(np.random.default_rng(1).random(len(MIXED)) < 0.5, -1.0, 1.0)
    swapped = replace(MIXED, truth=flip * MIXED.truth, signed=flip[:, None] * MIXED.signed)
    folds = in_blocks(MIXED, 2)
    one, other = (METHODS[method].held_out(e, folds) for e in (MIXED, swapped))
    np.testing.assert_allclose(other.p_original, one.p_original, atol=1e-9)
    np.testing.assert_array_equal(other.points, one.points)


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_trials_and_of_several_people_means_nothing(method):
    order, folds = np.random.default_rng(2).permutation(len(PAIR)), in_blocks(PAIR, 3)
    one = METHODS[method].held_out(PAIR, folds)
    other = METHODS[method].held_out(PAIR.rows(order), folds.rows(order))
    np.testing.assert_allclose(other.p_original, one.p_original[order], atol=1e-4)
    turned = replace(
        MIXED,
        signed=MIXED.signed[:, [1, 0, 2, 3]],
        participant=MIXED.participant[:, ::-1],
        trial=MIXED.trial[:, ::-1],
    )
    folds = in_blocks(MIXED, 3)
    one, two = (METHODS[method].held_out(e, folds).p_original for e in (MIXED, turned))
    np.testing.assert_allclose(two, one, atol=1e-6)


MODELS = make_evidence(
    n_items=24,
    per_item=1,
    n_participants=24,
    n_humans=0,
    models=(1.2, 0.9),
    rho_models=0.1,
    seed=16,
)


@pytest.mark.parametrize(
    "method", [*METHODS.values(), SymmetricHalves()], ids=lambda way: type(way).__name__
)
def test_a_members_tie_favours_neither_side_and_the_rule_says_what_it_does(method):
    """Where all members tie the team does, but for a published intercept; where one ties, the other decides."""
    all_tie, first_ties = MODELS.item == 0, MODELS.item == 1
    gone = np.column_stack([all_tie | first_ties, all_tie])
    tied = replace(
        MODELS,
        signed=np.where(gone, 0, MODELS.signed),
        as_published=np.where(gone, 0, MODELS.signed),
    )
    held = method.held_out(tied, in_blocks(tied, 4))
    assert re.search(r"\bties?\b", held.about.rule)
    if method.name == "as-published":
        assert held.points[all_tie] != 0.5
        assert "if all members tie, the intercept decides" in held.about.rule
    else:
        assert (held.p_original[all_tie], held.points[all_tie]) == (0.5, 0.5)
        assert held.points[first_ties] == tied.points[first_ties, 1]


def test_the_seed_asked_for_reaches_what_is_drawn():
    for name in METHODS:
        assert getattr(method_named(name, 7), "seed", 7) == 7
    evidence = make_evidence(n_items=30, per_item=2, n_participants=12, seed=14).of(["org/model-0"])
    folds = by_item(evidence)
    one, other = (method_named("logistic", seed).held_out(evidence, folds) for seed in (42, 7))
    assert (one.folds.fold != other.folds.fold).any()


def with_models(evidence, *columns):
    """With more models, of these signed confidences."""
    more = [Member(f"org/more-{k}", MemberKind.MODEL, f"More {k}") for k in range(len(columns))]
    signed = np.column_stack([evidence.signed, *columns])
    return replace(evidence, members=(*evidence.members, *more), signed=signed, as_published=signed)


FEW = make_evidence(
    n_items=10, per_item=1, n_participants=10, n_humans=0, models=(1.3, -0.25), seed=3
)


@pytest.mark.parametrize("evidence", [PAIR, MIXED, FEW], ids=["pair", "mixed", "ten items"])
@pytest.mark.parametrize("method", [name for name in SYMMETRIC if name != "bayesian"])
def test_the_unit_of_a_members_confidence_means_nothing(method, evidence):
    """Models in any unit; people all in the same."""
    unit = np.where(
        [m.is_human for m in evidence.members],
        0.1,
        10.0 ** np.arange(-2, len(evidence.members) - 2),
    )
    scaled = replace(evidence, signed=evidence.signed * unit)
    folds = in_blocks(evidence, 5)
    one, other = (METHODS[method].held_out(e, folds) for e in (evidence, scaled))
    np.testing.assert_allclose(other.p_original, one.p_original, atol=1e-7)
    np.testing.assert_array_equal(other.points, one.points)


CONSTANT = np.nextafter(np.full(len(MIXED), 3.0), np.arange(len(MIXED)) % 2 * 6)
NOISE = MIXED.truth * np.random.default_rng(5).normal(0, 1, 24)[MIXED.item]


@pytest.mark.parametrize(
    ("columns", "most", "on_average"),
    [
        ([CONSTANT], 1e-6, 1e-6),
        ([7 * MIXED.signed[:, 2], -MIXED.signed[:, 3]], 0.002, 0.001),
        # The choice of a penalty may change in a fold
        ([MIXED.signed[:, 2] * (1 + 0.02 * NOISE)], 0.15, 0.02),
    ],
    ids=["says the same everywhere", "copies in another unit, and turned around", "nearly a copy"],
)
def test_a_member_that_says_nothing_of_its_own_changes_hardly_anything(columns, most, on_average):
    folds = in_blocks(MIXED, 4)
    one, other = (
        METHODS["logistic"].held_out(e, folds).p_original
        for e in (MIXED, with_models(MIXED, *columns))
    )
    change = np.abs(other - one)
    assert change.max() <= most
    assert change.mean() <= on_average


def test_the_order_of_models_means_nothing():
    order, folds = [0, 1, 3, 2], in_blocks(MIXED, 4)
    turned = replace(
        MIXED, members=tuple(MIXED.members[k] for k in order), signed=MIXED.signed[:, order]
    )
    one, other = (METHODS["logistic"].held_out(e, folds).p_original for e in (MIXED, turned))
    np.testing.assert_allclose(other, one, atol=1e-7)


def test_ten_test_cases_give_no_nonsense_in_any_unit():
    """Members right in 90% and 40%, perplexities in the tens of thousands: no side preferred, no log loss beyond a coin's."""
    losses, better = [], []
    for seed in range(20):
        evidence = make_evidence(
            n_items=10,
            per_item=1,
            n_participants=10,
            n_humans=0,
            models=(1.28, -0.25),
            scale=2e4,
            rho_models=0.0,
            seed=seed,
        )
        held = METHODS["logistic"].held_out(evidence, by_item(evidence))
        losses.append(-np.log(held.p_original).mean())
        better.append(held.points.mean() - evidence.points.mean(axis=0).max())
    assert np.mean(losses) < 0.45
    assert np.mean(better) > -0.06
