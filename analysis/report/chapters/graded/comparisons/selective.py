"""Accuracy of those answers that are kept, when the least sure are left out first."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.data.graded.tables import NO_TEXT, AnswererName, GradedData
from analysis.report.chapters.graded.counts import question_clusters
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.graded import ABSTAINED, GOOD
from analysis.stats.graded.selective import METHOD, selective

FEWEST = 10  # answers of known confidence
MOST_POINTS = 101
RULE = (
    "Coverage is the share of all graded answers: neither an abstention nor what came without a text (kept back by a filter, failed, "
    "empty, declined) is ever kept. Where the confidence of some kept answer is not known, abstaining is all that chooses: a single point."
)


@dataclass(frozen=True)
class Curve(AnswererName):
    """n: graded answers, n_kept: of these the texts that do not abstain. coverage, accuracy: from the surest on; one point where
    some confidence is not known.

    gain: by how much the accuracy that confidence chooses is above that of all that are kept, mean over coverages;
    NaN and None without a curve.
    """

    n: int
    n_kept: int
    coverage: tuple[float, ...]
    accuracy: tuple[float, ...]
    gain: float
    gain_ci95: Interval | None

    @property
    def is_curve(self) -> bool:
        return len(self.coverage) > 1


@dataclass(frozen=True)
class Kept:
    curves: tuple[Curve, ...]
    is_simulated: bool
    method: str = METHOD
    rule: str = RULE


def select(data: GradedData) -> Kept:
    """Raises NotEnough where no answer is kept."""
    answers = data.need_graded()
    curves = [
        curve
        for model in data.judged_models()
        if (curve := _curve(data, model, answers[answers["model"] == model]))
    ]
    if not curves:
        raise NotEnough("No answer has a text that does not abstain.", "Such answers are needed.")
    return Kept(tuple(curves), data.is_simulated)


def selective_table(own: Kept) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"name": curve.name, "coverage": coverage, "accuracy": accuracy}
            for curve in own.curves
            for coverage, accuracy in zip(curve.coverage, curve.accuracy, strict=True)
        ]
    )


def _curve(data: GradedData, model: int, answers: pd.DataFrame) -> Curve | None:
    rows = answers[~answers["fate"].isin([ABSTAINED, NO_TEXT])]
    if rows.empty:
        return None
    good, share = (rows["fate"] == GOOD).to_numpy(), len(rows) / len(answers)
    sure = rows["confidence"]
    coverage, accuracy, gain, ci95 = [share], [float(good.mean())], np.nan, None
    if sure.notna().all() and len(rows) >= FEWEST and sure.nunique() > 1:
        clusters = data.cached(question_clusters)[rows["question"].to_numpy()]
        found = selective(sure, good, clusters, seed=data.seed)
        every = found.points
        some = np.unique(np.linspace(0, len(every) - 1, MOST_POINTS).astype(int))
        coverage = [share * every[k].coverage for k in some]
        accuracy = [every[k].good for k in some]
        gain, ci95 = found.gain, found.gain_ci95
    return Curve(
        **data.model_name(model),
        n=len(answers),
        n_kept=len(rows),
        coverage=tuple(coverage),
        accuracy=tuple(accuracy),
        gain=gain,
        gain_ci95=ci95,
    )
