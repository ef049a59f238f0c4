"""Normalising a text (what goes, what stays, and that once is enough), and near copies of it."""

import unicodedata
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.training.corpus.building.near_duplicates import (
    BANDS,
    ROWS,
    THRESHOLD,
    Groups,
    Signer,
    join_near_copies,
    normalise,
)

TEXTS = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r\x0b\x0c\x00\x85\xad\u200b\u2028\u2029\ufeff\ufb01\u00a0\u0301e"),
        st.characters(exclude_categories=["Cs"]),
    )
)


@given(TEXTS)
def test_normalised_text_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not {unicodedata.category(char) for char in once.replace("\n", "")} & {"Cc", "Zl", "Zp"}
    assert "  " not in once
    assert "\n\n\n" not in once


def test_paragraphs_stay_and_what_typesetters_need_goes() -> None:
    written = "\ufeffAn e\u0301tude.\r\n\r\n\r\n  Of e\ufb00ects\u00a0in\tmem\u00adory.\x00\x0cNew page\u2029Last  line. \n"
    assert normalise(written) == "An étude.\n\nOf effects in memory.\n\nNew page\n\nLast line."


Sets = list[set[int]]


def joined(sets: Sets, seed: int = 1) -> set[frozenset[int]]:
    hashes = [np.array(sorted(one), np.uint64) * np.uint64(0x9E3779B97F4A7C15) for one in sets]
    hashes = [np.sort(one) for one in hashes]
    signer, groups = Signer(seed), Groups()
    bands = np.stack([signer.bands(one) for one in hashes])
    done: list[int] = []
    join_near_copies(bands, np.arange(len(sets)), groups, hashes.__getitem__, done.append)
    assert done == list(range(1, BANDS + 1))
    return {frozenset(rows) for rows in groups.groups().values()}


def brute(sets: Sets, threshold: float) -> set[frozenset[int]]:
    groups = Groups()
    for one, other in combinations(range(len(sets)), 2):
        if len(sets[one] & sets[other]) / len(sets[one] | sets[other]) >= threshold:
            groups.join(one, other)
    return {frozenset(rows) for rows in groups.groups().values()}


def inside(small: set[frozenset[int]], large: set[frozenset[int]]) -> bool:
    return all(any(one <= other for other in large) for one in small)


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=2, max_size=12), st.integers(0, 5))  # fmt: skip
def test_no_pair_is_joined_that_all_pairs_compared_would_not_join(sets: Sets, seed: int) -> None:
    found = joined(sets, seed)
    assert inside(found, brute(sets, THRESHOLD))
    # At .95 one pair in 10^16 is missed
    assert inside(brute(sets, 0.95), found)


def test_pairs_are_found_as_often_as_the_docstring_says() -> None:
    """The share of 2,000 pairs at Jaccard index s is 1 - (1 - s^5)^25, within four standard errors."""
    signer = Signer(7)
    numbers = np.random.default_rng(7)
    for shared, alone in ((60, 20), (70, 15), (80, 10)):
        s, found = shared / (shared + 2 * alone), 0
        for _ in range(2000):
            both, *own = np.split(numbers.integers(0, 2**63, shared + 2 * alone, np.uint64), [shared, shared + alone])  # fmt: skip
            one, other = (signer.bands(np.concatenate([both, part])) for part in own)
            found += bool((one == other).any())
        expected = 1 - (1 - s**ROWS) ** BANDS
        error = (expected * (1 - expected) / 2000) ** 0.5
        assert found / 2000 == pytest.approx(expected, abs=4 * error + 1e-3)
