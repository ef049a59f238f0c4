"""The record of a draw: bytes that give the drawn item again."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.assignment import WINDOW, DrawRecord, rng_key

IDS = st.sets(st.integers(1, 2_000_000), min_size=1, max_size=400).map(sorted)


@given(tied=IDS, seed=st.integers(0, 2**62), n_before=st.integers(0, 2**40))
def test_a_record_is_short_and_replays_whatever_tied(
    tied: list[int], seed: int, n_before: int
) -> None:
    key = rng_key(seed, "draw", 11)
    record = DrawRecord.of(tied, key, n_before)
    packed = record.pack()
    assert len(packed) <= 200
    assert DrawRecord.unpack(packed) == record
    assert record.item_id(key) in tied
    assert (record.n_tied, record.n_before) == (len(tied), n_before)
    assert set(record.window) <= set(tied)


def test_each_of_many_tied_items_has_the_same_chance() -> None:
    tied = list(range(10, 10 + 2 * WINDOW + 4))
    keys = [rng_key(seed, "draw", 1) for seed in range(20_000)]
    drawn = Counter(DrawRecord.of(tied, key).item_id(key) for key in keys)
    expected = len(keys) / len(tied)
    assert set(drawn) == set(tied)
    assert all(abs(n - expected) < 5 * expected**0.5 for n in drawn.values())
