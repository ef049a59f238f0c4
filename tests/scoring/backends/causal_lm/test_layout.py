"""A pack holds every text once, sees what the text would see alone, and nothing else."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scoring.backends.causal_lm.layout import (
    distinct_tokens,
    lay_out,
    plan_packs,
    plan_padded,
    shared_length,
)

texts = st.lists(st.integers(0, 3), min_size=1, max_size=8).map(np.array)
groups = st.lists(st.lists(texts, min_size=1, max_size=3), min_size=1, max_size=4)


@given(groups)
def test_each_text_is_found_along_its_path(groups):
    pack = lay_out(groups)
    for group, paths in zip(groups, pack.paths, strict=True):
        for text, path in zip(group, paths, strict=True):
            assert pack.ids[path].tolist() == text.tolist()
            assert pack.positions[path].tolist() == list(range(len(text)))


@given(groups)
def test_a_token_sees_exactly_its_own_text_up_to_itself(groups):
    pack = lay_out(groups)
    allowed = pack.allowed()
    for paths in pack.paths:
        for path in paths:
            for i, at in enumerate(path):
                assert np.flatnonzero(allowed[at]).tolist() == sorted(path[: i + 1].tolist())


@given(groups)
def test_segments_cover_the_pack_without_overlap(groups):
    pack = lay_out(groups)
    covered = [n for s in pack.segments for n in range(s.start, s.end)]
    assert covered == list(range(pack.n_tokens))
    root = shared_length([text for group in groups for text in group])
    assert pack.n_tokens == root + sum(distinct_tokens(group, root) for group in groups)


@given(groups, st.integers(1, 40))
def test_packs_hold_every_group_in_order_and_keep_to_their_budget_unless_one_is_larger(
    groups, budget
):
    plan = plan_packs(groups, budget)
    assert [n for pack in plan for n in pack] == list(range(len(groups)))
    for pack in plan:
        laid = lay_out([groups[n] for n in pack])
        assert laid.n_tokens <= budget or len(pack) == 1


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=2, max_size=2), min_size=1, max_size=8),
    st.integers(1, 60),
)
def test_padded_batches_keep_to_their_budget_and_lose_nobody(lengths, budget):
    plan = plan_padded(lengths, budget)
    assert sorted(n for batch in plan for n in batch) == list(range(len(lengths)))
    for batch in plan:
        size = max(max(lengths[n]) for n in batch) * sum(len(lengths[n]) for n in batch)
        assert size <= budget or len(batch) == 1
