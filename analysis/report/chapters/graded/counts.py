"""Fates counted by cluster: rows of one template are alike."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data.graded.tables import NO_TEXT, GradedData
from analysis.stats.graded import FATES, UNPARSED
from analysis.stats.graded.rates import ClusteredRates, rates_of_counts
from analysis.stats.graded.ratios import clusters_of

Ints = npt.NDArray[np.int64]


def question_clusters(data: GradedData) -> Ints:
    """(questions,) the cluster of each: its template's, else its own."""
    found: Ints = clusters_of(data.questions["template"].tolist())
    return found


def codes(fates: "pd.Series[str]") -> Ints:
    """(n,) places in FATES; what could not be graded, for want of a text, counts as what could not be read."""
    places = {fate: n for n, fate in enumerate(FATES)} | {NO_TEXT: FATES.index(UNPARSED)}
    return np.asarray(fates.map(places), dtype=np.int64)


def rates_of(data: GradedData, answers: pd.DataFrame) -> ClusteredRates:
    """Of rows of `answers` that have a fate."""
    clusters = data.cached(question_clusters)[answers["question"].to_numpy()]
    _, cluster = np.unique(clusters, return_inverse=True)
    n = int(cluster.max(initial=-1)) + 1
    cells = np.bincount(cluster * len(FATES) + codes(answers["fate"]), minlength=n * len(FATES))
    return rates_of_counts(cells.reshape(n, len(FATES)))
