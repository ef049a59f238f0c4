"""How good a team is on held-out trials, how sure that is, and whether it beats its best member."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.stats.arrays import Floats, Interval
from analysis.stats.crossed_bootstrap import spread, two_sided_p
from analysis.stats.two_way_clustered import TwoWay
from analysis.teams.domain.combination import HeldOut
from analysis.teams.domain.complementarity import complementarity
from analysis.teams.domain.evidence import Evidence, Names
from analysis.teams.domain.resampling import Draws, holm, two_way_of
from analysis.teams.domain.scores import N_MEANS, Rows, numbers, resampled, rows_of
from analysis.teams.results import Method, TeamResult

BATCH = 10_000_000  # resampled numbers held at once

RESAMPLED = (
    "Items, and independently the people whose trials are the rows, resampled with replacement (pigeonhole bootstrap, "
    "{resamples:,} resamples, seed {seed}), the held-out predictions staying as they are; 95% percentile intervals. Where "
    "people vary these are conservative: up to sqrt(3) times too wide, as the noise of single trials counts three times. "
    "The two-way interval of a gain has no such excess: normal, from variance between participants (the first of a row) + "
    "items - trials. The interval of the calibration error is approximate. It is reflected about the value, as resampling "
    "adds its upward bias once more; in a simulation of 200 items x 5 trials with a true error of .059, 89 of 100 such "
    "intervals held the truth and the others lay below it. p is twice the smaller share of resampled differences on either "
    "side of 0."
)
NO_INTERVALS = "No intervals: {why}."
MULTIPLICITY = (
    "A team is compared with its best member on the same trials. Which member is best is chosen on these trials too, "
    "which favours it: a gain is rather too small than too large. But the most accurate of many teams is flattered by being "
    "picked: on other trials it is likely to do less well. p_holm is Holm's correction over {n} teams."
)
CALIBRATION = (
    "Expected calibration error of the probability that goes with the team's choice: |share right - mean probability| in "
    "10 bins of equal width on [.5, 1] ([0, 1] where a choice goes against its probability), weighted by trials."
)
SELECTOR = (
    "Share of trials on which at least one member is right. No team can aim at it: it rises with any further member, also "
    "with one that guesses."
)
# Of fields of TeamResult whose names do not say it all
MEASURES = {"calibration_error": CALIBRATION, "selector_accuracy": SELECTOR}


def evaluate(evidence: Evidence, held: HeldOut, method: Method, draws: Draws) -> TeamResult:
    """All members of `evidence` as one team, predicted by `held` on its rows; `draws` are of the same rows."""
    return evaluate_all(evidence, [(evidence.names, method, held)], draws)[0]


def evaluate_all(
    evidence_all: Evidence,
    teams: Sequence[tuple[Names, Method, HeldOut]],
    draws: Draws,
) -> list[TeamResult]:
    """Teams (their members' names, the way of combining, its predictions) on the same rows, with the same resamples.

    Gains of teams of two or more are corrected for how many such teams there are (Holm 1979).
    Raises KeyError for names that are no members.
    """
    found = []
    size = max(1, BATCH // max(1, draws.resamples * (N_MEANS + 1)))
    for start in range(0, len(teams), size):
        batch = [
            (evidence_all.of(names), method, held)
            for names, method, held in teams[start : start + size]
        ]
        rows = [rows_of(evidence.is_right, held) for evidence, _, held in batch]
        again = resampled(rows, draws)
        found += [
            _with_intervals(_result(*team, its_rows), again[:, k], two_way_of(its_rows.gain, draws))
            for k, (team, its_rows) in enumerate(zip(batch, rows, strict=True))
        ]
    adjusted = holm([result.gain_p for result in found])
    return [replace(r, gain_p_holm=p) for r, p in zip(found, adjusted, strict=True)]


def resampling_words(draws: Draws) -> str:
    """How the intervals were made, or why there are none.

    >>> resampling_words(Draws.of_items(1))
    'No intervals: there is one item only.'
    """
    if not draws.resamples:
        return NO_INTERVALS.format(why="no resamples were asked for")
    if not draws.can_vary:
        lone = "item" if draws.n_items < 2 else "participant"
        return NO_INTERVALS.format(why=f"there is one {lone} only")
    return RESAMPLED.format(resamples=draws.resamples, seed=draws.seed)


def _result(evidence: Evidence, method: Method, held: HeldOut, rows: Rows) -> TeamResult:
    """Without intervals."""
    found = numbers(rows.values(slice(None)).mean(axis=0)).tolist()
    accuracy, log_loss, brier, selector, gain, error = found
    is_right, names = evidence.is_right, evidence.names
    is_team = len(names) > 1
    best = int(is_right.sum(axis=0).argmax())
    return TeamResult(
        team=evidence.team,
        method=method,
        n_humans=evidence.n_humans,
        n_models=len(names) - evidence.n_humans,
        n_trials=len(evidence),
        n_items=len(np.unique(evidence.item)),
        n_participants=len(np.unique(evidence.participant)),
        n_correct=int(held.is_right.sum()),
        accuracy=accuracy,
        accuracy_ci95=None,
        log_loss_nats=log_loss,
        log_loss_nats_ci95=None,
        brier=brier,
        brier_ci95=None,
        calibration_error=error,
        calibration_error_ci95=None,
        best_member=names[best] if is_team else None,
        best_member_accuracy=float(is_right[:, best].mean()) if is_team else None,
        gain=gain if is_team else None,
        gain_ci95=None,
        gain_p=None,
        gain_p_holm=None,
        gain_two_way_se=None,
        gain_two_way_ci95=None,
        selector_accuracy=selector,
        selector_accuracy_ci95=None,
        complementarity=complementarity(names, is_right, held.is_right) if is_team else None,
        about=held.about,
    )


def _with_intervals(result: TeamResult, again: Floats, two_way: TwoWay | None) -> TeamResult:
    accuracy, log_loss, brier, selector, gain, error = (spread(x).ci95 for x in again.T)
    is_team = result.gain is not None
    return replace(
        result,
        accuracy_ci95=accuracy,
        log_loss_nats_ci95=log_loss,
        brier_ci95=brier,
        calibration_error_ci95=_reflected(result.calibration_error, error),
        gain_ci95=gain if is_team else None,
        gain_p=two_sided_p(again[:, N_MEANS - 1]) if is_team else None,
        gain_two_way_se=two_way.se if is_team and two_way else None,
        gain_two_way_ci95=two_way.ci95 if is_team and two_way else None,
        selector_accuracy_ci95=selector,
    )


def _reflected(value: float, ci95: Interval | None) -> Interval | None:
    """Basic bootstrap, reaching to the value at least; not below 0."""
    if ci95 is None:
        return None
    low, high = ci95
    return min(max(0.0, 2 * value - high), value), max(2 * value - low, value)
