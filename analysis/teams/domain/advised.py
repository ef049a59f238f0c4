"""First answers and the advice that followed them as the evidence of a team: what a rule would have made of the same trials."""

import numpy as np

from analysis.stats.arrays import Floats
from analysis.stats.reliance.trials import AdvisedTrials
from analysis.teams.domain.evidence import HUMAN, HUMAN_DISPLAY_NAMES, UNRATED, Evidence
from analysis.teams.results import Member, MemberKind

ADVISER = "adviser"
LEAST_LOG_ODDS = 0.01  # of an adviser that is not sure at all: it still chose a side


def evidence_of(trials: AdvisedTrials, truth: Floats, adviser: str) -> Evidence:
    """The trials that have both, in their order; truth: (n,) +1 where the original is side B, else -1.

    A person's confidence is the first rating in points, the median where none was given; the adviser's the log-odds of the
    probability that participants could know, and the same for all advice where they saw its choice alone.
    """
    rating = trials.confidence_before
    given = rating[np.isfinite(rating)]
    rating = np.where(np.isfinite(rating), rating, np.median(given) if len(given) else UNRATED)
    odds = np.log(trials.p_known) - np.log1p(-np.minimum(trials.p_known, 1 - 1e-6))
    sure = np.where(np.isfinite(odds), np.maximum(odds, LEAST_LOG_ODDS), 1.0)
    towards = np.column_stack(
        [(2 * trials.right_before - 1) * rating, (2 * trials.advice_right - 1) * sure]
    )
    signed = towards * truth[:, None]
    return Evidence(
        members=(
            Member(HUMAN, MemberKind.HUMAN, HUMAN_DISPLAY_NAMES[0]),
            Member(ADVISER, MemberKind.MODEL, adviser),
        ),
        item=trials.item,
        truth=truth,
        signed=signed,
        as_published=signed,
        participant=trials.participant[:, None],
        trial=np.arange(len(trials))[:, None],
    )
