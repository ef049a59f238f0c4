import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.domain.encoding import rolling_windows

LENGTHS, SIZES = st.integers(2, 200), st.integers(2, 40)


@given(LENGTHS, SIZES)
def test_every_token_but_the_first_is_scored_once(n_tokens: int, size: int) -> None:
    windows = rolling_windows(n_tokens, size)
    scored = [token for window in windows for token in range(window.scored, window.stop)]
    assert scored == list(range(1, n_tokens))
    assert all(window.start < window.scored for window in windows)
    assert all(window.stop - window.start <= size for window in windows)


@given(LENGTHS, SIZES)
def test_they_are_the_windows_of_lm_evaluation_harness(n_tokens: int, size: int) -> None:
    utils = pytest.importorskip("lm_eval.utils")
    tokens = list(range(n_tokens))
    theirs = [
        utils.make_disjoint_window(pair)
        for pair in utils.get_rolling_token_windows(
            tokens[1:], prefix_token=0, max_seq_len=size - 1, context_len=1
        )
    ]
    ours = [
        (tokens[w.start : w.scored], tokens[w.scored : w.stop])
        for w in rolling_windows(n_tokens, size)
    ]
    assert ours == [(list(context), list(scored)) for context, scored in theirs]


def test_a_window_of_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="predicts none"):
        rolling_windows(9, 1)
