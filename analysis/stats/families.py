"""All tests of a chapter: corrected as one family, in which each question has an equal share; and how many findings they can be.

Fifteen models that read the same items and find the same ones easy are not fifteen observations. Holm's correction holds
however the tests depend on one another; it is the one that is used, since each list is read as "is there any?". The effective
number of tests is information beside it, and corrects nothing: it is an approximation, and may be too small.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Floats
from lib.levels import LEVEL

TOGETHER = (
    "All tests of a chapter are one family. p values after Holm's weighted correction, in which each question of the chapter has an equal share of the "
    "5%, and the tests of a question have equal parts of it: valid under any dependence of the tests, and for the family as a whole."
)
METHOD = (
    "p values after Holm's correction over one family, valid under any dependence of the tests; if a chapter asks several questions, each has an equal "
    "share of the 5%. The effective "
    "number of tests after Li and Ji (2005, Heredity 95), from the eigenvalues of the correlation matrix of the "
    "estimates, is descriptive and not used in the correction."
)


@dataclass(frozen=True)
class Family:
    """Result of `family`. mean_correlation: of the estimates, pair by pair, None for a single test; smallest_p is after Holm.

    n_others: tests of other questions of the chapter, with which these are corrected.
    """

    n_tests: int
    n_effective: float
    mean_correlation: float | None
    n_clear: int
    smallest_p: float
    n_others: int = 0
    method: str = METHOD


@dataclass(frozen=True)
class Question:
    """Result of `together`: the tests of one question of a chapter; smallest_p is after the correction."""

    name: str
    n_tests: int
    n_clear: int
    smallest_p: float


@dataclass(frozen=True)
class Questions:
    """All concluding tests of a chapter, as one family."""

    questions: tuple[Question, ...]
    method: str = TOGETHER


def together(p: Mapping[str, Sequence[float | None]]) -> dict[str, list[float | None]]:
    """A chapter's questions with the p values of their tests, and the same after the correction of TOGETHER; None and NaN are no tests.

    A test of a question with n tests has the weight 1 / n (Holm 1979, Scand. J. Stat. 6, section 4): with the tests in the order of p_i /
    w_i, the adjusted p_i is the largest of p_j (sum of the weights from j on) / w_j over j up to i.

    >>> together({"arms": [0.01], "switching": [0.02, 0.3, None]})
    {'arms': [0.02], 'switching': [0.04, 0.3, None]}
    """
    places = [
        (name, n)
        for name, values in p.items()
        for n, one in enumerate(values)
        if one is not None and not np.isnan(one)
    ]
    sizes = {name: sum(name == of for of, _n in places) for name in p}
    values = np.array([p[name][n] for name, n in places], dtype=float)
    after = dict(zip(places, holm(values, np.array([1 / sizes[of] for of, _n in places])).tolist(), strict=True))  # fmt: skip
    return {name: [after.get((name, n)) for n in range(len(values))] for name, values in p.items()}


def family(
    p: npt.ArrayLike, influence: npt.ArrayLike, others: Sequence[Sequence[float]] = ()
) -> tuple[Family, Floats]:
    """Tests with p values (tests,), and their (tests,) p values after Holm.

    others: the p values of the chapter's other questions, each with an equal share (`together`).

    influence: (clusters, tests), what each independent unit (an item, a person) adds to each estimate's error; 0 where it adds
    nothing. The correlations of its columns are those of the estimates. Clear: below .05 after Holm.

    >>> same = np.array([1.0, -1.0, 2.0, -2.0])
    >>> found, after = family([0.01, 0.04], np.column_stack([same, same]))
    >>> found.n_effective, found.n_clear, after.tolist()
    (1.0, 2, [0.02, 0.04])
    """
    questions = {str(n): [*one] for n, one in enumerate([np.asarray(p, dtype=float).tolist(), *others])}  # fmt: skip
    adjusted = np.array(together(questions)["0"], dtype=float)
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
        n_others=sum(map(len, others)),
    )
    return found, adjusted


def holm(p: Floats, weights: Floats | None = None) -> Floats:
    """(tests,) p values after Holm's correction, with equal weights or these; statsmodels' own collects garbage, which takes 0.1 s each time.

    >>> holm(np.array([0.04, 0.01])).tolist(), holm(np.array([0.04, 0.01]), np.array([3.0, 1.0])).tolist()
    ([0.04, 0.02], [0.04, 0.04])
    """
    each = np.ones(len(p)) if weights is None else weights
    order = np.argsort(p / each, kind="stable")
    rest = np.cumsum(each[order][::-1])[::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(rest * (p / each)[order]))
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
