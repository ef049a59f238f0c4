"""Real decisions beside computed teams, in sentences."""

from analysis.codec import present
from analysis.presentation import FigureText, Paragraph, itemised, paragraphs, sentences
from analysis.report.chapters.advised.results import (
    ComputedTeam,
    PairOfDeciders,
    RealAndComputed,
)
from analysis.report.chapters.advised.tables import DECIDERS, FINAL, FIRST
from analysis.report.chapters.advised.words.estimates import CLUSTERED, points_of
from analysis.stats.arrays import ROUNDING
from analysis.stats.verdicts import Verdict
from analysis.teams.domain.advised import ADVISER
from analysis.teams.results import Method
from lib import formatting as f

WITHIN_SENTENCES = {
    FIRST: "people before advice",
    ADVISER: "the adviser alone",
    FINAL: "people after advice",
    Method.LOGISTIC.value: "the logistic team",
    Method.BAYESIAN.value: "the Bayesian team",
}


def on_teams(own: RealAndComputed) -> list[Paragraph]:
    pairs = {frozenset((pair.first, pair.second)): pair for pair in own.pairs}
    realised = [_realised(t, pairs[frozenset((FIRST, t.method.value))]) for t in own.teams]
    return [Paragraph(_most_accurate(own)), *itemised(realised), *paragraphs(*own.not_possible)]


def _most_accurate(own: RealAndComputed) -> str:
    best = next(one for one in own.deciders if one.best_minus is None)
    trials, right = f.count(own.n_trials, "trial"), f.percent(best.accuracy.value)
    alike = [one for one in own.deciders if one.accuracy.value >= best.accuracy.value - ROUNDING]
    name = f.listing([WITHIN_SENTENCES[one.code] for one in alike])
    if len(alike) == len(own.deciders):
        return f"On the same {trials}, the decisions of {name} had the same accuracy ({right})."
    highest = f"On the same {trials}, the decisions of {name} had the highest accuracy ({right})"
    if any(one.verdict is Verdict.TOO_FEW for one in own.deciders):
        return f"{highest}. There are too few participants or test cases to say whether they were more accurate than those of others."
    near = [
        f"{WITHIN_SENTENCES[one.code]} ({f.percent(one.accuracy.value)})"
        for one in own.deciders
        if one not in alike and one.verdict is Verdict.UNCLEAR
    ]
    if near:
        return f"{highest}, which is not clearly different from that of {f.listing(near)}."
    return f"On the same {trials}, the most accurate decisions were those of {name}: {right} were right."


def _realised(team: ComputedTeam, pair: PairOfDeciders) -> str:
    """pair: of first answers and this team."""
    own = team.realised
    is_clear = "" if pair.verdict.is_clear else ", which is not a clear change"
    if pair.verdict is Verdict.TOO_FEW:
        is_clear = ", with too few participants or test cases to say whether it differs from 0"
    changed = (
        f"Decisions of {WITHIN_SENTENCES[team.method.value]} would have changed accuracy by "
        f"{points_of(own.computed, pair.p_holm)}{is_clear}. "
        f"After advice minus before it, the change was {f.points(own.real.value)}"
    )
    share = present(own.share)
    if share is None:
        return f"{changed}. Without a computed gain, there is no share of it that people realised."
    percent = f.percent(share, 0)
    if own.share_ci95 is None:
        return f"{changed}. The share of the gain that people realised ({percent}) has no interval, because that of the computed gain includes 0 or less."
    if not pair.verdict.is_clear:
        return f"{changed}. The share of the gain that people realised ({percent}) is only described, because the computed gain is not clear."
    realised = f.with_interval(percent, f.share_interval(own.share_ci95))
    return f"{changed}: people realised {realised} of the computed gain."


def decider_row(code: str) -> str:
    """A decider as a row of the figure.

    >>> decider_row(FIRST)
    'people before advice'
    """
    name = DECIDERS[code]
    return f"{name[0].lower()}{name[1:]}"


def advised_teams_figure(own: RealAndComputed) -> FigureText:
    counted = f"{f.count(own.n_trials, 'trial')} of {f.count(own.n_participants, 'participant')} on {f.count(own.n_items, 'test case')}"
    right = "; ".join(
        f"{decider_row(one.code)} {f.percent(one.accuracy.value)}" for one in own.deciders
    )
    return FigureText(
        "Real decisions with advice and computed teams",
        sentences(
            f"n = {counted}, the same in each row.",
            "Computed teams combine the first answer and the advice, and are evaluated on test cases that were not used in their fit."
            if own.teams
            else "There is no computed team.",
            f"Lines are {CLUSTERED}",
        ),
        f"{right}.",
    )
