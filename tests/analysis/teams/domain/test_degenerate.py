"""Every way of combining answers judgments that no model was made for with numbers, or with a reason for people."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from analysis.codec import to_json
from analysis.stats import NotEnough
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.evaluation import evaluate
from analysis.teams.domain.evidence import Evidence, gather
from analysis.teams.domain.folds import Draws, by_item, by_item_and_participant, in_blocks
from analysis.teams.domain.runs import BAYESIAN, METHODS
from analysis.teams.results import Method
from tests.analysis.made import make_data
from tests.analysis.teams.domain.simulated import make_evidence

USUAL = make_evidence(n_items=12, per_item=3, n_participants=9, models=(0.9, 0.4), seed=3)
MODEL = 1  # its column


def changed(evidence: Evidence, column: int | slice, towards: Callable) -> Evidence:
    """With other confidence in the original, from what it was."""
    signed = evidence.signed.copy()
    own = evidence.towards_truth[:, column]
    truth = evidence.truth if np.ndim(own) == 1 else evidence.truth[:, None]
    signed[:, column] = towards(own) * truth
    return replace(evidence, signed=signed)


def without_scores() -> Evidence:
    """Missing judgments: half of the items lack a score of one of the models."""
    data = make_data(n_participants=12, n_items=10, trials_each=5)
    gone = (data.full["model"] == 1) & (data.full["item"] % 2 == 0)
    return gather(replace(data, full=data.full[~gone]), [0, 1], n_humans=2).evidence


def without_trials() -> Evidence:
    data = make_data(n_participants=12, n_items=12, trials_each=5)
    return gather(replace(data, trials=data.trials.iloc[:0]), [0, 1, 2], n_humans=0).evidence


SIDE_B = replace(USUAL, truth=np.ones(len(USUAL)), signed=USUAL.towards_truth)
CASES = {
    "usual": USUAL,
    "one model always right": changed(USUAL, MODEL, np.abs),
    "one model always wrong": changed(USUAL, MODEL, lambda x: -np.abs(x)),
    "the human always right": changed(USUAL, 0, np.abs),
    "all always right": changed(USUAL, slice(None), np.abs),
    "perfect separation by far": changed(USUAL, slice(None), lambda x: 1e4 * (1 + np.abs(x))),
    "wrong once, surest by far": changed(
        USUAL, MODEL, lambda x: np.where(USUAL.item == 0, -1e5, 1 + np.abs(x))
    ),
    "the human's confidence constant": changed(USUAL, 0, lambda x: 50 * np.sign(x)),
    "all confidence constant": changed(USUAL, slice(None), lambda x: 0.3 * np.sign(x)),
    "a model without confidence": changed(USUAL, MODEL, lambda x: 0 * x),
    "a model without confidence on one item": changed(
        USUAL, MODEL, lambda x: np.where(USUAL.item == 0, 0, x)
    ),
    "no one with confidence": changed(USUAL, slice(None), lambda x: 0 * x),
    "two models alike": replace(USUAL, signed=USUAL.signed[:, [0, 1, 1]]),
    "one model another's opposite": changed(USUAL, 2, lambda _: -USUAL.towards_truth[:, 1]),
    "hardly any difference of perplexities": changed(USUAL, MODEL, lambda x: 1e-9 * x),
    "one item": USUAL.rows(USUAL.item == 3),
    "two items": USUAL.rows(USUAL.item < 2),
    "two trials": USUAL.rows(np.array([0, 5])),
    "one participant": replace(USUAL, participant=np.zeros_like(USUAL.participant)),
    "originals on one side": SIDE_B,
    "originals on one side but for one item": replace(
        USUAL,
        truth=np.where(USUAL.item == 0, -1.0, 1.0),
        signed=USUAL.towards_truth * np.where(USUAL.item == 0, -1.0, 1.0)[:, None],
    ),
    "humans alone": make_evidence(n_items=10, n_humans=3, models=(), n_participants=9),
    "one human": USUAL.of(("human",)),
    "one model": USUAL.of(("org/model-0",)),
    "scores missing": without_scores(),
    "no trials": without_trials(),
}


def held_out(evidence: Evidence, method: str) -> HeldOut:
    # Each fold of `logistic` is a search of its own
    folds = in_blocks(evidence, 4) if method == "logistic" else by_item(evidence)
    # By reweighted draws, as with many items, and by fits where these are too few
    few = replace(BAYESIAN, draws=150, refit_draws=150, refit_up_to=0)
    return (few if method == "bayesian" else METHODS[method]).held_out(evidence, folds)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES)
def test_a_combination_answers_with_numbers_or_a_reason(case, method):
    evidence = CASES[case]
    try:
        held = held_out(evidence, method)
    except NotEnough as error:
        assert case != "usual"
        said = (error.reason, error.needed)
        assert all(s[0].isupper() and s.endswith(".") and len(s.split()) > 2 for s in said), said
        return
    assert held.p_original.shape == held.points.shape == (len(evidence),)
    assert ((held.p_original >= 0) & (held.p_original <= 1)).all()
    assert held.about.rule.endswith(".")
    json.dumps(to_json(held.about), allow_nan=False)
    result = evaluate(evidence, held, Method(method), Draws.of(evidence, resamples=50))
    finite = [v for v in to_json(result).values() if isinstance(v, float)]
    assert np.isfinite(finite).all()
    assert result.log_loss_nats < 13.9


def test_too_little_to_hold_out_is_a_reason():
    for few in (CASES["one item"], USUAL.rows(np.zeros(len(USUAL), bool))):
        for folds in (by_item, by_item_and_participant, lambda e: in_blocks(e, 5)):
            with pytest.raises(NotEnough, match="At least two"):
                folds(few)
    with pytest.raises(NotEnough, match="one participant"):
        by_item_and_participant(CASES["one participant"])
