"""How often each item was judged."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough

METHOD = (
    "Trials in the analysis per item, items without any included; sd with n-1 (sd_ddof0: with n)."
)


@dataclass(frozen=True)
class ExposureBin:
    """This many items were judged n times."""

    n: int
    items: int


@dataclass(frozen=True)
class Exposures:
    """Of `exposures`: trials per item."""

    n_items: int
    mean: float
    sd: float | None
    sd_ddof0: float
    min: int
    max: int
    histogram: tuple[ExposureBin, ...]
    method: str = METHOD


def exposures(counts: npt.ArrayLike) -> Exposures:
    """Describe counts (items,), whole numbers. Raises NotEnough without items.

    >>> three = exposures([1, 3, 3, 5])
    >>> three.mean, three.min, three.max, three.histogram[1]
    (3.0, 1, 5, ExposureBin(n=3, items=2))
    """
    n = np.asarray(counts).astype(np.int64)
    if not len(n):
        raise NotEnough("There are no test cases.", "Add test cases to the study.")
    values, items = np.unique(n, return_counts=True)
    histogram = tuple(ExposureBin(int(v), int(i)) for v, i in zip(values, items, strict=True))
    sd = float(n.std(ddof=1)) if len(n) > 1 else None
    return Exposures(
        len(n), float(n.mean()), sd, float(n.std()), int(values[0]), int(values[-1]), histogram
    )
