"""Effects of tuning on a model: decisions and perplexities on the same texts, before minus after."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.stats.estimates import (
    FEWEST,
    McNemar,
    Mean,
    PairedTest,
    Proportion,
    mcnemar,
    mean_of,
    paired_t,
    proportion,
)
from lib.points import points


@dataclass(frozen=True)
class Decided:
    """Result of `decided`."""

    before: Proportion
    after: Proportion
    mcnemar: McNemar


@dataclass(frozen=True)
class NatsChange:
    """Fall of the log perplexity, before minus after, in nats per token: of originals, of altered versions, and of the
    first less the second (`interaction`)."""

    original: PairedTest
    altered: PairedTest
    interaction: PairedTest


@dataclass(frozen=True)
class Tuning:
    """`ppl_correct` tests PPL(original), `ppl_altered` PPL(altered), `signed_difference` the first less the second; all
    before minus after. `means_before`, `means_after`: of the perplexities of the original and the altered versions."""

    decided: Decided
    ppl_correct: PairedTest
    ppl_altered: PairedTest
    means_before: tuple[float, float]
    means_after: tuple[float, float]
    signed_difference: PairedTest
    nats: NatsChange


@dataclass(frozen=True)
class TextsChange:
    """Log perplexity of the same texts in nats per token; `fall` tests before minus after."""

    before: Mean
    after: Mean
    fall: PairedTest


def decided(before: npt.ArrayLike, after: npt.ArrayLike) -> Decided:
    """The decisions of two models on the same n items: points (n,) of 0, 1/2 (a tie) and 1.

    Raises NotEnough below three items, where no change of a share can be told.

    >>> found = decided([1, 1, 0, 0], [1, 1, 1, 0])
    >>> found.before.accuracy, found.after.accuracy, found.mcnemar.gained
    (0.5, 0.75, 1)
    """
    x, y = np.asarray(before, dtype=float), np.asarray(after, dtype=float)
    if len(x) < FEWEST:
        raise NotEnough(
            "The tuned model and its base have fewer than three test cases in common.",
            "Score both on the same test cases.",
        )
    return Decided(proportion(x), proportion(y), mcnemar(x, y))


def compare(before: npt.ArrayLike, after: npt.ArrayLike) -> Tuning:
    """Set two models against each other on n items each scored by both.

    Args:
        before, after: (n, 2) perplexities of the original and of the altered version.
    The t tests are paired and two-sided, d_av over the two models' standard deviations; McNemar's test is exact. The
    logarithm of a perplexity is the text's mean loss, in nats per token. Raises NotEnough below three items.

    >>> better = compare([[4, 5], [6, 5], [7, 6]], [[3, 5], [4, 5], [6, 4]])
    >>> better.decided.before.n_correct, better.decided.after.n_correct, better.decided.mcnemar.gained
    (1, 2, 1)
    >>> better.ppl_correct.mean_difference.__round__(3)  # of 1, 2 and 1
    1.333
    >>> better.nats.original.mean_difference.__round__(3)  # of log(4/3), log(6/4) and log(7/6)
    0.282
    """
    x, y = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    log_x, log_y = np.log(x), np.log(y)
    return Tuning(
        decided=decided(decisions(x), decisions(y)),
        ppl_correct=paired_t(x[:, 0], y[:, 0]),
        ppl_altered=paired_t(x[:, 1], y[:, 1]),
        means_before=(float(x[:, 0].mean()), float(x[:, 1].mean())),
        means_after=(float(y[:, 0].mean()), float(y[:, 1].mean())),
        signed_difference=paired_t(x[:, 0] - x[:, 1], y[:, 0] - y[:, 1]),
        nats=NatsChange(
            original=paired_t(log_x[:, 0], log_y[:, 0]),
            altered=paired_t(log_x[:, 1], log_y[:, 1]),
            interaction=paired_t(log_x[:, 0] - log_x[:, 1], log_y[:, 0] - log_y[:, 1]),
        ),
    )


def decisions(ppl: Floats) -> Floats:
    """(n,) points of (n, 2) perplexities of the original and the altered version: the lower one is chosen.

    >>> decisions(np.array([[2.0, 3.0], [2.0, 2.0]])).tolist()
    [1.0, 0.5]
    """
    return points(ppl[:, 1] - ppl[:, 0])


def compare_texts(before: npt.ArrayLike, after: npt.ArrayLike) -> TextsChange:
    """Perplexities (n,) of the same texts under two models; each text counts alike. Raises NotEnough below three.

    >>> found = compare_texts(np.exp([2.0, 3.0, 4.0]), np.exp([1.0, 2.5, 3.0]))
    >>> round(found.before.mean, 3), round(found.after.mean, 3), round(found.fall.mean_difference, 3)
    (3.0, 2.167, 0.833)
    """
    x, y = np.log(np.asarray(before, float)), np.log(np.asarray(after, float))
    return TextsChange(mean_of(x), mean_of(y), paired_t(x, y))
