"""Which results a sentence is worth: one whose interval is most of what could be says nothing."""

from collections.abc import Sequence

from lib import formatting as f


def is_telling(ci95: Sequence[float | None] | None, low: float, high: float) -> bool:
    """Whether a 95% interval is known, and narrower than half of the scale from `low` to `high`.

    >>> is_telling((0.2, 0.6), 0, 1), is_telling((0.015, 0.995), 0, 1), is_telling((-1.0, 1.0), -1, 1), is_telling(None, 0, 1)
    (True, False, False, False)
    """
    if not ci95 or not (f.is_known(ci95[0]) and f.is_known(ci95[1])):
        return False
    return ci95[1] - ci95[0] < (high - low) / 2
