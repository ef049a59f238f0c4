"""A team of models that decides test cases by itself: what it says of each, from a fit that saw none of its publication."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from analysis.stats.arrays import Floats
from analysis.teams.domain.evidence import Evidence
from analysis.teams.domain.folds import ITEM_BLOCKS, Folds, in_blocks
from analysis.teams.domain.logistic import Logistic
from analysis.teams.results import Member, MemberKind

RULE = (
    "Confidence is the probability that the choice is correct: logistic regression towards the original, without intercept, on each model's "
    "difference of log-perplexities, or the log-odds of its answers. The L2 penalty is chosen within each training fold. {folds}."
)
WORDS = "publications in {n} random blocks (seed {seed}), one held out at a time"


def of_models(
    names: Sequence[str], towards: Floats, work: npt.ArrayLike, seed: int
) -> tuple[Floats, str]:
    """(n,) the logistic team's probability of the original, and how it came about. towards: (n, models) how strongly each
    prefers the original; work: (n,) the publication.

    Raises:
        NotEnough: all test cases are of one publication, or no model can tell sides apart.

    >>> towards = np.random.default_rng(1).normal(1, 1, (40, 2))
    >>> p, _rule = of_models(["a", "b"], towards, np.arange(40), seed=1)
    >>> bool((p > 0.5).mean() > 0.8), bool(p.max() < 1)
    (True, True)
    """
    n = len(towards)
    truth = np.where(np.arange(n) % 2, 1.0, -1.0)  # sides mean nothing to the team; both occur
    signed = towards * truth[:, None]
    nobody = np.empty((n, 0), dtype=np.int64)
    publication = np.unique(np.asarray(work), return_inverse=True)[1]
    members = tuple(Member(name, MemberKind.MODEL, name) for name in names)
    evidence = Evidence(members, publication, truth, signed, signed, nobody, nobody)
    block = in_blocks(evidence, ITEM_BLOCKS, seed=seed).item_block
    folds = Folds(block, block, None, WORDS.format(n=int(block.max()) + 1, seed=seed))
    each = Evidence(members, np.arange(n), truth, signed, signed, nobody, nobody)
    held = Logistic(seed=seed).held_out(each, folds)
    return held.p_original, RULE.format(folds=folds.sentence)
