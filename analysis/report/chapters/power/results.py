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
    Expected,
    Target,
    components,
    expected,
    target,
    width_of,
)

SIZES = (25, 50, 100, 200, 400, 800, 1600)
WIDTHS = (0.10, 0.08, 0.06, 0.05, 0.04)
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
    targets = tuple(target(*parameters, model.items.ci95, design, width) for width in WIDTHS)
    # The curve passes through the targets that it reaches
    reached = {n for one in targets if (n := one.n_participants) and n <= max(SIZES)}
    sizes = sorted({*SIZES, *reached, model.n_participants})
    return PowerAnalysis(
        variances=variances,
        curve=tuple(expected(*parameters, model.items.ci95, design, n) for n in sizes),
        targets=targets,
        floor_width=width_of(variances.items / design.n_items),
        trials_per_participant=float(design.trials_each.mean()),
        n_items=model.n_items,
        method=METHOD,
        fitted=Fitted(*parameters, model.items.ci95, model.n_participants),
    )
