"""Texts longer than what a model reads at once: windows that roll over them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, stop) of a text, read at once; those from `scored` on get their probability here."""

    start: int
    stop: int
    scored: int


def rolling_windows(n_tokens: int, size: int) -> list[Window]:
    """Windows of at most `size` tokens in which each token but the first is scored once.

    The first window is the text's first W = `size` tokens. Each next one ends min(W - 1, what is left) tokens after the
    one before, is W tokens long, and scores the tokens that are new. So log p(x_i | x_<i) becomes
    log p(x_i | x_s .. x_i-1), where s is the start of the window: the first new token has one token before it, the last
    up to W - 1, and the last window reaches back as far as it can. These are the windows of lm-evaluation-harness's
    `loglikelihood_rolling` (context_len 1, max_seq_len W - 1), with the text's first token in the place of its prefix
    token.

    Raises:
        ValueError: a window holds less than two tokens.

    >>> rolling_windows(8, 4)
    [Window(start=0, stop=4, scored=1), Window(start=3, stop=7, scored=4), Window(start=4, stop=8, scored=7)]
    >>> rolling_windows(4, 4)
    [Window(start=0, stop=4, scored=1)]
    """
    if size < 2:
        raise ValueError(f"a window of {size} tokens predicts none")
    windows = [Window(0, min(size, n_tokens), 1)]
    while (scored := windows[-1].stop) < n_tokens:
        stop = min(scored + size - 1, n_tokens)
        windows.append(Window(stop - size, stop, scored))
    return windows
