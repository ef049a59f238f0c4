"""Agreement: do models find the same items hard as one another, and as people do?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, optional, present, try_estimate
from analysis.data.dataset import Floats, ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats.agreement import (
    NoiseCeiling,
    corrected,
    noise_ceiling,
    pairs,
    rank_correlations,
)
from analysis.stats.arrays import Interval
from analysis.stats.crossed_bootstrap import mean_correlations
from analysis.stats.estimates import Correlation, defined, spearman

METHOD = (
    "Spearman's rank correlations over items. A model's difficulty is PPL(altered) - PPL(original), people's the share of "
    "correct trials. Mean and standard deviation (over n) over the pairs of models, and over the models. Of the means: "
)


@dataclass(frozen=True)
class HumanAgreement(ModelName):
    """A model's difficulties against people's accuracy, item by item."""

    correlation: Correlation | MissingResult = flattened()

    @property
    def known(self) -> Correlation | None:
        """The correlation where it is defined: both sides vary."""
        return defined(present(self.correlation))


@dataclass(frozen=True)
class Reliability:
    """How far people agree with one another, and the mean correlation of models and people freed of that noise."""

    model_human_mean_corrected: float | None
    halves: NoiseCeiling = flattened()


@dataclass(frozen=True)
class RankAgreement:
    """`matrix`: Spearman's rho of each two models' difficulties, NaN where it is not defined.

    model_model: why no two models can be compared. sd, min and max are NaN without a pair, sd_ddof1 with one.
    """

    names: tuple[str, ...]
    display_names: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]
    n_items: int
    method: str
    resamples: int
    seed: int
    n_pairs: int
    model_model_mean: float | None
    model_model_sd: float
    model_model_sd_ddof1: float
    model_model_min: float
    model_model_max: float
    model_model_ci95: Interval | None
    models_human: tuple[HumanAgreement, ...]
    model_human_mean: float | None
    model_human_sd: float | None
    n_models_human: int
    model_human_ci95: Interval | None
    noise_ceiling: Reliability | MissingResult
    model_model: MissingResult | None = optional()


@dataclass(frozen=True)
class Agreement:
    """Of the models of the study's set."""

    agreement: RankAgreement | MissingResult


def build(data: SourceData) -> Built:
    """The results, and the table agreement_matrix (name, other, rho)."""
    members = data.need_models()
    names = data.models["name"].iloc[members].tolist()
    difficulty = data.difficulty[members]
    matrix = rank_correlations(difficulty)
    table = pd.DataFrame(matrix, index=names, columns=names).rename_axis(index="name")
    long = table.melt(ignore_index=False, var_name="other", value_name="rho").reset_index()
    return Built(
        Agreement(_agreement(data, members.tolist(), difficulty, matrix)),
        {"agreement_matrix": long},
    )


def _agreement(
    data: SourceData, members: list[int], difficulty: Floats, matrix: Floats
) -> RankAgreement:
    people = data.item_accuracy
    with_people = tuple(
        HumanAgreement(**data.model_name(model), correlation=try_estimate(spearman, row, people))
        for model, row in zip(members, difficulty, strict=True)
    )
    rhos = np.array([row.known.rho for row in with_people if row.known])
    mean = float(rhos.mean()) if len(rhos) else None
    found = try_estimate(pairs, matrix)
    among = present(found)
    resampled = mean_correlations(difficulty, people, seed=data.seed)
    return RankAgreement(
        names=tuple(row.name for row in with_people),
        display_names=tuple(row.display_name for row in with_people),
        matrix=tuple(tuple(row) for row in matrix.tolist()),
        n_items=int((~np.isnan(difficulty)).any(axis=0).sum()),
        method=METHOD + resampled.method,
        resamples=resampled.resamples,
        seed=data.seed,
        n_pairs=among.n_pairs if among else 0,
        model_model_mean=among.mean if among else None,
        model_model_sd=among.sd if among else np.nan,
        model_model_sd_ddof1=among.sd_ddof1 if among else np.nan,
        model_model_min=among.min if among else np.nan,
        model_model_max=among.max if among else np.nan,
        model_model_ci95=resampled.among,
        models_human=with_people,
        model_human_mean=mean,
        model_human_sd=float(rhos.std()) if len(rhos) else None,
        n_models_human=len(rhos),
        model_human_ci95=resampled.with_other,
        noise_ceiling=try_estimate(_reliability, data, mean),
        model_model=found if isinstance(found, MissingResult) else None,
    )


def _reliability(data: SourceData, mean: float | None) -> Reliability:
    """`mean`: the mean correlation of models and people."""
    trials = data.need_trials()
    right = np.bincount(trials["item"], weights=trials["is_correct"], minlength=data.n_items)
    halves = noise_ceiling(right, data.item_counts, seed=data.seed)
    freed = None if mean is None else corrected(mean, halves.spearman_brown)
    return Reliability(model_human_mean_corrected=freed, halves=halves)
