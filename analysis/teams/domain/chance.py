"""Teams whose members cannot be told from chance: what they reach without a bias against it, and a p that holds.

Where members know nothing, a fit to the other items learns those items' noise, and in a finite sample this runs against
the item left out. With an intercept: of n items, half of them originals on side B, the n - 1 others have one B less
whenever a B is left out, so that every prediction is wrong. With weights: in 2 chance members, who was right more often on
the others was right less often on this one than the two together. Over samples whose sides are drawn freely this cancels
(a prediction does not depend on its own item), but the rows of one sample err together: accuracy is near 0% or far above
50%, and resampling rows that stay as they are takes them for independent.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Interval, Ints
from analysis.stats.distributions import percentile_interval
from analysis.stats.score_intervals import share_interval
from analysis.teams.domain.combination import (
    PENALTY,
    AsPublished,
    HeldOut,
    decided,
    fit_ridge,
    rms,
)
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import Draws, Folds, two_way_of
from analysis.teams.domain.logistic import informative
from analysis.teams.results import About, Method, NearChance
from lib.levels import LEVEL
from lib.points import points

HALVINGS = 5
MOST_FLIPS, FEWEST_FLIPS = 399, 199
WORK = 1_000_000  # rows times fits, beyond which there are fewer flips
MOST_ROWS = 20_000  # above, no flips at all
AT_ONCE = 2_000_000  # weights held at once

RULE = (
    "Teams of which no member differs clearly from chance (the interval of each includes 1/2, with 95% for all members that were considered together) "
    "would learn the noise of the other test cases, which is negatively correlated with the test case that is held out. For such a team, a "
    "logistic regression towards the original is used, without intercept, on confidences over their root mean "
    "square, with an L2 penalty of C = 1. Each test case is predicted by a fit to a random half of the others, in "
    "one of {halvings} halvings (seed {seed}). p and the ranges under chance come from {flips:,} random flips of "
    "the original's side, for all members on a test case at once, with new fits and a new choice of the best "
    "member. A member's tie is a confidence of 0 and adds nothing; if nothing is added, the team ties."
)


def learns_noise(evidence: Evidence) -> bool:
    """True if there are several members, of whom nothing can be learned.

    Every method learns: weights, or the calibrations by which confidences are compared and equal votes decided.
    """
    return len(evidence.members) > 1 and near_chance(evidence)


def near_chance(evidence: Evidence) -> bool:
    """True if no member can be told from chance: every one's interval over items and people includes 1/2.

    The intervals have 95% for all members together from which these were chosen (Bonferroni): at 95% each, one of four guessers looks
    better or worse than chance in a fifth of studies, and its teams then seem to gain or to lose.
    A member always on one side of chance, also below it, can be told if there are enough clusters for the exact test.
    """
    draws, alpha = Draws.of(evidence, resamples=0), LEVEL / (evidence.n_among or len(evidence.members))  # fmt: skip
    for right in evidence.points.T:
        found = two_way_of(right, draws)
        if found is None:
            continue
        if found.estimate in (0, 1):
            # Student's t of few clusters would hide it: so many coins fall alike with this chance
            is_near = 2.0 ** (1 - draws.n_clusters) >= alpha
        else:
            low, high = share_interval(
                found.estimate, found.se, draws.n_clusters, alpha, ties=found.ties
            )
            is_near = low <= 0.5 <= high
        if not is_near:
            return False
    return True


@dataclass(frozen=True)
class SymmetricHalves:
    """Logistic combination without a side, from halves of the items; with what it gives where members know nothing."""

    name: Method = Method.LOGISTIC
    seed: int = 42

    def held_out(self, evidence: Evidence, folds: Folds) -> HeldOut:
        """See Combination. `folds`: what of the training rows of a row's fold is halved; its blocks stay together.

        near_chance: with H the observed team's accuracy less that of its best member and G_r the same with the truth of
        each item turned around with probability 1/2, r = 1..R: p = 2 min(#(G >= H) + 1, #(G <= H) + 1) / (R + 1).
        Were members at chance, all turns were equally likely, so that p <= a in at most a share a of studies, whatever
        is learned in the fits and however the best member is chosen.
        """
        rng = np.random.default_rng(self.seed)
        halves = _Halves.of(evidence, folds, rng)
        n, fits = len(halves.times), len(halves.trains)
        n_flips = (
            int(np.clip(WORK // (n * fits), FEWEST_FLIPS, MOST_FLIPS)) if n <= MOST_ROWS else 0
        )
        turns = rng.choice([-1.0, 1.0], (n_flips, halves.n_items))
        every = np.concatenate([np.ones((1, halves.n_items)), turns])
        log_odds = halves.log_odds(every[:1])[0]
        null = halves.accuracies(every)
        gain = null[:, 0] - null[:, 1]
        # Two-sided; equal but for rounding counts on both sides
        above, below = (gain[1:] >= gain[0] - 1e-12).sum(), (gain[1:] <= gain[0] + 1e-12).sum()
        p = float(min(1.0, 2 * (min(above, below) + 1) / len(gain)))
        rule = RULE.format(halvings=HALVINGS, seed=self.seed, flips=len(turns))
        held = decided(special.expit(log_odds[halves.back]), About(rule))
        loo_accuracy, correlation = _left_out(evidence, folds)
        found = NearChance(
            n_flips=len(turns),
            seed=self.seed,
            gain_p=p if len(turns) else None,
            accuracy_by_chance95=_range(null[1:, 0]),
            gain_by_chance95=_range(gain[1:]),
            left_out_accuracy=loo_accuracy,
            left_out_correlation=correlation,
        )
        return HeldOut(held.p_original, held.points, held.about, near_chance=found)


@dataclass(frozen=True)
class _Halves:
    """Rows that are alike once, and what each is predicted from.

    towards: (n, k) features towards the original; members: (n, members) the same of single members; times: (n,) trials of a
    row; trains: (fits, n) whether a row is in the training of a fit; fit: (n,) which one predicts a row. back: trial -> row.
    """

    towards: Floats
    members: Floats
    times: Floats
    item: Ints
    n_items: int
    trains: Bools
    fit: Ints
    back: Ints

    @classmethod
    def of(cls, evidence: Evidence, folds: Folds, rng: np.random.Generator) -> "_Halves":
        rows = back = np.arange(len(evidence))
        times = np.ones(len(evidence))
        if not evidence.n_humans and folds.people_block is None:
            # Models say the same on all trials of an item
            _, rows, back, counts = np.unique(
                evidence.item, return_index=True, return_inverse=True, return_counts=True
            )
            times = counts.astype(float)
        items, item = np.unique(evidence.item[rows], return_inverse=True)
        blocks, block = np.unique(folds.item_block[rows], return_inverse=True)
        halvings = [_half(len(blocks), rng)[block] for _ in range(HALVINGS)]
        codes = [2 * k + half for k, half in enumerate(halvings)]
        trains = [half[None, :] != np.array([[0], [1]]) for half in halvings]
        if folds.people_block is not None:
            people, who = np.unique(folds.people_block[rows], return_inverse=True)
            groups = [_half(len(people), rng)[who] for _ in range(HALVINGS)]
            codes = [2 * code + group for code, group in zip(codes, groups, strict=True)]
            others = [group[None, :] != np.array([[0], [1]]) for group in groups]
            trains = [
                (a[:, None] & b[None]).reshape(4, -1) for a, b in zip(trains, others, strict=True)
            ]
        which = rng.integers(0, HALVINGS, len(items))[item]
        learned = informative(evidence)
        towards = learned.people_as_one(learned.towards_truth)
        towards = towards / np.array([rms(column) for column in towards.T])
        return cls(
            towards=towards[rows],
            members=evidence.towards_truth[rows],
            times=times,
            item=item,
            n_items=len(items),
            trains=np.concatenate(trains),
            fit=np.array(codes)[which, np.arange(len(rows))],
            back=back,
        )

    def log_odds(self, turns: Floats) -> Floats:
        """(turns, n) held-out log-odds of what is the original there; turns (turns, items) of 1 and -1."""
        n, k = self.towards.shape
        turned = turns[:, self.item]
        # Every row as it is and turned around; weights say which of the two is meant
        design, penalty = np.concatenate([self.towards, -self.towards]), np.full(k, PENALTY)
        found = np.empty((len(turns), n))
        size = max(1, AT_ONCE // (2 * n * len(self.trains)))
        for start in range(0, len(turns), size):
            part = turned[start : start + size]
            both = np.concatenate([part > 0, part < 0], axis=1) * np.tile(self.times, 2)
            weights = both[:, None, :] * np.tile(self.trains, 2)[None]
            betas = fit_ridge(design, np.ones(2 * n), weights.reshape(-1, 2 * n), penalty)
            own = betas.reshape(len(part), -1, k)[:, self.fit]
            found[start : start + size] = part * np.einsum("nk,tnk->tn", self.towards, own)
        return found

    def accuracies(self, turns: Floats) -> Floats:
        """(turns, 2) of the team and of the best member."""
        share = self.times / self.times.sum()
        team = points(self.log_odds(turns)) @ share
        sides = np.stack([points(sign * self.members) * share[:, None] for sign in (1, -1)])
        by_item = np.zeros((2, self.n_items, self.members.shape[1]))
        for sums, rows in zip(by_item, sides, strict=True):
            np.add.at(sums, self.item, rows)
        members = (turns > 0) @ by_item[0] + (turns < 0) @ by_item[1]
        return np.column_stack([team, members.max(axis=1)])


def _half(n: int, rng: np.random.Generator) -> Ints:
    """(n,) 0 or 1, as many of each as can be."""
    return rng.permutation(n) % 2


def _range(values: Floats) -> Interval | None:
    return percentile_interval(values) if len(values) else None


def _left_out(evidence: Evidence, folds: Folds) -> tuple[float | None, float | None]:
    """Accuracy of the published scheme, and how its log-odds of side B correlate with the side; None where it fails."""
    try:
        held = AsPublished().held_out(evidence, folds)
    except NotEnough:
        return None, None
    says_b = special.logit(np.clip(held.p_original, 1e-12, 1 - 1e-12)) * evidence.truth
    if not np.ptp(says_b) or not np.ptp(evidence.truth):
        return float(held.points.mean()), None
    r = float(np.corrcoef(says_b, evidence.truth)[0, 1])
    return float(held.points.mean()), r if math.isfinite(r) else None
