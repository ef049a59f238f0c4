"""Errors of coefficients whose rows go together in clusters, corrected for leverage, and the degrees of freedom they leave.

statsmodels has neither this correction nor such degrees of freedom.
decisions/0029-slopes-in-small-studies.md and 0030-effects-in-small-studies.md compare this with other estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats.arrays import Floats, Interval, Ints

LEAST = 1e-9  # where a cluster alone determines a coefficient


@dataclass(frozen=True)
class Fitted:
    """A fit of k coefficients to n rows, by least squares or maximum likelihood.

    design (n, k) is in coordinates in which the information, the sum of weight x x', is the unit matrix, and row j of contrasts
    (k, k) is coefficient j in them; weight, residual: (n,). influence: (n, k), what each row adds to each coefficient's error, to
    first order: the columns add up to 0, and the squares of their sums over clusters to the variance (the sandwich).
    """

    coefficients: Floats
    design: Floats
    contrasts: Floats
    weight: Floats
    residual: Floats

    @classmethod
    def of(cls, columns: Floats, coefficients: Floats, weight: Floats, residual: Floats) -> Fitted:
        """columns: (n, k), of full rank."""
        root = np.linalg.cholesky(np.linalg.inv(columns.T * weight @ columns))
        return cls(coefficients, columns @ root, root, weight, residual)

    @property
    def by_row(self) -> Floats:
        """(n, k) by how much each coefficient rises for a rise of a row's residual by 1."""
        return np.asarray(self.design @ self.contrasts.T)

    @property
    def influence(self) -> Floats:
        return np.asarray(self.residual[:, None] * self.by_row)


@dataclass(frozen=True)
class Slope:
    """A coefficient with its interval and two-sided p (against 0) from Student's t with df degrees of freedom."""

    estimate: float
    se: float
    df: float
    ci95: Interval
    p: float

    @classmethod
    def of(cls, estimate: float, se: float, df: float) -> Slope:
        half = float(special.stdtrit(df, 0.975)) * se
        p = float(2 * special.stdtr(df, -abs(estimate) / se)) if se > 0 else np.nan
        return cls(estimate, se, df, (estimate - half, estimate + half), p)


def slopes(fit: Fitted, clusterings: Sequence[Ints]) -> list[Slope]:
    """Each coefficient, for other clusters of one or two clusterings (n,), whole numbers from 0 without gaps.

    With V(g) the variance of `_sandwich` clustered by g: V = V(g), or of two V = max(V(g), V(h), V(g) + V(h) - V(row)). By
    Satterthwaite df = V^2 / sum of V(g)^2 / df(g) over the clusterings that add to V(row), and of two also V(row)^2 / (n - k); at
    most n - k.
    """
    n, k = fit.design.shape
    alone = _sandwich(fit, np.arange(n))
    variances = [_sandwich(fit, groups) for groups in clusterings]
    variance, spent = variances[0], np.zeros(k)
    if len(variances) == 2:
        variance = np.maximum(np.maximum(*variances), sum(variances) - alone)
        spent = alone**2 / (n - k)
    for of, groups in zip(variances, clusterings, strict=True):
        adds = (of > alone) | (len(variances) == 1)
        together = 1 - np.minimum(1, alone / np.where(of > 0, of, np.inf))
        spent = spent + np.where(adds, of**2 / _freedom(fit, groups, together), 0)
    # A coefficient that is constant within clusters has no more than clusters leave
    columns, most = fit.design @ np.linalg.inv(fit.contrasts), np.full(k, float(n - k))
    size = np.abs(columns).max(axis=0)
    for groups in clusterings:
        within = columns - (_summed(columns, groups) / np.bincount(groups)[:, None])[groups]
        is_constant = np.abs(within).max(axis=0) <= LEAST * np.where(size > 0, size, 1)
        of_clusters = max(1, int(groups.max()) + 1 - max(2, int(is_constant.sum())))
        most = np.where(is_constant, np.minimum(most, of_clusters), most)
    df = np.clip(variance**2 / np.where(spent > 0, spent, np.inf), 1, most)
    return [
        Slope.of(*each)
        for each in zip(
            fit.coefficients.tolist(), np.sqrt(variance).tolist(), df.tolist(), strict=True
        )
    ]


def _sandwich(fit: Fitted, groups: Ints) -> Floats:
    """(k,) CR2 variances with clusters (n,): Bell and McCaffrey 2002, for a logistic fit Pustejovsky and Tipton 2018.

    With x_t a row of the design, c a contrast and M_g = sum of w_t x_t x_t' within g:
    the sum over g of (c' (I - M_g)^(-1/2) sum of x_t residual_t)^2. A clustering without correlation has no bias then.
    """
    k = fit.design.shape[1]
    weighted = fit.design[:, :, None] * fit.design[:, None, :] * fit.weight[:, None, None]
    inside = _summed(weighted.reshape(-1, k * k), groups).reshape(-1, k, k)
    values, vectors = np.linalg.eigh(np.eye(k) - inside)
    root = (vectors / np.sqrt(np.maximum(values, LEAST))[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    scores = _summed(fit.design * fit.residual[:, None], groups)
    adds = np.einsum("ja,gab,gb->gj", fit.contrasts, root, scores, optimize=True)
    return np.asarray((adds**2).sum(axis=0))


def _freedom(fit: Fitted, groups: Ints, together: Floats) -> Floats:
    """(k,) how many independent clusters (n,) a coefficient rests on: (sum of a_g)^2 / sum of a_g^2, from 1 to G - 2.

    a_g is what g adds to the variance: where its rows are alike, the squared sum of its influences' weights; where they are
    independent, the sum of their squares; between the two by `together` (k,), the share of the variance that is between clusters
    (Carter, Schnepel and Steigerwald 2017, Rev. Econ. Stat. 99).
    """
    each = fit.by_row
    alike = _summed(each * fit.weight[:, None], groups) ** 2
    apart = _summed(each**2 * fit.weight[:, None], groups)
    total = alike.sum(axis=0)
    together = np.where(total > 0, together, 0)
    adds = (1 - together) * apart / apart.sum(axis=0)
    adds = adds + together * alike / np.where(total > 0, total, 1)
    found = adds.sum(axis=0) ** 2 / (adds**2).sum(axis=0)
    return np.asarray(np.minimum(np.maximum(1.0, found), max(1, len(adds) - 2)))


def _summed(columns: Floats, groups: Ints) -> Floats:
    """(G, k) sums of columns (n, k) within groups (n,) from 0."""
    return np.column_stack([np.bincount(groups, column) for column in columns.T]).astype(float)
