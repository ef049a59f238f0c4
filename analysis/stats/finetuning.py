"""What tuning did to a model: decisions and perplexities on the same items, before minus after."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.estimates import (
    McNemar,
    PairedTest,
    Proportion,
    mcnemar,
    paired_t,
    proportion_of_counts,
)


@dataclass(frozen=True)
class Tuning:
    """`ppl_correct` tests PPL(original), `signed_difference` PPL(original) - PPL(altered); both before minus after."""

    n_items: int
    before: Proportion
    after: Proportion
    mcnemar: McNemar
    ppl_correct: PairedTest
    ppl_before_mean: float
    ppl_after_mean: float
    signed_difference: PairedTest


def compare(before: npt.ArrayLike, after: npt.ArrayLike) -> Tuning:
    """Set two models against each other on n items each scored by both.

    Args:
        before, after: (n, 2) perplexities of the original and of the altered version; a lower original is a correct
            decision, a tie is wrong.
    The t tests are paired and two-sided, d_av over the two models' standard deviations; McNemar's test is exact. Raises
    NotEnough below two items.

    >>> better = compare([[4, 5], [6, 5], [7, 6]], [[3, 5], [4, 5], [6, 4]])
    >>> better.before.n_correct, better.after.n_correct, better.mcnemar.gained
    (1, 2, 1)
    >>> better.ppl_correct.mean_difference.__round__(3)  # of 1, 2 and 1
    1.333
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    if len(x) < 2:
        raise NotEnough(
            "The model and the one that it was tuned from have fewer than two test cases in common.",
            "Score both on the same test cases.",
        )
    right_before, right_after = x[:, 0] < x[:, 1], y[:, 0] < y[:, 1]
    return Tuning(
        n_items=len(x),
        before=proportion_of_counts(int(right_before.sum()), len(x)),
        after=proportion_of_counts(int(right_after.sum()), len(x)),
        mcnemar=mcnemar(right_before, right_after),
        ppl_correct=paired_t(x[:, 0], y[:, 0]),
        ppl_before_mean=float(x[:, 0].mean()),
        ppl_after_mean=float(y[:, 0].mean()),
        signed_difference=paired_t(x[:, 0] - x[:, 1], y[:, 0] - y[:, 1]),
    )
