"""How good a team is on held-out trials, how sure that is, whether it beats its best member, and whom it follows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.stats import NotEnough
from analysis.stats.arrays import Bools, Floats, Ints
from analysis.stats.calibration import bin_columns, equal_width_bins, error_interval, error_noise
from analysis.stats.crossed_bootstrap import interval_with
from analysis.stats.two_way_clustered import FEWEST_CLUSTERS, SCORE
from analysis.teams.domain.chance import learns_noise
from analysis.teams.domain.combination import LEAST_PROBABILITY, HeldOut
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.folds import Draws, changes_of, two_way_of
from analysis.teams.results import (
    FEWEST_ITEMS,
    Complementarity,
    Method,
    NearChance,
    OnlyOne,
    Pattern,
    SomeRight,
    TeamResult,
    Tried,
)
from lib.levels import ENOUGH
from lib.points import RIGHT, TIE, WRONG

N_BINS = 10
N_MEANS = 5  # accuracy, log loss, Brier score, selector, gain: unweighted means over rows
# What a trial costs at most, in nats: one prediction that is sure and wrong would hide all others in a mean
MOST_NATS = -float(np.log(LEAST_PROBABILITY))


@dataclass(frozen=True)
class Rows:
    """Parts of a team's rows that are resampled, (n,) each.

    points: of the team's choice; selector: of the best choice of its members; best: of its best member. stated: the probability of the choice made;
    place: its bin.
    """

    points: Floats
    p_original: Floats
    selector: Floats
    best: Floats
    stated: Floats
    place: Ints

    def values(self, rows: slice) -> Floats:
        """(rows, N_MEANS + N_BINS) columns whose means are the team's numbers, then what each bin is off by."""
        points, p = self.points[rows], self.p_original[rows]
        found = np.zeros((len(p), N_MEANS + N_BINS))
        found[:, :N_MEANS] = np.column_stack(
            [
                points,
                -np.log(np.maximum(p, LEAST_PROBABILITY)),
                (1 - p) ** 2,
                self.selector[rows],
                points - self.best[rows],
            ]
        )
        found[np.arange(len(p)), N_MEANS + self.place[rows]] = points - self.stated[rows]
        return found


def rows_of(points: Floats, held: HeldOut) -> Rows:
    """points (n, members); the first of the most accurate members is the best."""
    stated = np.where(held.points > TIE, held.p_original, 1 - held.p_original)
    best = points[:, _best(points)]
    return Rows(held.points, held.p_original, points.max(axis=1), best, stated, bins(stated)[1])


def _best(points: Floats) -> int:
    return int(points.sum(axis=0).argmax())


def bins(stated: Floats) -> tuple[float, Ints]:
    """Where the bins start, and the bin of each."""
    low = 0.5 if stated.min(initial=1.0) >= 0.5 else 0.0
    return low, equal_width_bins(stated, low, N_BINS)


def numbers(means: Floats) -> Floats:
    """(..., N_MEANS + 1): the means, and the calibration error from what the bins are off by."""
    error = np.abs(means[..., N_MEANS:]).sum(axis=-1, keepdims=True)
    return np.concatenate([means[..., :N_MEANS], error], axis=-1)


def resampled(teams: Sequence[Rows], draws: Draws) -> Floats:
    """(resamples, teams, N_MEANS)."""

    def values(rows: slice) -> Floats:
        return np.concatenate([team.values(rows)[:, :N_MEANS] for team in teams], axis=1)

    n = draws.resamples if draws.can_vary else 0
    found = np.empty((n, len(teams), N_MEANS))
    for which, means in draws.each_mean(values, N_MEANS * len(teams)):
        found[which] = means.reshape(len(means), len(teams), N_MEANS)
    return found


MOST_NAMED = 6  # members up to which patterns name who is right


def complementarity(names: Names, points: Floats, team: Floats) -> Complementarity:
    """Trials by which members are right; points (n, members), in the order of `names`, team (n,) points.

    A member that ties is neither right nor wrong, and of the team's ties the counts say how many there are. Raises NotEnough below two members.

    >>> first, second = [True, True, False, False], [True, False, True, False]
    >>> found = complementarity(("a", "b"), 1.0 * np.array([first, second]).T, np.array([1, 1, 0, 0.5]))
    >>> found.only_first, found.only_second
    (OnlyOne(n=1, n_team_right=1, n_team_ties=0, member='a'), OnlyOne(n=1, n_team_right=0, n_team_ties=0, member='b'))
    >>> complementarity(("a", "b"), np.array([[0.5, 0.0], [1.0, 0.0]]), np.array([0.0, 1.0])).leader is None  # a ties where b decides
    True
    """
    if len(names) < 2:
        raise NotEnough("One member cannot disagree.", "A team of at least two is needed.")
    is_right = points == RIGHT
    n_right, n_wrong = is_right.sum(axis=1), (points == WRONG).sum(axis=1)
    all_right, none_right = n_right == len(names), n_right == 0
    some = ~all_right & ~none_right
    alone = [_tried(some & is_right[:, k], team) for k in (0, 1)]
    first, second = (
        OnlyOne(own.n, own.n_team_right, own.n_team_ties, name)
        for own, name in zip(alone, names, strict=False)
    )
    agreed = some & (2 * np.maximum(n_right, n_wrong) > len(names))
    n_follows = (agreed & (team == np.where(2 * n_right > len(names), RIGHT, WRONG))).sum()
    tried = _tried(some, team)
    is_pair = len(names) == 2
    follows = (points == team[:, None]).all(axis=0) & (points != points[:, :1]).any()
    return Complementarity(
        all_right=_tried(all_right, team),
        some_right=SomeRight(
            tried.n, tried.n_team_right, tried.n_team_ties, int(agreed.sum()), int(n_follows)
        ),
        none_right=_tried(none_right, team),
        all_wrong=_tried(n_wrong == len(names), team),
        only_first=first if is_pair else None,
        only_second=second if is_pair else None,
        patterns=_patterns(names, is_right, team),
        leader=names[follows.argmax()] if follows.any() else None,
    )


def _tried(where: Bools, team: Floats) -> Tried:
    right, tied = (int((where & (team == kind)).sum()) for kind in (RIGHT, TIE))
    return Tried(int(where.sum()), right, tied)


def _patterns(names: Names, is_right: Bools, team: Floats) -> tuple[Pattern, ...]:
    """More members right first, then earlier members first."""
    named = len(names) <= MOST_NAMED
    n_right = is_right.sum(axis=1)
    columns = np.column_stack([n_right, is_right]) if named else n_right[:, None]
    kinds, place = np.unique(-columns.astype(np.int64), axis=0, return_inverse=True)
    n = np.bincount(place.ravel(), minlength=len(kinds))
    n_team, n_ties = (
        np.bincount(place.ravel(), weights=team == kind, minlength=len(kinds))
        for kind in (RIGHT, TIE)
    )
    return tuple(
        Pattern(
            n=int(count),
            n_team_right=int(right),
            n_team_ties=int(tied),
            right=tuple(x for x, k in zip(names, kind[1:], strict=True) if k) if named else None,
            n_right=int(-kind[0]),
            share=float(count / len(is_right)),
        )
        for kind, count, right, tied in zip(kinds, n, n_team, n_ties, strict=True)
    )


BATCH = 10_000_000  # resampled numbers held at once

RESAMPLED = (
    "The two-way variance is that of trials, plus what participants and test cases each have beyond it, at least 0, with "
    "fixed held-out predictions and Student's t for the smaller number of clusters minus one. A trial with two people "
    "belongs to the first of them. "
    f"{SCORE} A gain has the interval and p of Student's t, which do not depend on a seed but in teams of people alone, whose judgments are paired at random. The intervals of log loss and Brier score come from resampling with replacement both the test cases and, "
    "independently, the people who judged the trials (pigeonhole bootstrap, {resamples:,} resamples, seed {seed}). Deviations are "
    "scaled to that error before percentiles are taken. The interval of "
    "the calibration error inverts a test, with the bins' observed deviations multiplied by a common factor. docs/results.md gives the "
    "coverage of each interval."
)
NO_INTERVALS = "No intervals: {why}."
MULTIPLICITY = (
    "A team is compared with its best member on the same trials. The best member is also chosen on these trials, "
    "so gains tend to be underestimated. The accuracy of the best of many teams is overestimated, because it was "
    "selected; on other trials it is likely to be lower. {family} "
    "Before the correction, p of a loss is multiplied by the number of members, from which the best was chosen. "
    f"No verdict is given with fewer than {FEWEST_ITEMS} test cases, or fewer than {ENOUGH} participants."
)
CALIBRATION = (
    "Expected calibration error of the probability of the team's choice: |share right - mean probability| in 10 "
    "bins of equal width on [.5, 1] ([0, 1] if choices can contradict their probability), weighted by trials."
)
SELECTOR = (
    "Share of trials on which at least one member is right; if the best that a member has is a tie, it counts half. A team cannot be expected to reach it, because it "
    "rises with every additional member, even one that guesses."
)
# Of fields of TeamResult whose names do not say it all
LOG_LOSS = (
    f"Mean of -ln(probability of the original), limited to {MOST_NATS:.1f} nats per trial (a probability of 10^-6), "
    "so that a single confident error does not dominate."
)
MEASURES = {
    "log_loss_nats": LOG_LOSS,
    "calibration_error": CALIBRATION,
    "selector_accuracy": SELECTOR,
}


def evaluate(evidence: Evidence, held: HeldOut, method: Method, draws: Draws) -> TeamResult:
    """All members of `evidence` as one team, predicted by `held` on its rows; `draws` are of the same rows."""
    return evaluate_all(evidence, [(evidence.names, method, held)], draws)[0]


def evaluate_all(
    evidence_all: Evidence,
    teams: Sequence[tuple[Names, Method, HeldOut]],
    draws: Draws,
) -> list[TeamResult]:
    """Teams (their members' names, the way of combining, its predictions) on the same rows, with the same resamples.

    Gains of teams of two or more have a p, which `families.concluded` corrects. Raises KeyError for names that are no members.
    """
    found = []
    size = max(1, BATCH // max(1, draws.resamples * N_MEANS))
    for start in range(0, len(teams), size):
        batch = [
            (evidence_all.of(names), method, held)
            for names, method, held in teams[start : start + size]
        ]
        rows = [rows_of(evidence.points, held) for evidence, _, held in batch]
        again = resampled(rows, draws)
        found += [
            _with_intervals(_result(*team, its_rows), again[:, k], its_rows, draws)
            for k, (team, its_rows) in enumerate(zip(batch, rows, strict=True))
        ]
    return found


def resampling_words(draws: Draws) -> str:
    """How the intervals were made, or why there are none.

    >>> resampling_words(Draws.of_items(1))
    'No intervals: there are fewer than three items.'
    """
    if not draws.can_vary:
        few = "items" if draws.n_items < FEWEST_CLUSTERS else "participants"
        return NO_INTERVALS.format(why=f"there are fewer than three {few}")
    return RESAMPLED.format(resamples=draws.resamples, seed=draws.seed)


def _result(evidence: Evidence, method: Method, held: HeldOut, rows: Rows) -> TeamResult:
    """Without intervals."""
    found = numbers(rows.values(slice(None)).mean(axis=0)).tolist()
    accuracy, log_loss, brier, selector, gain, error = found
    points, names = evidence.points, evidence.names
    is_team = len(names) > 1
    best = _best(points)
    return TeamResult(
        team=evidence.team,
        method=method,
        n_humans=evidence.n_humans,
        n_models=len(names) - evidence.n_humans,
        n_trials=len(evidence),
        n_items=len(np.unique(evidence.item)),
        n_participants=len(np.unique(evidence.participant)),
        n_correct=int((held.points == RIGHT).sum()),
        n_ties=int((held.points == TIE).sum()),
        accuracy=accuracy,
        accuracy_ci95=None,
        log_loss_nats=log_loss,
        log_loss_nats_ci95=None,
        brier=brier,
        brier_ci95=None,
        calibration_error=error,
        calibration_error_ci95=None,
        best_member=names[best] if is_team else None,
        best_member_accuracy=float(points[:, best].mean()) if is_team else None,
        gain=gain if is_team else None,
        gain_ci95=None,
        gain_p=None,
        gain_p_holm=None,
        gain_tests=None,
        gain_verdict=None,
        gain_se=None,
        selector_accuracy=selector,
        selector_accuracy_ci95=None,
        complementarity=complementarity(names, points, held.points) if is_team else None,
        near_chance=held.near_chance or (NearChance() if learns_noise(evidence) else None),
        about=held.about,
    )


def _with_intervals(result: TeamResult, again: Floats, rows: Rows, draws: Draws) -> TeamResult:
    """`again`: (resamples, N_MEANS)."""
    *means, more = rows.values(slice(None)).T[:N_MEANS]
    errors = [two_way_of(column, draws) for column in means] + [changes_of(more, draws)]
    if any(error is None for error in errors):
        return result
    accuracy, log_loss, brier, selector, gain = (error for error in errors if error)
    if result.near_chance:
        # Held-out rows that err together: taken as independent, they would look far surer than they are
        return replace(
            result,
            gain_p=result.near_chance.gain_p,
            selector_accuracy_ci95=selector.share_ci95,
        )
    off = bin_columns(rows.place, rows.points - rows.stated, N_BINS)
    people = [draws.people[:, 0]] if draws.people.shape[1] else []
    noise = error_noise(off, [draws.item, *people], np.random.default_rng(draws.seed))
    found = replace(
        result,
        accuracy_ci95=accuracy.share_ci95,
        log_loss_nats_ci95=interval_with(again[:, 1], log_loss, (0.0, np.inf)),
        brier_ci95=interval_with(again[:, 2], brier, (0.0, 1.0)),
        calibration_error_ci95=None
        if noise is None
        else error_interval(off.mean(axis=0), noise, result.calibration_error),
        selector_accuracy_ci95=selector.share_ci95,
    )
    if result.gain is None:
        return found
    return replace(
        found,
        gain_ci95=gain.within(-1.0, 1.0),
        gain_p=gain.p,
        gain_se=gain.se,
    )
