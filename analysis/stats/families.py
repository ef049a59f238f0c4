"""Several tests of one question: corrected as one family, and how many findings they can be.

Fifteen models that read the same items and find the same ones easy are not fifteen observations. Holm's correction holds
however the tests depend on one another; it is the one that is used, since each list is read as "is there any?". The effective
number of tests is information beside it, and corrects nothing: it is an approximation, and may be too small.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Floats
from lib.levels import LEVEL

METHOD = (
    "p values after Holm's correction over one family, valid under any dependence of the tests. The effective "
    "number of tests after Li and Ji (2005, Heredity 95), from the eigenvalues of the correlation matrix of the "
    "estimates, is descriptive and not used in the correction."
)


@dataclass(frozen=True)
class Family:
    """Of `family`. mean_correlation: of the estimates, pair by pair, None for a single test; smallest_p is after Holm."""

    n_tests: int
    n_effective: float
    mean_correlation: float | None
    n_clear: int
    smallest_p: float
    method: str = METHOD


def family(p: npt.ArrayLike, influence: npt.ArrayLike) -> tuple[Family, Floats]:
    """Tests with p values (tests,), and their (tests,) p values after Holm.

    influence: (clusters, tests), what each independent unit (an item, a person) adds to each estimate's error; 0 where it adds
    nothing. The correlations of its columns are those of the estimates. Clear: below .05 after Holm.

    >>> same = np.array([1.0, -1.0, 2.0, -2.0])
    >>> found, after = family([0.01, 0.04], np.column_stack([same, same]))
    >>> found.n_effective, found.n_clear, after.tolist()
    (1.0, 2, [0.02, 0.04])
    """
    adjusted = holm(np.asarray(p, dtype=float))
    errors = np.asarray(influence, dtype=float)
    # About 0, which is what influences add up to
    size = np.sqrt((errors**2).sum(axis=0))
    scaled = errors / np.where(size > 0, size, 1.0)
    correlation = scaled.T @ scaled
    n = len(adjusted)
    pairs = correlation[np.triu_indices(n, 1)]
    found = Family(
        n_tests=n,
        n_effective=effective_number(correlation),
        mean_correlation=float(pairs.mean()) if n > 1 else None,
        n_clear=int((adjusted < LEVEL).sum()),
        smallest_p=float(adjusted.min()),
    )
    return found, adjusted


def holm(p: Floats) -> Floats:
    """(tests,) p values after Holm's correction; statsmodels' own collects garbage, which takes 0.1 s each time.

    >>> holm(np.array([0.04, 0.01])).tolist()
    [0.04, 0.02]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order]))
    return adjusted


def effective_number(correlation: npt.ArrayLike) -> float:
    """Li and Ji's number of independent tests: sum over eigenvalues x of (x >= 1) + (x - floor(x)), x = |eigenvalue|.

    correlation: (tests, tests). From 1 (all the same) to the number of tests (none correlated).

    >>> effective_number(np.eye(3)), effective_number(np.ones((3, 3)))
    (3.0, 1.0)
    """
    sizes = np.abs(np.linalg.eigvalsh(np.asarray(correlation, dtype=float)))
    sizes = np.round(sizes, 9)  # 0.999999999 is 1
    return float(((sizes >= 1) + sizes - np.floor(sizes)).sum())
