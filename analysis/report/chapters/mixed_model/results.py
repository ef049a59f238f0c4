"""People's accuracy with participants and items as random effects, and how confidence separates right from wrong."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, present, try_estimate
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.mixed_model.model import (
    MOST_FOR_PROFILES,
    Coefficient,
    Deviation,
    Integral,
    MixedModel,
    Without,
    fit,
    share_of_first,
)
from analysis.stats.power import (
    METHOD,
    Components,
    Design,
    Expected,
    Target,
    components,
    expected,
    floor_width,
    target,
)
from analysis.stats.verdicts import Concludes, Verdict

COLUMNS = ("parameter", "estimate", "se", "ci_low", "ci_high")
LRT = (
    "Likelihood ratio test against a standard deviation of 0: twice the log-likelihood ratio, with p half the tail "
    "of chi-square with 1 degree of freedom."
)
SHARE = (
    "Variance of test cases over the sum of both variances. 95% interval from those of the two standard deviations, taken as "
    "uncorrelated (MOVER; Donner and Zou 2012). One varies more than the other if it excludes 1/2."
)
CONFIDENCE = (
    "The same model with confidence as covariate, standardised over trials (mean 0, SD 1 with n-1): log-odds per "
    "standard deviation."
)


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
class ItemShare:
    """The test cases' part of the variances of test cases and participants together, in log-odds; both vary alike at 1/2."""

    value: float | None
    ci95: Interval | None
    verdict: Annotated[Verdict, Concludes("whether test cases vary more than participants")]
    method: str = SHARE


@dataclass(frozen=True)
class ConfidenceEffect:
    """Effect of confidence in standard deviations; `mean` and `sd` are those of the ratings, the coefficient is in log-odds."""

    n_trials: int
    mean: float
    sd: float
    odds_ratio: float
    odds_ratio_ci95: Interval
    converged: bool
    method: str
    slope: Coefficient


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
    items_share: ItemShare
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


def build_mixed_model(data: SourceData) -> Built:
    """Raises NotEnough where the model cannot be fitted."""
    model = fitted(data)
    intercept = model.coefficients[0]
    # Unclear without an interval, as where neither varies, or the fit did not converge
    share, ci95 = share_of_first(model.items, model.participants)
    known = ci95 if model.converged and ci95 else (0.0, 1.0)
    verdict = Verdict.of_interval(known, 0.5, min(model.n_participants, model.n_items))
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
        items_share=ItemShare(share, ci95, verdict),
        log_likelihood=model.log_likelihood,
        converged=model.converged,
        integral=model.integral,
        lrt=RatioTests(_ratio(model.participants), _ratio(model.items)),
        confidence=try_estimate(_confidence, data, model),
        method=model.method,
    )
    # A standard deviation has no standard error, and may have no interval
    unknown = (None, None)
    rows: list[tuple[object, ...]] = [
        ("intercept", found.intercept, found.intercept_se, *found.intercept_ci95),
        ("sd_participants", found.sd_participants, None, *(found.sd_participants_ci95 or unknown)),
        ("sd_items", found.sd_items, None, *(found.sd_items_ci95 or unknown)),
        ("items_share", share, None, *(ci95 or unknown)),
        ("accuracy_typical", found.accuracy_typical, None, *found.accuracy_typical_ci95),
        ("accuracy_marginal", found.accuracy_marginal, None, *found.accuracy_marginal_ci95),
    ]
    if confidence := present(found.confidence):
        slope = confidence.slope
        rows.append(("confidence_slope", slope.estimate, slope.se, *slope.ci95))
    return Built(Mixed(found), {"mixed_model": pd.DataFrame(rows, columns=list(COLUMNS))})


def _ratio(deviation: Deviation) -> RatioTest:
    return RatioTest(deviation.statistic, deviation.p, deviation.without)


def _confidence(data: SourceData, model: MixedModel) -> ConfidenceEffect:
    trials = data.trials[data.trials["confidence"].notna()]
    confidence = trials["confidence"].to_numpy(dtype=float)
    sd = float(confidence.std(ddof=1)) if len(confidence) > 1 else 0.0
    if not sd:
        raise NotEnough(
            "Confidence is missing, or the same in all trials.",
            "Let participants rate their confidence.",
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


# --- How narrow the interval of people's accuracy gets with more participants, from the mixed model.

SIZES = (25, 50, 100, 200, 400, 800, 1600)
WIDTHS = (0.10, 0.08, 0.06, 0.05, 0.04)
NEAR = (
    0.9  # of a width: with a floor above it the number of people depends on the fit's last digits
)


@dataclass(frozen=True)
class Fitted:
    """Fit of the mixed model: intercept and standard deviations in log-odds."""

    intercept: float
    sd_participants: float
    sd_items: float
    sd_items_ci95: Interval | None
    n_participants: int


@dataclass(frozen=True)
class PowerAnalysis:
    """`curve` by number of participants (those of the study and of targets among them), `targets` by wanted width (a share).

    floor_width: of the interval with these items and any number of participants.
    """

    variances: Components
    curve: tuple[Expected, ...]
    targets: tuple[Target, ...]
    floor_width: float
    trials_per_participant: float
    n_items: int
    method: str
    fitted: Fitted

    def is_near_floor(self, width: float) -> bool:
        return self.floor_width > NEAR * width

    def is_out_of_reach(self, aim: Target) -> bool:
        """Or so near the floor that the number of participants means nothing."""
        return aim.n_participants is None or self.is_near_floor(aim.width)


@dataclass(frozen=True)
class Power:
    power: PowerAnalysis | MissingResult


def two_digits(n: int | None) -> int | None:
    """A number needed, rounded up so that it is enough; more digits the fitted parameters do not support.

    >>> two_digits(13887), two_digits(271), two_digits(66)
    (14000, 280, 66)
    """
    if n is None:
        return None
    unit: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // unit) * unit


def build_power(data: SourceData) -> Built:
    """Raises NotEnough without a mixed model that converged."""
    model = fitted(data)
    if not model.converged:
        raise NotEnough(
            "The mixed model needed for this computation did not converge.",
            "Let more participants finish the study.",
        )
    each = np.bincount(data.trials["participant"])
    design = Design(model.n_items, each[each > 0])
    parameters = model.coefficients[0].estimate, model.participants.estimate, model.items.estimate
    variances = components(*parameters)
    targets = tuple(target(*parameters, model.items.ci95, design, width) for width in WIDTHS)
    # The curve passes through the targets that it reaches
    reached = {n for one in targets if (n := one.n_participants) and n <= max(SIZES)}
    sizes = sorted({*SIZES, *reached, model.n_participants})
    found = PowerAnalysis(
        variances=variances,
        curve=tuple(expected(*parameters, model.items.ci95, design, n) for n in sizes),
        targets=targets,
        floor_width=floor_width(variances, design.n_items),
        trials_per_participant=float(design.trials_each.mean()),
        n_items=model.n_items,
        method=METHOD,
        fitted=Fitted(*parameters, model.items.ci95, model.n_participants),
    )
    return Built(Power(found), {"power_curve": pd.DataFrame(found.curve)})
