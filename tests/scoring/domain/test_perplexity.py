"""Perplexities against independent arithmetic; compressed lengths and ratios against the published ones."""

import csv
import json
from fractions import Fraction
from math import exp, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.domain.perplexity import (
    NotFiniteError,
    NothingToScoreError,
    accuracy,
    decide,
    nll_nats,
    perplexity,
    ratio,
    zlib_bytes,
)
from scoring.domain.prompts import Prompt

logs = st.lists(st.floats(-30, 0), min_size=1, max_size=30)


@given(logs)
def test_perplexity_is_the_inverse_geometric_mean_of_the_probabilities(values):
    t = len(values)
    exact = sum(map(Fraction, values))
    got = perplexity([[nan, *values]], [[True] * (t + 1)])[0]
    assert got == pytest.approx(exp(float(-exact) / t), rel=1e-14)


@given(logs, st.integers(0, 5))
def test_padding_moves_no_digit(values, padding):
    row, counted = [nan, *values], [True] * (len(values) + 1)
    alone = nll_nats([row], [counted])
    padded = nll_nats([row + [nan] * padding], [counted + [False] * padding])
    assert alone[0] == padded[0]


def test_the_first_token_is_never_read():
    assert nll_nats([[5.0, -1.0]], [[True, True]]).tolist() == [1.0]


def test_a_prompt_that_does_not_count_is_left_out():
    values = [[nan, log(0.5), log(0.25), log(0.25)]]
    assert perplexity(values, [[True, True, True, True]])[0] == pytest.approx(2 ** (5 / 3))
    assert perplexity(values, [[False, False, True, True]])[0] == pytest.approx(4.0)


@pytest.mark.parametrize("value", [nan, float("inf"), float("-inf")])
def test_a_log_probability_that_is_not_finite_is_an_error_with_its_place(value):
    with pytest.raises(NotFiniteError, match="token 3 of text 2") as caught:
        perplexity([[nan, -1.0, -1.0], [nan, -1.0, value]], np.ones((2, 3), bool))
    assert (caught.value.text, caught.value.token) == (1, 2)


def test_a_text_without_tokens_is_an_error():
    with pytest.raises(NothingToScoreError, match="text 1 has no token"):
        perplexity([[nan, -1.0]], [[True, False]])


def test_a_tie_is_half_and_a_near_tie_is_marked():
    assert decide(7.0, 7.0).points == 0.5
    assert decide(7.0, 7.006).is_near_tie
    assert not decide(7.0, 7.008).is_near_tie
    assert decide(7.0, 7.006).points == 1
    # As near from the other side
    assert decide(7.006, 7.0).is_near_tie
    assert not decide(7.008, 7.0).is_near_tie


@pytest.mark.parametrize("pair", [(nan, 1.0), (1.0, float("inf")), (0.0, 1.0), (-1.0, 1.0)])
def test_an_invalid_perplexity_decides_nothing(pair):
    with pytest.raises(ValueError, match="is not a perplexity"):
        decide(*pair)


def test_the_standard_error_is_binomial():
    found = accuracy([decide(1, 2)] * 3 + [decide(2, 1)])
    assert (found.value, found.sem) == (0.75, pytest.approx((0.75 * 0.25 / 4) ** 0.5))
    assert np.isnan(accuracy([]).value)


# These families were given the paper's sentence as it is; Llama-2 and Falcon longer prompts of their own
GIVEN_THE_SENTENCE = ("facebook--galactica-6.7b", "gpt2", "finetune_gpt2")


@pytest.mark.parametrize("model", GIVEN_THE_SENTENCE)
def test_compressed_lengths_of_prompted_items_are_the_published_ones(shared_dir, model):
    results = shared_dir / "brainbench_results"
    with open(
        results / "testcases/BrainBench_Human_v0.1.csv", encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    folder = results / "model_results" / model / "human_abstracts"
    published, labels = np.load(folder / "ZLIB_A_and_B.npy"), np.load(folder / "labels.npy")
    prompt = Prompt.of("paper")
    ours = [
        [zlib_bytes(prompt.fill(row[f"{name}_abstract"])) for name in ("original", "incorrect")]
        for row in rows
    ]
    # Side A is the original where the label is 0
    theirs = [
        pair[::-1] if label else pair
        for pair, label in zip(published.tolist(), labels, strict=True)
    ]
    assert ours == theirs


def test_the_anchor_texts_compressed_length_and_ratio_are_the_published_ones(shared_dir):
    results = shared_dir / "brainbench_results"
    (anchor,) = json.loads((results / "data/gettysburg_address.json").read_text(encoding="utf-8"))
    reference = {"tiiuae--falcon-180B": 604.34, "meta-llama--Llama-2-70b-hf": 639.95}
    for model, expected in reference.items():
        folder = results / "model_results" / model / "gettysburg_address"
        assert zlib_bytes(anchor["text"]) == np.load(folder / "ZLIB.npy").item()
        ppl = np.load(folder / "PPL.npy").item()
        assert ratio(zlib_bytes(anchor["text"]), ppl) == pytest.approx(expected, abs=0.005)
