"""How well items tell able people from others: the two-parameter logistic model, for people who answered few of many items.

    P(right | theta) = 1 / (1 + exp(-(a theta + d))),  theta ~ N(0, 1),  b = -d / a

a is the discrimination, b the ability at which one in two is right. Marginal maximum likelihood by EM (Bock and Aitkin
1981): abilities are integrated out by Gauss-Hermite quadrature. Where asked for, weak priors a ~ N(1, 0.5^2) and
d ~ N(0, 2^2) keep the estimates of items that everyone answers alike finite; the estimates are modes of the posterior.
Negative a are allowed: such an item is answered worse by the able. Standard errors are from the observed information of
the marginal likelihood (Louis 1982) and the priors.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats, Interval, Ints, with_width
from analysis.stats.estimates import Z95

FEWEST_PEOPLE = 100
FEWEST_ANSWERS = 30  # to an item
N_NODES = 31
MOST_STEPS = 2_000
TOLERANCE = 1e-5  # of a and d, from one step of EM to the next
PRIOR_MEAN = np.array([1.0, 0.0])  # of a and d
PRIOR_SD = np.array([0.5, 2.0])


@dataclass(frozen=True)
class TwoParameters:
    """Result of `two_parameters`; (J,) arrays by item. has_converged: whether EM stood still within MOST_STEPS."""

    a: Floats
    a_se: Floats
    b: Floats
    b_se: Floats
    d: Floats
    d_se: Floats
    n: Ints
    n_people: int
    log_likelihood: float
    steps: int
    has_converged: bool
    has_priors: bool


@dataclass(frozen=True)
class _Answers:
    """Sorted by person. first: each person's first row."""

    person: Ints
    item: Ints
    right: Floats
    first: Ints
    n_items: int


def two_parameters(
    person: npt.ArrayLike,
    item: npt.ArrayLike,
    is_right: npt.ArrayLike,
    *,
    n_items: int,
    with_priors: bool = True,
    n_nodes: int = N_NODES,
) -> TwoParameters:
    """Fit all items at once; rows are answers, person and item (n,) are whole numbers from 0.

    People with one answer say nothing about discrimination and are left out. Raises NotEnough below FEWEST_PEOPLE
    people. What an item with fewer than FEWEST_ANSWERS answers is given is mostly the priors': the caller says so.
    Checked against direct maximisation of the marginal likelihood by SciPy, and by recovery of simulated items.
    """
    _, number, counts = np.unique(np.asarray(person), return_inverse=True, return_counts=True)
    if (n_people := int((counts > 1).sum())) < FEWEST_PEOPLE:
        raise NotEnough(
            f"{n_people} people answered two test cases or more.",
            f"At least {FEWEST_PEOPLE} are needed.",
        )
    kept = np.flatnonzero(counts[number] > 1)
    kept = kept[np.argsort(number[kept], kind="stable")]
    _, number = np.unique(number[kept], return_inverse=True)
    items, right = np.asarray(item, dtype=np.int64)[kept], np.asarray(is_right, dtype=bool)[kept]
    first = np.flatnonzero(np.diff(number, prepend=-1))
    answers = _Answers(number, items, right.astype(float), first, n_items)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    log_weights = np.log(weights / weights.sum())
    precision = 1 / PRIOR_SD**2 if with_priors else np.zeros(2)
    at = np.tile(PRIOR_MEAN, (n_items, 1))
    steps, has_converged = 0, False
    while steps < MOST_STEPS and not has_converged:
        posterior, _ = _posterior(answers, at, nodes, log_weights)
        new = _maximised(answers, posterior, at, nodes, precision)
        has_converged = bool(np.abs(new - at).max() < TOLERANCE)
        at, steps = new, steps + 1
    posterior, log_likelihood = _posterior(answers, at, nodes, log_weights)
    covariance = _covariance(answers, posterior, at, nodes, precision)
    return _reported(answers, at, covariance, log_likelihood, steps, has_converged, with_priors)


def _chances(at: Floats, nodes: Floats) -> Floats:
    """P(right) by item and node (J, K)."""
    chances: Floats = 1 / (1 + np.exp(-(at[:, :1] * nodes + at[:, 1:])))
    return chances


def _posterior(
    answers: _Answers, at: Floats, nodes: Floats, log_weights: Floats
) -> tuple[Floats, float]:
    """Posterior of each person's ability over the nodes (I, K), and the marginal log likelihood."""
    predicted = at[:, :1] * nodes + at[:, 1:]
    # log P = -log(1 + exp(-x)), and log(1 - P) that of -x, without overflow
    sign = np.where(answers.right, -1.0, 1.0)[:, None]
    terms = -np.logaddexp(0, sign * predicted[answers.item])
    joint = np.add.reduceat(terms, answers.first, axis=0) + log_weights
    total = np.logaddexp.reduce(joint, axis=1)
    return np.exp(joint - total[:, None]), float(total.sum())


def _maximised(
    answers: _Answers, posterior: Floats, at: Floats, nodes: Floats, precision: Floats
) -> Floats:
    """The M step: one logistic regression per item on the nodes, by Newton; concave, so that a few steps do.

    All items at once, which neither scipy's optimisers nor statsmodels' Logit take.
    """
    own = posterior[answers.person]
    n = _by_item(answers, own)
    n_right = _by_item(answers, own * answers.right[:, None])
    for _ in range(25):
        chances = _chances(at, nodes)
        residual = n_right - n * chances
        gradient = np.stack([residual @ nodes, residual.sum(axis=1)], axis=1)
        gradient -= precision * (at - PRIOR_MEAN)
        spread = n * chances * (1 - chances)
        information = _two_by_two(spread @ nodes**2, spread @ nodes, spread.sum(axis=1))
        # A ridge too small to matter keeps items without answers solvable where there are no priors
        information += np.diag(precision + 1e-10)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        at = at + np.clip(step, -1, 1)
        if np.abs(step).max() < TOLERANCE / 10:
            break
    return at


def _by_item(answers: _Answers, values: Floats) -> Floats:
    """Sums (J, K) of rows (n, K)."""
    found = np.zeros((answers.n_items, values.shape[1]))
    np.add.at(found, answers.item, values)
    return found


def _two_by_two(aa: Floats, ad: Floats, dd: Floats) -> Floats:
    return np.stack([np.stack([aa, ad], axis=-1), np.stack([ad, dd], axis=-1)], axis=-2)


def _covariance(
    answers: _Answers, posterior: Floats, at: Floats, nodes: Floats, precision: Floats
) -> Floats:
    """Covariance of (a, d) of each item (J, 2, 2): the inverse of complete information less what is missing, plus the priors'."""
    chances = _chances(at, nodes)
    spread = _by_item(answers, posterior[answers.person]) * chances * (1 - chances)
    complete = _two_by_two(spread @ nodes**2, spread @ nodes, spread.sum(axis=1))
    size = 2 * answers.n_items
    information = np.zeros((size, size))
    rows = np.arange(size).reshape(-1, 2)
    for j, block in enumerate(complete):
        information[np.ix_(rows[j], rows[j])] = block + np.diag(precision)
    ends = np.append(answers.first[1:], len(answers.item))
    for person, (start, end) in enumerate(zip(answers.first, ends, strict=True)):
        own, weight = slice(start, end), posterior[person]
        residual = answers.right[own, None] - chances[answers.item[own]]
        score = np.stack([residual * nodes, residual], axis=1).reshape(-1, len(nodes))
        score = score - (score @ weight)[:, None]
        at_rows = rows[answers.item[own]].ravel()
        information[np.ix_(at_rows, at_rows)] -= (score * weight) @ score.T
    inverse = np.linalg.pinv(information, hermitian=True)
    return np.stack([inverse[np.ix_(own, own)] for own in rows])


def _reported(
    answers: _Answers,
    at: Floats,
    covariance: Floats,
    log_likelihood: float,
    steps: int,
    has_converged: bool,
    has_priors: bool,
) -> TwoParameters:
    a, d = at.T
    with np.errstate(divide="ignore", invalid="ignore"):
        b = -d / a
        # Delta method: the gradient of -d / a
        towards = np.stack([d / a**2, -1 / a], axis=1)
        b_variance = np.einsum("ji,jik,jk->j", towards, covariance, towards)
        a_se, d_se = np.sqrt(covariance[:, 0, 0]), np.sqrt(covariance[:, 1, 1])
        b_se = np.sqrt(b_variance)
    return TwoParameters(
        a=a,
        a_se=a_se,
        b=b,
        b_se=b_se,
        d=d,
        d_se=d_se,
        n=np.bincount(answers.item, minlength=answers.n_items),
        n_people=len(answers.first),
        log_likelihood=log_likelihood,
        steps=steps,
        has_converged=has_converged,
        has_priors=has_priors,
    )


FEWEST = 10  # people of an item-rest correlation
ITEM_REST = (
    "Pearson's correlation over the people who judged the test case, between being right on it and their mean of "
    "(right - share right on that test case) over the other test cases that they judged; 95% interval from "
    "Fisher's z."
)


@dataclass(frozen=True)
class ItemRest:
    """Result of `item_rest`: r from -1 to 1 over n people; ci95 None at -1 and 1, where it has no width."""

    n: int
    r: float
    ci95: Interval | None
    method: str = ITEM_REST


def item_rest(
    person: npt.ArrayLike, item: npt.ArrayLike, is_right: npt.ArrayLike, which: int
) -> ItemRest:
    """Corrected item-rest (point-biserial) correlation of item `which`; rows (n,) are answers, one per person and item.

    r = corr(y_iw, mean over j != w of (y_ij - p_j)), p_j the share right on item j: people are shown different items,
    and one who was given easy ones is not able for that. Where everyone judged the same items it is the usual corrected
    correlation. Raises NotEnough below ten people who judged another item too, or where one of the two does not vary.

    >>> people, items = np.repeat(np.arange(12), 2), np.tile([0, 1], 12)
    >>> round(item_rest(people, items, (people < 6) & (people > -1), 0).r, 6)
    1.0
    """
    people, number = np.unique(np.asarray(person), return_inverse=True)
    items, right = np.asarray(item, dtype=np.int64), np.asarray(is_right, dtype=float)
    n_items = max(int(items.max(initial=0)), which) + 1
    answers = np.bincount(items, minlength=n_items)
    shares = np.bincount(items, right, n_items) / np.maximum(answers, 1)
    own = items == which
    rest = np.bincount(number[~own], (right - shares[items])[~own], len(people))
    n_rest = np.bincount(number[~own], minlength=len(people))
    judged = number[own][n_rest[number[own]] > 0]
    y = right[own][n_rest[number[own]] > 0]
    if len(y) < FEWEST:
        raise NotEnough(
            f"{len(y)} people judged this test case and another one.",
            f"At least {FEWEST} are needed.",
        )
    x = rest[judged] / n_rest[judged]
    if np.ptp(y) == 0 or np.ptp(x) == 0:
        raise NotEnough(
            "All people who judged it agree, or did equally well on the others.", "Both must vary."
        )
    r = float(np.corrcoef(x, y)[0, 1])
    with np.errstate(divide="ignore"):
        z, half = np.arctanh(np.clip(r, -1, 1)), Z95 / np.sqrt(len(y) - 3)
    return ItemRest(len(y), r, with_width(np.tanh(z - half), np.tanh(z + half)))


def rank_differences(people: npt.ArrayLike, models: npt.ArrayLike) -> Floats:
    """Disagreement of two orders of the same items (n,), in standard deviations; NaN below three items.

    D = (rank_people - rank_models) / sqrt((n^2 - 1) / 6), ranks from 1 for the hardest, ties at their mean rank: the
    denominator is the standard deviation of the difference if the orders had nothing to do with each other. Positive:
    easier for people than for models.

    >>> rank_differences([0.2, 0.5, 0.9], [3.0, 2.0, 1.0]).round(2).tolist()
    [-1.73, 0.0, 1.73]
    """
    # Here, since SciPy is heavy for who asks for another estimate alone
    from scipy.stats import rankdata

    a, b = np.asarray(people, dtype=float), np.asarray(models, dtype=float)
    if len(a) < 3:
        return np.full(len(a), np.nan)
    found: Floats = (rankdata(a) - rankdata(b)) / np.sqrt((len(a) ** 2 - 1) / 6)
    return found
