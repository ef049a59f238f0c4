"""How narrow the interval of people's accuracy gets with more participants, from the mixed model."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, renamed
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.report.chapters.mixed_model.results import fitted
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.mixed_model import MixedModel
from analysis.stats.power import (
    METHOD,
    Components,
    Design,
    Simulated,
    Target,
    components,
    simulate,
    target,
    width_of,
)

SIZES = (25, 50, 100, 200, 400, 800, 1600)
WIDTHS = (0.10, 0.08, 0.06, 0.05, 0.04)
LARGEST = 5000  # participants of the study, for a simulated study of its own size
NEAR = (
    0.9  # of a width: with a floor above it the number of people depends on the fit's last digits
)


@dataclass(frozen=True)
class Fitted:
    """Of the mixed model: intercept and standard deviations in log-odds."""

    intercept: float
    sd_participants: float
    sd_items: float
    sd_items_ci95: Interval | None
    n_participants: int


@dataclass(frozen=True)
class CurvePoint:
    """Simulated studies, without the share of intervals that hold the truth: too few of the large ones are simulated."""

    n_participants: int
    ci_width: float
    se: float
    mc_se: float
    n_simulations: int
    expected_ci_width: float
    expected_se: float


@dataclass(frozen=True)
class PowerAnalysis:
    """`curve` by number of participants (that of the study among them), `targets` by wanted width (a share).

    floor_width: of the interval with these items and any number of participants.
    """

    variances: Components
    curve: tuple[CurvePoint, ...]
    targets: tuple[Target, ...]
    floor_width: float
    trials_per_participant: float
    n_items: int
    seed: int
    method: str
    fitted: Fitted = renamed("from")

    def is_near_floor(self, width: float) -> bool:
        return self.floor_width > NEAR * width

    def is_out_of_reach(self, aim: Target) -> bool:
        """Or so near the floor that the number of participants means nothing."""
        return aim.n_participants is None or self.is_near_floor(aim.width)


@dataclass(frozen=True)
class Power:
    power: PowerAnalysis | MissingResult


def two_digits(n: float | None) -> float | None:
    """More digits of a number of participants the fitted parameters do not support.

    >>> two_digits(13887), two_digits(271), two_digits(66)
    (14000.0, 270.0, 66.0)
    """
    return None if n is None else float(f"{n:.2g}")


def build(data: SourceData) -> Built:
    """Raises NotEnough without a mixed model that converged."""
    model = fitted(data)
    if not model.converged:
        raise NotEnough(
            "The mixed model from which studies would be simulated did not converge.",
            "Let more participants finish the study.",
        )
    found = _analysis(data, model)
    return Built(Power(found), {"power_curve": pd.DataFrame(found.curve)})


def _analysis(data: SourceData, model: MixedModel) -> PowerAnalysis:
    each = np.bincount(data.trials["participant"])
    design = Design(model.n_items, each[each > 0])
    parameters = model.coefficients[0].estimate, model.participants.estimate, model.items.estimate
    variances = components(*parameters)
    own_size = {model.n_participants} if model.n_participants <= LARGEST else set()
    sizes = sorted({*SIZES, *own_size})
    return PowerAnalysis(
        variances=variances,
        curve=tuple(_point(simulate(*parameters, design, n, seed=data.seed)) for n in sizes),
        targets=tuple(target(*parameters, model.items.ci95, design, width) for width in WIDTHS),
        floor_width=width_of(variances.items / design.n_items),
        trials_per_participant=float(design.trials_each.mean()),
        n_items=model.n_items,
        seed=data.seed,
        method=METHOD,
        fitted=Fitted(*parameters, model.items.ci95, model.n_participants),
    )


def _point(found: Simulated) -> CurvePoint:
    return CurvePoint(
        found.n_participants,
        found.ci_width,
        found.se,
        found.mc_se,
        found.n_simulations,
        found.expected_ci_width,
        found.expected_se,
    )
