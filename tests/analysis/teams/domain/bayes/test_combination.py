"""Bayesian teams: what is predicted of left-out items, and that it is what the judgments bear."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from analysis.teams.domain.bayes.combination import Bayesian
from analysis.teams.domain.bayes.model import PRIORS
from analysis.teams.domain.folds import by_item, in_blocks
from analysis.teams.results import Member, MemberKind
from tests.analysis.teams.domain.simulated import make_evidence

PAIR = make_evidence(n_items=30, per_item=4, seed=5)


def held_out(evidence, folds=None, **options):
    return Bayesian(**options).held_out(evidence, folds or by_item(evidence))


def test_a_models_probability_is_the_grid_sum_over_its_sensitivity_and_scale():
    evidence = make_evidence(n_items=12, per_item=1, seed=7).of(("org/model-0",))
    x = evidence.towards_truth[:, 0]
    d = np.linspace(-2, 3, 161)[:, None, None]
    log_sigma = np.linspace(-2.5, 0.5, 161)[None, :, None]
    prior = -0.5 * d**2 - 0.5 * (log_sigma / PRIORS["log_sigma"][1]) ** 2
    towards, away = (-0.5 * (s * x / np.exp(log_sigma) - d) ** 2 - log_sigma for s in (1, -1))
    others = prior + towards.sum(axis=2, keepdims=True) - towards
    shares = np.exp(others - others.max(axis=(0, 1)))
    right, wrong = ((shares * np.exp(side)).sum(axis=(0, 1)) for side in (towards, away))
    found = held_out(evidence, refit=True, has_powers=False, refit_draws=4000)
    assert found.p_original == pytest.approx(right / (right + wrong), abs=0.01)


def test_reweighted_draws_predict_as_a_fit_without_the_item_does():
    for evidence in (PAIR, PAIR.of(("human",))):
        quick, exact = (
            held_out(evidence, refit_up_to=0),
            held_out(evidence, refit_up_to=30, refit_draws=250),
        )
        assert exact.about.n_refitted == 30 > quick.about.n_refitted
        assert exact.about.diagnostics.n_draws == 1000
        assert quick.about.diagnostics.n_draws == 4000
        assert quick.p_original == pytest.approx(exact.p_original, abs=0.03)


@pytest.mark.parametrize("times", [1.0, 250.0])
def test_a_model_and_its_copy_gain_nothing(times):
    signed = np.column_stack([PAIR.signed, times * PAIR.signed[:, 1]])
    both = replace(
        PAIR, members=(*PAIR.members, Member("copy", MemberKind.MODEL, "Copy")), signed=signed
    )
    folds = in_blocks(PAIR, 3)
    found = held_out(both, folds)
    assert found.about.copies_left_out == ("copy",)
    assert found.p_original == pytest.approx(held_out(PAIR, folds).p_original, abs=1e-12)


@pytest.mark.parametrize("amount", [1e-4, 1e-3, 1e-2, 1e-1])
def test_a_near_copy_is_not_counted_twice(amount):
    model = make_evidence(n_items=300, per_item=1, seed=8).of(("org/model-0",))
    noise = np.random.default_rng(8).normal(0, amount, (300, 1))
    signed = np.column_stack([model.signed, model.signed + noise])
    both = replace(
        model, members=(*model.members, Member("near", MemberKind.MODEL, "Near")), signed=signed
    )
    one, two = held_out(model).p_original, held_out(both).p_original
    assert np.abs(one - two).mean() < 0.03
    assert np.log(two).mean() - np.log(one).mean() < 0.005


def test_people_of_one_level_against_each_other_are_decided_by_their_ratings():
    evidence = make_evidence(n_items=40, n_humans=2, models=(), d_human=0.6, seed=9)
    found = held_out(evidence, draws=300)
    tied = found.p_original == 0.5
    assert 0.05 < tied.mean() < 0.4
    assert (found.points[tied] == (evidence.towards_truth[tied].sum(axis=1) > 0)).all()
    assert (found.points[~tied] == (found.p_original[~tied] > 0.5)).all()


@pytest.mark.parametrize(("rho", "human_human"), [(0.1, 0.2), (0.6, 0.36)])
def test_the_gain_of_a_team_is_that_of_the_best_possible_combination(rho, human_human):
    evidence = make_evidence(
        n_items=700,
        per_item=2,
        models=(0.8,),
        d_human=0.8,
        rho=rho,
        human_human=human_human,
        seed=10,
    )
    # Best: likelihood ratio of the bivariate normal, weights R^-1 d; both members have the same d, so equal weights
    gain = stats.norm.cdf(1.6 / np.sqrt(2 + 2 * rho)) - stats.norm.cdf(0.8)
    rating, x = evidence.towards_truth.T
    latent = np.sign(rating) * stats.norm.ppf((1 + np.abs(rating) / 100) / 2)
    best = latent + x / 0.3 > 0
    found = held_out(evidence, in_blocks(evidence, 2), draws=200, refit_draws=200)
    lost = (best.astype(float) - found.points).reshape(-1, 2).mean(axis=1)
    bound = (
        2.5 * lost.std() / np.sqrt(len(lost)) + 0.005
    )  # three levels of confidence lose a little
    assert abs(lost.mean()) < bound < 0.7 * gain
    assert found.points.mean() > evidence.points.mean(axis=0).max()
