"""The combination that is used unless another is asked for: logistic, without a side or a unit, and with penalties chosen in training.

Which side is the original is random, so there is no intercept: f(-x) = -f(x). Confidences are scaled by those of the
training rows, so that a member's may be multiplied by any number. Where test cases are few, strong penalties win in
training. The stronger the penalty, the nearer are weights to being proportional to sum_n x_n, what a member's confidences
are worth in training: the better member leads, and the probability goes to 1/2.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.newton import minimise
from analysis.teams.domain.combination import MOST_LOG_ODDS, HeldOut, decided, rms, standardised
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import BY_BLOCK, BY_BOTH, ITEM_BLOCKS, Folds
from analysis.teams.results import FoldsKind, LogisticAbout, Member, Method, Penalties
from lib.points import points

MAX_STEPS = 200
# Promised decrease, of the loss, below which a step is the last: Newton's method squares what is left, a bound does not
TOLERANCE, BOUNDED_TOLERANCE = 1e-5, 1e-9
CHUNK = 300_000  # numbers per array held at once: more do not fit in a processor's cache


@dataclass(frozen=True)
class Rows:
    """Rows that are fitted: columns that point towards the original, so that the target is 1 in every row.

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
        beta, own, penalties = at[:, : self.k], at[:, self.k :], self.penalties[fits]
        x, judges = self.rows.features, self.rows.who.shape[1]
        pull = self.rows.times * state
        bend = pull * (1 - state)
        to_beta = penalties[:, :1] * beta - pull @ x
        corner = self.products.corner(bend) + penalties[:, :1, None] * np.eye(self.k)
        if not judges:
            step = _solved(corner, to_beta[..., None])
            is_last = (to_beta * step).sum(axis=1) <= self.tolerance * (1e-3 + loss)
            return np.hstack([step, np.zeros_like(own)]), is_last
        pulled, diagonal, edge = self.products.by_person(pull, bend)
        to_own, diagonal = penalties[:, 1:] * own - pulled, judges * diagonal + penalties[:, 1:]
        shared = edge / diagonal[:, None, :]
        corner -= shared @ edge.transpose(0, 2, 1)
        right = to_beta[..., None] - shared @ to_own[..., None]
        step = _solved(corner, right)
        to_people = (to_own - (step[:, None, :] @ edge)[:, 0]) / diagonal
        decrement = (to_beta * step).sum(axis=1) + (to_own * to_people).sum(axis=1)
        return np.hstack([step, to_people]), decrement <= self.tolerance * (1e-3 + loss)


def _solved(matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, right)[..., 0], dtype=np.float64)


MOST_FOLDS, INNER_BLOCKS = 20, 5
# Random divisions into folds of teams of models, and with people, of whom each has a weight; fewer where rows are many
OF_MODELS, WITH_PEOPLE, ROW_FITS = 10, 5, 6_000
Seed = int | tuple[int, int]
COARSE_ITEMS, COARSE_PEOPLE = 5, 4
# From the strongest: of pairs that do equally well the first is taken
PERSON_PENALTIES = (1e6, 30.0, 10.0, 3.0, 1.0)
WEIGHT_PENALTIES = (100.0, 10.0, 1.0, 0.1)
SAME = 1e-6
TINY = 1e-300  # in place of 0
MIDDLE = np.array([[1.0, 1e6]])
# Penalties are chosen on so many rows at most, and on so many of a participant before others' turn comes again
MOST_ROWS, ROWS_IN_TURN = 20_000, 100

RULE = (
    "Logistic regression towards the original, without intercept and therefore equal for both sides. Its "
    "predictors are a person's choice (with one weight for all people), the choice times its rating, each model's "
    "difference of log-perplexities and, with a separate penalty, the choice again with a weight for each participant "
    "(0 for people outside the training data). On "
    "training rows, ratings are standardised, and differences are divided by their root mean square and by the "
    "square root of their sum of squared correlations with all models. Models that favour one side by the same "
    "amount everywhere are left out. Both L2 penalties are chosen within each training fold by log loss on {inner} "
    "inner blocks of its test cases (seed {seed}); if log losses differ by less than a millionth, the stronger "
    "penalty is used (a penalty of 10^6 on participants means no individual effect). Folds with more than {rows:,} "
    "training trials search on that many trials of randomly drawn participants. Each fold needs a separate search, "
    "so more than {most} folds are merged at random: those of test cases into {blocks}, those of test cases and "
    "participants into at most {items} x {people}. A member's tie is a confidence of 0 and adds nothing; if "
    "nothing is added, the team ties. Log-odds are means over random divisions into folds and inner blocks: {fits:,} "
    "divided by the number of trials (of test cases for teams of models alone), at least one and at most {of_models}, "
    "or {with_people} in teams with people."
)


def n_partitions(n_rows: int, *, has_people: bool) -> int:
    """
    >>> [n_partitions(n, has_people=True) for n in (100, 2_500, 10_000)], n_partitions(100, has_people=False)
    ([5, 2, 1], 10)
    """
    return max(1, min(WITH_PEOPLE if has_people else OF_MODELS, ROW_FITS // n_rows))


@dataclass(frozen=True)
class Logistic:
    """See the module; `seed` draws the blocks of items."""

    name: Method = Method.LOGISTIC
    seed: int = 42

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """See Combination. `folds`: the merged ones.

        Models that favour one side by the same amount everywhere are left out first. Up to 20 folds are fitted as given, more
        are merged: blocks of items into 10, items x people into 5 x 4; so a row is
        predicted from a part of the training rows of its own fold. Which blocks are merged, and the inner blocks, are drawn `n_partitions`
        times, and a row's log-odds are the mean over these; HeldOut.folds are those of the first. By one draw, a team of a human and
        three models was right in 832 to 846 of 1,000 simulated trials, by five in 838 to 841.
        """
        members, evidence = evidence.members, informative(evidence)
        used = coarser(folds, self.seed)
        used_rows = back = np.arange(len(evidence))
        times = np.ones(len(evidence))
        if evidence.n_humans:  # by participant
            first = evidence.participant[:, evidence.people_columns[0]]
            used_rows = np.argsort(first, kind="stable")
            back = np.argsort(used_rows)
        elif used.people_block is None:
            # A team of models says the same on every trial of an item
            _, used_rows, back, counts = np.unique(
                evidence.item, return_index=True, return_inverse=True, return_counts=True
            )
            times = counts.astype(float)
        small = evidence.rows(used_rows)
        n = n_partitions(len(small), has_people=bool(evidence.n_humans))
        # The first is the seed itself; seeds that follow one another would share divisions
        seeds: list[Seed] = [self.seed, *((self.seed, again) for again in range(1, n))]
        fits = [self._once(small, folds.rows(used_rows), times, seed) for seed in seeds]
        each = np.array([one.log_odds for one in fits])
        p = special.expit(each.mean(axis=0))[back]
        right = points(each[:, back]).mean(axis=1)
        about = _about(members, evidence, used, self.seed, fits, right)
        return replace(decided(p, about), folds=None if used is folds else used)

    def _once(self, evidence: Evidence, folds: Folds, times: Floats, seed: Seed) -> "_Fitted":
        outer = coarser(folds, seed)
        who, choice = _judges(evidence)
        n_people = int(who.max(initial=-1)) + 1
        log_odds, betas, chosen = np.empty(len(times)), [], []
        for fold in range(outer.n):
            train, held = outer.train(fold), outer.fold == fold
            rows = Rows(_features(evidence, train, times), who, choice, times, n_people)
            training = rows.of(train)
            penalties, start = choose_penalties(training, evidence.item[train], seed)
            fitted = fit(training, np.array([penalties]), start)
            log_odds[held] = fitted.log_odds(rows.of(held))[0]
            betas.append(fitted.beta[0])
            chosen.append(penalties)
        return _Fitted(np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS), betas, chosen)


@dataclass(frozen=True)
class _Fitted:
    """Fit of one partition: held-out log-odds (n,) of the original; of each fold the weights and the penalties."""

    log_odds: Floats
    betas: list[Floats]
    penalties: list[tuple[float, float]]


def informative(evidence: Evidence) -> Evidence:
    """Without models that favour one side by the same amount everywhere: sides are random, so that these say nothing.

    Raises NotEnough where no member is left.
    """
    names = [
        member.name
        for member, x in zip(evidence.members, evidence.signed.T, strict=True)
        if member.is_human or np.ptp(x) > SAME * rms(x)
    ]
    if not names:
        raise NotEnough(
            "Every model has the same difference on all test cases.",
            "Choose other members.",
        )
    return evidence.of(names) if len(names) < len(evidence.members) else evidence


def coarser(folds: Folds, seed: Seed = 42) -> Folds:
    """The folds themselves up to 20, else their blocks joined at random: 10 of items, or 5 of items x 4 of people.

    >>> one_each = Folds(np.arange(40), np.arange(40), None, "leave one item out")
    >>> coarser(one_each).n, coarser(one_each.rows(np.arange(20))).n
    (10, 20)
    """
    if folds.n <= MOST_FOLDS:
        return folds
    rng = np.random.default_rng(seed)
    if folds.people_block is None:
        items = _joined(folds.item_block, ITEM_BLOCKS, rng)
        n = int(items.max()) + 1
        return Folds(items, items, None, BY_BLOCK.format(n=n, seed=seed))
    items = _joined(folds.item_block, COARSE_ITEMS, rng)
    people = _joined(folds.people_block, COARSE_PEOPLE, rng)
    n_people = int(people.max()) + 1
    words = BY_BOTH.format(items=int(items.max()) + 1, people=n_people, seed=seed)
    fold = np.unique(items * n_people + people, return_inverse=True)[1]
    return Folds(fold, items, people, words, FoldsKind.ITEM_AND_PEOPLE_BLOCK)


def _joined(block: Ints, n: int, rng: np.random.Generator) -> Ints:
    names, place = np.unique(block, return_inverse=True)
    joined: Ints = (rng.permutation(len(names)) % n)[place]
    return joined


def choose_penalties(
    rows: Rows, item: Ints, seed: Seed = 42
) -> tuple[tuple[float, float], Weights]:
    """The penalties on weights and on participants with the least log loss on inner blocks of items held out in turn.

    rows, item: (n,) the training rows, of which 20,000 at most are taken. Sum of log loss over all of them, each predicted
    by a fit on the other blocks. Of pairs within 1e-6 of the best the strongest is taken: on participants first; so also
    where a single item leaves no choice. With the weights of a fit to all blocks under those penalties.
    """
    some = some_rows(rows, seed)
    rows, item = rows.of(some), item[some]
    grid = product(PERSON_PENALTIES if rows.n_people else PERSON_PENALTIES[:1], WEIGHT_PENALTIES)
    pairs = np.array([(weight, person) for person, weight in grid])
    items, place = np.unique(item, return_inverse=True)
    n, best = min(INNER_BLOCKS, len(items)), 0
    start = fit(rows, pairs, fit(rows, MIDDLE).of(np.zeros(len(pairs), dtype=np.int64)))
    if n > 1:
        block = (np.random.default_rng(seed).permutation(len(items)) % n)[place]
        loss = np.zeros(len(pairs))
        for held in range(n):
            # From where all blocks together lead, all of them in training here, to their own minimum
            fitted, tried = fit(rows.of(block != held), pairs, start), rows.of(block == held)
            loss += np.logaddexp(0.0, -fitted.log_odds(tried)) @ tried.times
        best = int(np.argmax(loss <= loss.min() * (1 + SAME)))
    return (float(pairs[best, 0]), float(pairs[best, 1])), start.of(slice(best, best + 1))


def some_rows(rows: Rows, seed: Seed = 42) -> Ints:
    """Rows that penalties are chosen on: all, or 20,000, of whole participants as far as 100 trials of each go.

    Participants take turns in random order, each with up to 100 trials drawn at random. Whole participants, since their
    penalty is about what they differ by; whole items would be few where each has many trials.

    >>> no_people = Rows(np.ones((4, 1)), np.empty((4, 0), dtype=int), np.empty((4, 0)), np.ones(4), 0)
    >>> some_rows(no_people)
    array([0, 1, 2, 3])
    """
    n = len(rows.times)
    if n <= MOST_ROWS:
        return np.arange(n)
    rng = np.random.default_rng(seed)
    first = rows.who[:, 0] if rows.n_people else np.zeros(n, dtype=np.int64)
    shuffled = rng.permutation(n)
    together = shuffled[np.argsort(first[shuffled], kind="stable")]
    starts = np.flatnonzero(np.diff(first[together], prepend=-1))
    turn = (np.arange(n) - np.repeat(starts, np.diff(starts, append=n))) // ROWS_IN_TURN
    place = rng.permutation(int(first.max()) + 1)[first[together]]
    return np.sort(together[np.lexsort((place, turn))[:MOST_ROWS]])


def _features(evidence: Evidence, train: Bools, times: Floats) -> Floats:
    """(n, k) choice, choice x rating of all people together, then the models; scaled by training rows alone.

    A model's column is x_j / sqrt(c_j), x_j of root mean square 1 and c_j = sum over models k of (mean x_j x_k)^2, from 1 for
    a model like no other to m for each of m copies, in any unit or turned around: a penalty on their weights is then that
    on their sum.
    """
    towards, n_humans = evidence.towards_truth, evidence.n_humans
    columns = []
    if n_humans:
        people = towards[:, :n_humans]
        first = np.abs(people[train, 0])
        rated = standardised(np.abs(people), first[first > 0])
        columns = [np.sign(people).sum(axis=1), (np.sign(people) * rated).sum(axis=1)]
    models = towards[:, n_humans:]
    weight = times[train] / max(1.0, float(times[train].sum()))
    models = models / (np.abs(models[train]).max(axis=0, initial=0.0) + TINY)
    models = models / (np.sqrt(weight @ models[train] ** 2) + TINY)
    # Among copies the penalty would share a weight, and so count their member more; now it is that of one
    alike = ((models[train] * weight[:, None]).T @ models[train]) ** 2
    return np.column_stack([*columns, models / np.sqrt(np.maximum(1.0, alike.sum(axis=0)))])


def _judges(evidence: Evidence) -> tuple[Ints, Floats]:
    """(n, people of a row) numbers from 0 of who judged, and +1 where they are right, -1 where wrong."""
    choice = np.sign(evidence.towards_truth[:, : evidence.n_humans])
    who = np.unique(evidence.participant[:, list(evidence.people_columns)], return_inverse=True)[1]
    return who.reshape(choice.shape), choice


def _about(
    members: Sequence[Member],
    evidence: Evidence,
    folds: Folds,
    seed: int,
    fits: Sequence[_Fitted],
    right: Floats,
) -> LogisticAbout:
    """right: (partitions,) accuracy by each."""
    people = ("choice", "choice x rating") if evidence.n_humans else ()
    on_weights, on_participants = zip(
        *(pair for one in fits for pair in one.penalties), strict=True
    )
    return LogisticAbout(
        rule=RULE.format(
            inner=INNER_BLOCKS,
            rows=MOST_ROWS,
            seed=seed,
            most=MOST_FOLDS,
            blocks=ITEM_BLOCKS,
            items=COARSE_ITEMS,
            people=COARSE_PEOPLE,
            fits=ROW_FITS,
            of_models=OF_MODELS,
            with_people=WITH_PEOPLE,
        ),
        features=(*people, *(m.name for m in evidence.members if not m.is_human)),
        weights=tuple(np.mean([beta for one in fits for beta in one.betas], axis=0).tolist()),
        penalties=Penalties(
            _counts(on_weights), _counts(on_participants) if evidence.n_humans else None
        ),
        n_folds=folds.n,
        n_partitions=len(fits),
        accuracy_by_partition=(float(right.min()), float(right.max())),
        left_out=tuple(m.name for m in members if m.name not in evidence.names),
    )


def _counts(penalties: tuple[float, ...]) -> dict[str, int]:
    return {f"{value:g}": n for value, n in sorted(Counter(penalties).items())}
