"""People's accuracy with participants and items as random effects, and how confidence separates right from wrong."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, flattened, present, try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.mixed_model import (
    MOST_FOR_PROFILES,
    Coefficient,
    Deviation,
    Integral,
    MixedModel,
    Without,
    fit,
)

COLUMNS = ("parameter", "estimate", "se", "ci_low", "ci_high")
LRT = "Twice the log-likelihood ratio against a standard deviation of 0; p is half the tail of chi-square with 1 degree of freedom."
CONFIDENCE = "The same model with confidence as covariate, standardised over trials (mean 0, sd 1, ddof 1): log-odds per standard deviation."


@dataclass(frozen=True)
class RatioTest:
    """`statistic`: twice the log-likelihood ratio against the model `without` the effect."""

    statistic: float
    p: float
    without: Without | None


@dataclass(frozen=True)
class RatioTests:
    participants: RatioTest
    items: RatioTest
    method: str = LRT


@dataclass(frozen=True)
class ConfidenceEffect:
    """Of confidence in standard deviations; `mean` and `sd` are those of the ratings, the coefficient is in log-odds."""

    n_trials: int
    mean: float
    sd: float
    odds_ratio: float
    odds_ratio_ci95: Interval
    converged: bool
    method: str
    slope: Coefficient = flattened(estimate="slope", se="slope_se", ci95="slope_ci95")


@dataclass(frozen=True)
class RandomEffects:
    """Intercept and standard deviations in log-odds, accuracies from 0 to 1, the log-likelihood in nats.

    accuracy_typical: of a person and an item in the middle; accuracy_marginal: over all persons and items.
    """

    n_trials: int
    n_participants: int
    n_items: int
    intercept: float
    intercept_se: float
    intercept_ci95: Interval
    accuracy_typical: float
    accuracy_typical_ci95: Interval
    accuracy_marginal: float
    accuracy_marginal_ci95: Interval
    sd_participants: float
    sd_participants_ci95: Interval | None
    sd_items: float
    sd_items_ci95: Interval | None
    log_likelihood: float
    converged: bool
    integral: Integral
    lrt: RatioTests
    confidence: ConfidenceEffect | MissingResult
    method: str


@dataclass(frozen=True)
class Mixed:
    mixed_model: RandomEffects | MissingResult


def fitted(data: SourceData) -> MixedModel:
    """The model without covariates; fitted once for these data, as the power analysis needs it too."""
    return data.cached(_fit)


def _fit(data: SourceData) -> MixedModel:
    trials = data.need_trials()
    return fit(trials["is_correct"], trials["participant"], trials["item"])


def build(data: SourceData) -> Built:
    """Raises NotEnough where the model cannot be fitted."""
    model = fitted(data)
    intercept = model.coefficients[0]
    found = RandomEffects(
        n_trials=model.n_trials,
        n_participants=model.n_participants,
        n_items=model.n_items,
        intercept=intercept.estimate,
        intercept_se=intercept.se,
        intercept_ci95=intercept.ci95,
        accuracy_typical=model.accuracy_typical,
        accuracy_typical_ci95=model.accuracy_typical_ci95,
        accuracy_marginal=model.accuracy_marginal,
        accuracy_marginal_ci95=model.accuracy_marginal_ci95,
        sd_participants=model.participants.estimate,
        sd_participants_ci95=model.participants.ci95,
        sd_items=model.items.estimate,
        sd_items_ci95=model.items.ci95,
        log_likelihood=model.log_likelihood,
        converged=model.converged,
        integral=model.integral,
        lrt=RatioTests(_ratio(model.participants), _ratio(model.items)),
        confidence=try_estimate(_confidence, data, model),
        method=model.method,
    )
    return Built(Mixed(found), {"mixed_model": _table(found)})


def _ratio(deviation: Deviation) -> RatioTest:
    return RatioTest(deviation.statistic, deviation.p, deviation.without)


def _confidence(data: SourceData, model: MixedModel) -> ConfidenceEffect:
    trials = data.trials[data.trials["confidence"].notna()]
    confidence = trials["confidence"].to_numpy(dtype=float)
    sd = float(confidence.std(ddof=1)) if len(confidence) > 1 else 0.0
    if not sd:
        raise NotEnough(
            "Confidence is missing, or the same in all trials.", "Let participants rate it."
        )
    mean = float(confidence.mean())
    sds = model.participants.estimate, model.items.estimate
    second = fit(
        trials["is_correct"],
        trials["participant"],
        trials["item"],
        (confidence - mean) / sd,
        sds=sds if len(trials) > MOST_FOR_PROFILES else None,
        profiles=False,
    )
    slope = second.coefficients[1]
    low, high = np.exp(slope.ci95)
    return ConfidenceEffect(
        n_trials=second.n_trials,
        mean=mean,
        sd=sd,
        odds_ratio=float(np.exp(slope.estimate)),
        odds_ratio_ci95=(float(low), float(high)),
        converged=second.converged,
        method=CONFIDENCE,
        slope=slope,
    )


def _table(found: RandomEffects) -> pd.DataFrame:
    typical, marginal = found.accuracy_typical_ci95, found.accuracy_marginal_ci95
    unknown = (None, None)
    rows: list[tuple[object, ...]] = [
        ("intercept", found.intercept, found.intercept_se, *found.intercept_ci95),
        ("sd_participants", found.sd_participants, None, *(found.sd_participants_ci95 or unknown)),
        ("sd_items", found.sd_items, None, *(found.sd_items_ci95 or unknown)),
        ("accuracy_typical", found.accuracy_typical, None, *typical),
        ("accuracy_marginal", found.accuracy_marginal, None, *marginal),
    ]
    if confidence := present(found.confidence):
        slope = confidence.slope
        rows.append(("confidence_slope", slope.estimate, slope.se, *slope.ci95))
    return pd.DataFrame(rows, columns=list(COLUMNS))
