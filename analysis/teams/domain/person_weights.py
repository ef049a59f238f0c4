"""Penalised logistic regressions with one weight per participant, for as many people as there are."""

from dataclasses import dataclass, replace

import numpy as np

from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.newton import minimise

MAX_STEPS = 200
# Promised decrease, of the loss, below which a step is the last: Newton's method squares what is left, a bound does not
TOLERANCE, BOUNDED_TOLERANCE = 1e-5, 1e-9
CHUNK = 300_000  # numbers per array held at once: more do not fit in a processor's cache


@dataclass(frozen=True)
class Rows:
    """What is fitted: columns that point towards the original, so that the target is 1 in every row.

    features: (n, k). who: (n, judges) numbers below n_people of who judged; choice: (n, judges) +1 towards the original,
    -1 away from it, 0 for none. times: (n,) trials that a row stands for. Quickest where who[:, 0] ascends.
    """

    features: Floats
    who: Ints
    choice: Floats
    times: Floats
    n_people: int

    def of(self, chosen: Bools | Ints) -> "Rows":
        return Rows(
            self.features[chosen],
            self.who[chosen],
            self.choice[chosen],
            self.times[chosen],
            self.n_people,
        )


@dataclass(frozen=True)
class Weights:
    """beta: (fits, k) weights of the features; own: (fits, participants), 0 for whom no row was fitted."""

    beta: Floats
    own: Floats

    def log_odds(self, rows: Rows) -> Floats:
        """(fits, n) of the original."""
        total: Floats = self.beta @ rows.features.T
        for who, choice in zip(rows.who.T, rows.choice.T, strict=True):
            total += self.own[:, who] * choice
        return total

    def of(self, chosen: Bools | Ints | slice) -> "Weights":
        return Weights(self.beta[chosen], self.own[chosen])


def fit(rows: Rows, penalties: Floats, start: Weights | None = None) -> Weights:
    """Regressions under different penalties, (fits, 2): on the features' weights, on the participants'.

    Minimises
    sum_n times_n log(1 + exp(-(x_n b + z_n u))) + penalty_1 |b|^2 / 2 + penalty_2 |u|^2 / 2 by Newton's method. With one
    participant per row the Hessian of u is diagonal and is eliminated (block inverse), so that cost grows with rows and
    not with people cubed. With h participants per row, h times its diagonal bounds it from above: steps get shorter, the
    minimum is the same. A step that does not lower the loss is halved; one that promises less than 1e-5 of it (1e-9 with
    several participants per row) is the last.

    >>> no_people = Rows(np.ones((4, 1)), np.empty((4, 0), dtype=int), np.empty((4, 0)), np.ones(4), 0)
    >>> beta = fit(no_people, np.array([[1.0, 1.0]])).beta  # 4 / (1 + exp(b)) = b
    >>> bool(abs(4 / (1 + np.exp(beta[0, 0])) - beta[0, 0]) < 1e-6)
    True
    """
    n_fits, n = len(penalties), len(rows.times)
    people, place = np.unique(rows.who, return_inverse=True)
    present = replace(rows, who=place.reshape(rows.who.shape), n_people=len(people))
    products, chunk = _Products(present), max(1, CHUNK // max(1, n))
    beta, own = np.zeros((n_fits, rows.features.shape[1])), np.zeros((n_fits, rows.n_people))
    for first in range(0, n_fits, chunk):
        which = slice(first, first + chunk)
        at = start.of(which) if start else Weights(beta[which], own[which])
        problem = _Fits(products, penalties[which])
        begin = np.hstack([at.beta, at.own[:, people]])
        part = minimise(problem, begin, max_steps=MAX_STEPS, must_converge=False).at
        beta[which], own[which, people] = part[:, : problem.k], part[:, problem.k :]
    return Weights(beta, own)


class _Products:
    """Rows, products of their columns, and sums over each participant's rows: ordered by who judged, then np.add.reduceat."""

    def __init__(self, rows: Rows) -> None:
        self.rows, x = rows, rows.features
        row, column = np.triu_indices(x.shape[1])
        self._pairs = x[:, row] * x[:, column]
        self._square = np.empty((x.shape[1], x.shape[1]), dtype=np.int64)
        self._square[row, column] = self._square[column, row] = np.arange(len(row))
        self._judges: list[tuple[Ints | slice, Ints, Ints | slice, Floats]] = []
        for who, choice in zip(rows.who.T, rows.choice.T, strict=True):
            ascends = bool((np.diff(who) >= 0).all())
            order = slice(None) if ascends else np.argsort(who, kind="stable")
            people, starts = np.unique(who[order], return_index=True)
            columns = np.vstack([choice, np.abs(choice), choice * x.T])[:, order]
            where = slice(None) if len(people) == rows.n_people else people
            self._judges.append((order, starts, where, columns))

    def corner(self, bend: Floats) -> Floats:
        """(fits, k, k) sums of bend x feature x feature."""
        sums: Floats = (bend @ self._pairs)[:, self._square]
        return sums

    def by_person(self, pull: Floats, bend: Floats) -> tuple[Floats, Floats, Floats]:
        """Sums over each participant's rows of pull x choice and bend x |choice|, (fits, people) each, and of bend x
        choice x features, (fits, k, people)."""
        sums = np.zeros((2 + self.rows.features.shape[1], len(pull), self.rows.n_people))
        for order, starts, where, columns in self._judges:
            pulled, bent = pull[:, order], bend[:, order]
            for k, column in enumerate(columns):
                each = (bent if k else pulled) * column
                sums[k][:, where] += np.add.reduceat(each, starts, axis=1)
        return sums[0], sums[1], sums[2:].transpose(1, 0, 2)


class _Fits:
    """newton.Problem of the regressions; a place is the k weights of the features, then those of the participants."""

    def __init__(self, products: _Products, penalties: Floats) -> None:
        self.products, self.rows, self.penalties = products, products.rows, penalties
        self.k = products.rows.features.shape[1]
        several = products.rows.who.shape[1] > 1
        self.tolerance = BOUNDED_TOLERANCE if several else TOLERANCE

    def loss(self, at: Floats, fits: Ints) -> tuple[Floats, Floats]:
        """(b,) the penalised loss, and (b, n) the probability of being wrong."""
        penalties, beta, own = self.penalties[fits], at[:, : self.k], at[:, self.k :]
        log_odds = Weights(beta, own).log_odds(self.rows)
        small = np.exp(-np.abs(log_odds))
        misfit = (np.log1p(small) - np.minimum(log_odds, 0.0)) @ self.rows.times
        squares = [np.einsum("fk,fk->f", of, of) for of in (beta, own)]
        # exp(-log-odds) / (1 + exp(-log-odds)), without overflow
        wrong = np.exp(np.minimum(-log_odds, 0.0)) / (1 + small)
        return misfit + 0.5 * (penalties[:, 0] * squares[0] + penalties[:, 1] * squares[1]), wrong

    def step(self, at: Floats, state: Floats, loss: Floats, fits: Ints) -> tuple[Floats, Bools]:
        beta, own, decrement = self._newton(
            at[:, : self.k], at[:, self.k :], state, self.penalties[fits]
        )
        return np.hstack([beta, own]), decrement <= self.tolerance * (1e-3 + loss)

    def _newton(
        self, beta: Floats, own: Floats, wrong: Floats, penalties: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The steps of both kinds of weights, and the decrement."""
        x, judges = self.rows.features, self.rows.who.shape[1]
        pull = self.rows.times * wrong
        bend = pull * (1 - wrong)
        to_beta = penalties[:, :1] * beta - pull @ x
        corner = self.products.corner(bend) + penalties[:, :1, None] * np.eye(self.k)
        if not judges:
            step = _solved(corner, to_beta[..., None])
            return step, np.zeros_like(own), (to_beta * step).sum(axis=1)
        pulled, diagonal, edge = self.products.by_person(pull, bend)
        to_own, diagonal = penalties[:, 1:] * own - pulled, judges * diagonal + penalties[:, 1:]
        shared = edge / diagonal[:, None, :]
        corner -= shared @ edge.transpose(0, 2, 1)
        right = to_beta[..., None] - shared @ to_own[..., None]
        step = _solved(corner, right)
        to_people = (to_own - (step[:, None, :] @ edge)[:, 0]) / diagonal
        return step, to_people, (to_beta * step).sum(axis=1) + (to_own * to_people).sum(axis=1)


def _solved(matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, right)[..., 0], dtype=np.float64)
