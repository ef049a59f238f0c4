"""Flips: running differences and their signs against a slow reading of the marked texts, character by character."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import NotEnough
from analysis.stats.flips import (
    Counts,
    sentence_places,
    sequences,
    summarise,
    token_places,
    trajectories,
)
from analysis.stats.token_alignment import Streams
from tests.analysis.tokens import RISE, Text, both_versions, tokens_of


def true_places(text: Text, tokens: pd.DataFrame) -> dict[tuple[int, int], tuple[float, float]]:
    """(segment, character of it) at which tokens of both versions end -> running nats of both, after the first change."""
    found = []
    for version, name in enumerate(("original", "altered")):
        rows, nats, places = tokens[tokens["version"] == name], 0.0, {}
        lengths = [len(s if isinstance(s, str) else s[version]) for s in text]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        for row in rows.itertuples():
            nats -= 0.0 if np.isnan(row.logprob) else row.logprob
            segment = next(n for n in range(len(text)) if row.end <= starts[n + 1])
            is_end = row.end == starts[segment + 1]
            if isinstance(text[segment], str) or is_end:
                offset = -1 if is_end else row.end - starts[segment]
                places[segment, offset] = nats
        found.append(places)
    one, two = found
    first = next(n for n, s in enumerate(text) if not isinstance(s, str))
    return {p: (one[p], two[p]) for p in one.keys() & two.keys() if p[0] >= first}


def with_own_letters(lengths: list[int]) -> list[str]:
    """Pieces of plain text without two equal characters, so that no token looks like another by chance."""
    letters = iter(chr(0x4E00 + n) for n in range(1000))
    return ["".join(next(letters) for _ in range(n)) for n in lengths]


passages = st.text("ab", min_size=1, max_size=5)
texts = st.lists(
    st.tuples(st.integers(1, 8), st.tuples(passages, passages)), min_size=1, max_size=4
)


@settings(max_examples=40)
@given(texts, st.integers(2, 4))
def test_every_place_found_is_a_place_of_both_versions(drawn, size):
    plain = with_own_letters([n for n, _ in drawn])
    text = [s for piece, (_, change) in zip(plain, drawn, strict=True) for s in (piece, change)]
    tokens = both_versions(text, size=size)
    streams = Streams(tokens)
    truth = true_places(text, tokens)
    allowed = {round(two - one, 9) for one, two in truth.values()}
    found = token_places(streams)["difference_nats"].round(9).tolist()
    end = {name: -rows["logprob"].sum() for name, rows in tokens.groupby("version")}
    assert found[-1] == pytest.approx(end["altered"] - end["original"], abs=1e-8)
    assert set(found[:-1]) <= allowed


def test_texts_that_are_cut_alike_are_compared_at_every_place():
    tokens = both_versions(RISE, size=99)  # words
    truth = true_places(RISE, tokens)
    found = token_places(Streams(tokens))
    expected = [two - one for _, (one, two) in sorted(truth.items(), key=lambda p: p[1][0])]
    np.testing.assert_allclose(found["difference_nats"], expected)
    assert len(found) == 6  # far, away., Mice, slept, too., So.


def test_order_of_rows_other_units_prompts_and_lone_versions_change_nothing():
    tokens = pd.concat([both_versions(RISE, item=7), both_versions(RISE, item=2)])
    expected = token_places(Streams(tokens))
    noise = [
        tokens.assign(unit=1),
        tokens.assign(in_text=False, position=-1),
        tokens_of(RISE, 0, item=5),
    ]
    mixed = pd.concat([tokens, *noise]).sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(token_places(Streams(mixed)), expected)
    assert expected["item"].drop_duplicates().tolist() == [2, 7]


def test_an_alternation_that_is_empty_in_one_version_is_compared_after_it():
    text: Text = ["It ran", ("", " not"), " away then", (" home", " off"), " at once."]
    tokens = both_versions(text, size=99)
    found = token_places(Streams(tokens))["difference_nats"].to_numpy()
    truth = [two - one for place, (one, two) in true_places(text, tokens).items() if place[0] == 4]
    np.testing.assert_allclose(np.sort(found), np.sort(truth))


def test_versions_without_a_difference_have_no_places():
    tokens = both_versions(["Rats slept."])
    assert token_places(Streams(tokens)).empty
    with pytest.raises(NotEnough, match="No test case"):
        summarise(sequences(token_places(Streams(tokens))), [])


def test_sentences_are_compared_from_the_first_that_differs():
    text: Text = ["All was well. Rats ran", (" far", " on"), ". Mice slept."]
    tokens = both_versions(text, size=99)
    whole = ["All was well. Rats ran far. Mice slept.", "All was well. Rats ran on. Mice slept."]
    ends = {
        name: [13, t.index(". M") + 1, len(t)]
        for name, t in zip(("original", "altered"), whole, strict=True)
    }
    found = sentence_places(Streams(tokens), {0: ends})
    expected = []
    for k in (1, 2):
        sums = [
            -tokens.loc[
                (tokens["version"] == name) & (tokens["end"] <= ends[name][k]), "logprob"
            ].sum()
            for name in ("original", "altered")
        ]
        expected.append(sums[1] - sums[0])
    np.testing.assert_allclose(found["difference_nats"], expected)
    token_end = token_places(Streams(tokens))["difference_nats"].iloc[-1]
    assert found["difference_nats"].iloc[-1] == token_end
    assert sentence_places(Streams(tokens), {}).empty
    with pytest.raises(ValueError, match="other numbers"):
        sentence_places(Streams(tokens), {0: {"original": [5], "altered": [5, 9]}})


@given(st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=8), min_size=1, max_size=6))
def test_categories_and_changes_of_sign_are_those_of_a_slow_count(runs):
    places = pd.DataFrame(
        [(item, float(d)) for item, run in enumerate(runs) for d in run],
        columns=["item", "difference_nats"],
    )
    found = sequences(places)
    for row, run in zip(found.itertuples(), runs, strict=True):
        signs = ["Pos" if d > 0 else "Neg" for d in run if d]
        assert row.category == (signs[0] + signs[-1] if signs else "")
        assert row.sign_flips == sum(a != b for a, b in pairwise(signs))
        assert (row.n_places, row.end_difference_nats) == (len(run), run[-1])
    turned = sequences(places.assign(difference_nats=-places["difference_nats"]))
    swap = {"PosPos": "NegNeg", "NegNeg": "PosPos", "PosNeg": "NegPos", "NegPos": "PosNeg", "": ""}
    assert turned["category"].tolist() == [swap[c] for c in found["category"]]
    assert turned["sign_flips"].tolist() == found["sign_flips"].tolist()


def test_counts_and_means_by_decision():
    found = pd.DataFrame(
        {"category": ["PosPos", "NegPos", "NegNeg", "PosNeg", ""], "sign_flips": [0, 1, 2, 3, 0]}
    )
    flips = summarise(found, [1, 1, 0, np.nan, 1])
    assert flips.counts == Counts(PosPos=1, PosNeg=1, NegPos=1, NegNeg=1)
    assert flips.turned == 0.5
    assert (flips.n_items, flips.n_undecided, flips.n_end_disagrees) == (4, 1, 0)
    correct, wrong = flips.sign_flips.correct, flips.sign_flips.wrong
    assert (correct.n, correct.mean, wrong.mean) == (2, 0.5, 2.0)
    assert summarise(found, [0, 1, 1, 1, 1]).n_end_disagrees == 3


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 40), st.integers(-9, 9)), min_size=1, max_size=6),
        min_size=1,
        max_size=6,
    )
)
def test_a_trajectory_is_the_last_difference_read_at_each_place(items):
    reads = [sorted(dict(item).items()) for item in items]
    rows = [(n, d, p / 40) for n, item in enumerate(reads) for p, d in item]
    places = pd.DataFrame(rows, columns=["item", "difference_nats", "place"])
    right = [n % 2 for n in range(len(items))]
    found = trajectories(places, right)
    assert len(found) == 21 * len(set(right))
    for decision, rows in found.groupby("decision"):
        some = [item for n, item in enumerate(reads) if n % 2 == (decision == "right")]
        for row in rows.itertuples():
            passed = [[0, *(d for p, d in item if p <= 40 * row.place + 1e-6)][-1] for item in some]
            assert row.n_items == len(some)
            assert row.mean_nats == pytest.approx(np.mean(passed))
            expected = np.percentile(passed, [25, 50, 75])
            assert [row.q1_nats, row.median_nats, row.q3_nats] == pytest.approx(list(expected))


def test_places_are_shares_of_the_original_and_decisions_unknown_have_no_trajectory():
    places = token_places(Streams(both_versions(RISE, size=99)))
    whole = "".join(s if isinstance(s, str) else s[0] for s in RISE)
    ends = [whole.index(word) + len(word) for word in (" far", "away.", "Mice", "slept", "too.")]
    np.testing.assert_allclose(places["place"], [*(e / len(whole) for e in ends), 1])
    assert trajectories(places, [np.nan]).empty
    assert trajectories(places.iloc[:0], []).empty
