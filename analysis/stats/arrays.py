"""Names for what estimators take and give, and when data that do not vary give no interval."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Interval = tuple[float, float]

ROUNDING = 1e-12  # what sums of equal numbers of the order of 1 differ by, at most


def with_width(low: float, high: float) -> Interval | None:
    """The interval from low to high, or None where only rounding lies between: data that do not vary do not tell how others would.

    >>> with_width(0.2, 0.4), with_width(0.3, 0.1 + 0.2)
    ((0.2, 0.4), None)
    """
    is_wide = high - low > ROUNDING * max(1.0, abs(low), abs(high))
    return (float(low), float(high)) if is_wide else None


def without_rounding(se: float) -> float:
    """A standard error of shares, probabilities or logarithms, exactly 0 where it is rounding; NaN stays.

    >>> without_rounding(1e-17), without_rounding(0.1)
    (0.0, 0.1)
    """
    return 0.0 if se <= ROUNDING else se
