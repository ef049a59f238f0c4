"""Whom a team follows, counted."""

from collections import Counter

import numpy as np
import pytest

from analysis.stats import NotEnough
from analysis.teams.domain.evaluation import complementarity
from analysis.teams.domain.folds import by_item
from analysis.teams.domain.runs import METHODS
from tests.analysis.teams.domain.conftest import LLAMA_2_CHAT


def made(n_members, n=400, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, n_members)) < 0.6, rng.random(n) < 0.7


PAIRS = list(zip(LLAMA_2_CHAT, ("7B", "13B", "70B"), strict=True))


@pytest.mark.shared
@pytest.mark.parametrize(("model", "size"), PAIRS)
def test_published_pairs_agree_and_disagree_as_often_as_the_reference_says(
    model, size, published_evidence, reference
):
    known = reference["own_exact_bayesian_plugin"][f"human_{size}"]["acc_by"]
    evidence = published_evidence.of(("human", model))
    held = METHODS["logistic"].held_out(evidence, by_item(evidence))
    found = complementarity(evidence.names, evidence.is_right, held.is_right)
    parts = (found.all_right, found.only_second, found.only_first, found.none_right)
    assert [p.n for p in parts] == [n for _, n in known.values()]
    assert sum(p.n_team_right for p in parts) == held.is_right.sum()
    assert (found.only_first.member, found.only_second.member) == ("human", model)


@pytest.mark.parametrize("n_members", [2, 3, 4, 6])
def test_patterns_name_who_is_right_and_add_up(n_members):
    is_right, team_right = made(n_members)
    names = tuple("abcdef"[:n_members])
    found = complementarity(names, is_right, team_right)
    rows = ["".join(np.array(names)[row]) for row in is_right]
    known, right = Counter(rows), Counter(np.array(rows)[team_right].tolist())
    assert {"".join(p.right): (p.n, p.n_team_right) for p in found.patterns} == {
        key: (n, right[key]) for key, n in known.items()
    }
    order = [(-p.n_right, p.right) for p in found.patterns]
    assert order == sorted(order, key=lambda key: (key[0], [name not in key[1] for name in names]))
    assert sum(p.share for p in found.patterns) == pytest.approx(1)
    three = (found.all_right, found.some_right, found.none_right)
    assert (sum(p.n for p in three), sum(p.n_team_right for p in three)) == (400, team_right.sum())
    assert (found.only_first is None) == (n_members > 2)


def test_beyond_six_members_patterns_count_who_is_right():
    is_right, team_right = made(7)
    found = complementarity(tuple("abcdefg"), is_right, team_right)
    counts = Counter(is_right.sum(axis=1).tolist())
    assert {p.n_right: p.n for p in found.patterns} == counts
    assert {p.right for p in found.patterns} == {None}
    assert [p.n_right for p in found.patterns] == sorted(counts, reverse=True)


def test_a_team_that_votes_follows_the_majority_always_and_its_opposite_never():
    is_right, _ = made(3)
    majority = is_right.sum(axis=1) >= 2
    for team, follows in ((majority, True), (~majority, False)):
        some = complementarity(("a", "b", "c"), is_right, team).some_right
        assert some.n_majority == some.n
        assert some.n_follows_majority == (some.n if follows else 0)
    is_right, team_right = made(4)
    split = (is_right.sum(axis=1) == 2).sum()
    some = complementarity(tuple("abcd"), is_right, team_right).some_right
    assert some.n - some.n_majority == split


def test_one_member_cannot_disagree():
    with pytest.raises(NotEnough, match="at least two"):
        complementarity(("a",), np.ones((3, 1), bool), np.ones(3, bool))
