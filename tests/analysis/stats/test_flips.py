"""Flips: running differences and their signs against a slow reading of the marked texts, character by character."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.stats import NotEnough
from analysis.stats.flips import (
    NATS,
    Counts,
    common_places,
    sentence_places,
    sequences,
    summarise,
    token_places,
)
from analysis.stats.token_alignment import Streams
from scoring.domain.perplexity import decide, perplexity
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


@settings(max_examples=40, deadline=None)
@given(texts, st.integers(2, 4))
def test_every_place_found_is_a_place_of_both_versions(drawn, size):
    plain = with_own_letters([n for n, _ in drawn])
    text = [s for piece, (_, change) in zip(plain, drawn, strict=True) for s in (piece, change)]
    tokens = both_versions(text, size=size)
    streams = Streams(tokens)
    assume(any(one != other for _, (one, other) in drawn))
    truth = true_places(text, tokens)
    allowed = {round(two - one, 9) for one, two in truth.values()}
    found = common_places(streams)["difference_nats"].round(9).tolist()
    end = {name: -rows["logprob"].sum() for name, rows in tokens.groupby("version")}
    assert found[-1] == pytest.approx(end["altered"] - end["original"], abs=1e-8)
    assert set(found[:-1]) <= allowed


def test_order_of_rows_other_units_prompts_and_lone_versions_change_nothing():
    tokens = pd.concat([both_versions(RISE, item=7), both_versions(RISE, item=2)])
    expected = common_places(Streams(tokens))
    noise = [
        tokens.assign(unit=1),
        tokens.assign(in_text=False, position=-1),
        tokens_of(RISE, 0, item=5),
    ]
    mixed = pd.concat([tokens, *noise]).sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(common_places(Streams(mixed)), expected)
    every = token_places(Streams(tokens))
    pd.testing.assert_frame_equal(token_places(Streams(mixed)), every)
    assert expected["item"].drop_duplicates().tolist() == [2, 7]


def test_versions_without_a_difference_have_no_places():
    tokens = both_versions(["Rats slept."])
    assert common_places(Streams(tokens)).empty
    with pytest.raises(NotEnough, match="No test case"):
        summarise(sequences(common_places(Streams(tokens))), [])
    assert token_places(Streams(tokens)).empty


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
    token_end = common_places(Streams(tokens))["difference_nats"].iloc[-1]
    assert found["difference_nats"].iloc[-1] == token_end
    assert sentence_places(Streams(tokens), {}).empty
    with pytest.raises(ValueError, match="other numbers"):
        sentence_places(Streams(tokens), {0: {"original": [5], "altered": [5, 9]}})


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-2, 2), min_size=1, max_size=8), min_size=1, max_size=6))
def test_categories_and_changes_of_sign_are_those_of_a_slow_count(runs):
    places = pd.DataFrame(
        [(item, float(d)) for item, run in enumerate(runs) for d in run],
        columns=["item", NATS],
    )
    found = sequences(places, NATS)
    for row, run in zip(found.itertuples(), runs, strict=True):
        last = [run[-1] or -1] if any(run) else []  # a tie is decided wrong
        signs = ["Pos" if d > 0 else "Neg" for d in [*run[:-1], *last] if d]
        assert row.category == (signs[0] + signs[-1] if signs else "")
        assert row.sign_flips == sum(a != b for a, b in pairwise(signs))
        assert (row.n_places, row.end_difference_nats) == (len(run), run[-1])


def test_counts_and_means_by_decision():
    found = pd.DataFrame(
        {"category": ["PosPos", "NegPos", "NegNeg", "PosNeg", ""], "sign_flips": [0, 1, 2, 3, 0]}
    )
    flips = summarise(found, [1, 1, 0, np.nan, 1])
    assert flips.counts == Counts(PosPos=1, PosNeg=1, NegPos=1, NegNeg=1)
    assert (flips.n_items, flips.n_undecided, flips.n_end_disagrees) == (4, 1, 0)
    correct, wrong = flips.sign_flips.correct, flips.sign_flips.wrong
    assert (correct.n, correct.mean, wrong.mean) == (2, 0.5, 2.0)
    assert summarise(found, [0, 1, 1, 1, 1]).n_end_disagrees == 3
    tied = summarise(found, [0.5, 1, 1, 1, 1])
    assert (tied.n_decided, tied.n_end_disagrees) == (3, 2), "a tie is no decision"


def shares_of(flips):
    return [(s.n_correct, s.n) for s in (flips.wrong_ends_right, flips.right_ends_right)]


def test_shares_go_by_the_first_sign_and_are_none_where_none_began_so():
    found = pd.DataFrame(
        {"category": ["PosPos", "NegPos", "NegNeg", "PosNeg", "PosPos"], "sign_flips": 0}
    )
    assert shares_of(summarise(found, [1, 1, 0, 0, 1])) == [(1, 2), (2, 3)]
    assert summarise(found[:1], [1]).wrong_ends_right is None


def ppl_up_to(tokens: pd.DataFrame, n: int) -> float:
    """Perplexity of the first n tokens of a text, by scoring's own definition."""
    logprobs = tokens["logprob"].to_numpy()[:n]
    counted = tokens["counted"].to_numpy()[:n] if "counted" in tokens else np.ones(n, dtype=bool)
    return float(perplexity([logprobs], [counted])[0])


def with_context(
    tokens: pd.DataFrame, *, n_before: int, n_after: int, counted: bool
) -> pd.DataFrame:
    """Each text with a prompt before it and tokens after it that are not its own."""
    rng = np.random.default_rng(n_before)
    before, made = rng.exponential(1, n_before), []
    for _, text in tokens.groupby("version", sort=False):
        prompt = text.iloc[[0] * n_before].assign(
            position=np.arange(n_before) - n_before, logprob=-before, in_text=False
        )
        after = text.iloc[[0] * n_after].assign(
            position=len(text) + np.arange(n_after),
            logprob=-rng.exponential(1, n_after),
            in_text=False,
        )
        text = text.assign(logprob=text["logprob"].fillna(-0.3) if n_before else text["logprob"])
        made.append(pd.concat([prompt, text, after]))
    whole = pd.concat(made, ignore_index=True)
    whole.loc[whole["position"] == -n_before, "logprob"] = np.nan
    return whole.assign(
        counted=whole["in_text"] | counted,
        in_alternation=whole["in_alternation"] & whole["in_text"],
    )


@settings(max_examples=80, deadline=None)
@given(
    texts,
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 2),
    st.booleans(),
    st.lists(st.sampled_from([-0.25, -0.1, -0.7, -0.2]), min_size=1, max_size=9),
)
def test_the_last_sign_by_perplexity_is_the_decision(drawn, size, before, after, counted, logprobs):
    """Also where the sums are equal but for the order of adding: then it is a tie, which is on neither side."""
    plain = with_own_letters([n + 2 for n, _ in drawn])
    text = [s for piece, (_, change) in zip(plain, drawn, strict=True) for s in (piece, change)]
    tokens = both_versions(text, size=size)
    known = tokens["logprob"].notna()
    tokens.loc[known, "logprob"] = np.resize(logprobs, int(known.sum()))
    tokens = with_context(tokens, n_before=before, n_after=after, counted=counted)
    scored = tokens[tokens["counted"] & tokens["logprob"].notna()]
    assume(scored["version"].nunique() == 2)  # a text of one token may have none to score
    ppl = [ppl_up_to(rows, len(rows)) for _, rows in tokens.groupby("version", sort=False)]
    assume(any(one != other for _, (one, other) in drawn))
    places = token_places(Streams(tokens))
    assert places["difference_ppl"].iloc[-1] == ppl[1] - ppl[0]
    (category,) = sequences(places)["category"]
    if category:
        assert (category[3:] == "Pos") == (decide(*ppl).points == 1)


@settings(max_examples=60, deadline=None)
@given(texts, st.integers(1, 4))
def test_each_place_compares_the_perplexities_of_what_was_read_so_far(drawn, size):
    plain = with_own_letters([n for n, _ in drawn])
    text = [s for piece, (_, change) in zip(plain, drawn, strict=True) for s in (piece, change)]
    tokens = both_versions(text, size=size)
    streams = Streams(tokens)
    original, altered = (rows for _, rows in tokens.groupby("version", sort=False))
    rows, rows_altered = streams.paired_tokens()
    own, other = rows + 1, rows_altered + 1 - len(original)  # numbers of tokens
    assert (np.diff(own) >= 0).all()
    assert (np.diff(other) >= 0).all()
    assert (np.diff(own) + np.diff(other) > 0).all()
    if not len(rows):
        assert original["token"].tolist() == altered["token"].tolist()
        return
    assert (own[-1], other[-1]) == (len(original), len(altered))
    same = min(len(original), len(altered))
    differ = np.flatnonzero(
        original["token"].to_numpy()[:same] != altered["token"].to_numpy()[:same]
    )
    if len(differ):
        assert (own[0], other[0]) == (differ[0] + 1, differ[0] + 1)
    both = {tuple(pair) for pair in np.column_stack(streams.common_places()).tolist()}
    behind = {(a, b) for a, b in both if a >= rows[0] and b >= rows_altered[0]}
    assert behind <= set(zip(rows.tolist(), rows_altered.tolist(), strict=True))
    found = token_places(streams)
    expected = [
        (ppl_up_to(altered, b) if b > 1 else 1.0) - (ppl_up_to(original, a) if a > 1 else 1.0)
        for a, b in zip(own, other, strict=True)
    ]
    np.testing.assert_allclose(found["difference_ppl"], expected, rtol=1e-9, atol=1e-9)
    assert found["number"].tolist() == own.tolist()


def test_a_passage_of_more_tokens_is_compared_by_their_number_in_it_and_then_at_its_end():
    text: Text = ["It ran", (" home for good", " off"), " then", (" once", " as it did"), " too."]
    tokens = both_versions(text, size=99)
    word = tokens["token"].tolist()
    rows = zip(*Streams(tokens).paired_tokens(), strict=True)
    assert [(word[a].strip(), word[b].strip()) for a, b in rows] == [
        ("home", "off"),
        ("good", "off"),
        ("then", "then"),
        ("once", "did"),
        ("too.", "too."),
    ]
