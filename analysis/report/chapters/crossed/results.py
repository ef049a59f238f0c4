"""How sure accuracies are when both the participants and the items could have been others."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.codec import MissingResult, flattened
from analysis.data.dataset import NO_TRIALS, Floats, ModelName, SourceData
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Interval
from analysis.stats.crossed_bootstrap import (
    METHOD,
    Resampled,
    crossed_bootstrap,
    spread,
    two_sided_p,
    with_error,
)
from analysis.stats.two_way_clustered import Deviations, TwoWay, over_items
from lib.formatting import known

COLUMNS = (
    "who", "display_name", "accuracy", "se", "ci_low", "ci_high", "difference", "difference_low", "difference_high",
    "two_way_se", "two_way_low", "two_way_high", "difference_two_way_low", "difference_two_way_high",
)  # fmt: skip


@dataclass(frozen=True)
class Errors:
    """Standard error, and 95% intervals of the crossed bootstrap (brought to that error) and two-way clustered.

    All None below three participants or items.
    """

    se: float | None = None
    ci95: Interval | None = None
    two_way_se: float | None = None
    two_way_ci95: Interval | None = None

    @property
    def best_ci95(self) -> Interval | None:
        """The two-way interval, which covers more evenly where items are few (docs/report.md)."""
        return self.two_way_ci95 or self.ci95


NO_ERRORS = Errors()


@dataclass(frozen=True)
class HumanAccuracy:
    n_trials: int
    n_participants: int
    n_items: int
    accuracy: float
    errors: Errors = flattened()


@dataclass(frozen=True)
class ModelAccuracy(ModelName):
    """`difference`: minus the humans' accuracy, of the same draws of items; None without humans."""

    n_items: int
    accuracy: float
    difference: float | None
    errors: Errors = flattened()
    difference_errors: Errors = flattened(
        se="difference_se",
        ci95="difference_ci95",
        two_way_se="difference_two_way_se",
        two_way_ci95="difference_two_way_ci95",
    )


@dataclass(frozen=True)
class ModelsMean:
    """`n`: models."""

    n: int
    mean: float
    errors: Errors = flattened()


@dataclass(frozen=True)
class Difference:
    """The models' mean minus the humans' accuracy; `n`: models, the p values two-sided."""

    n: int
    mean: float
    p: float | None
    two_way_p: float | None
    errors: Errors = flattened()


@dataclass(frozen=True)
class Components:
    """Standard errors of the humans' accuracy by what is drawn anew. binomial_se: nothing but single answers."""

    participants_only_se: float | None
    items_only_se: float | None
    crossed_se: float | None
    two_way_se: float | None
    binomial_se: float


@dataclass(frozen=True)
class Row:
    """The humans, the mean of the models or a model, beside the others."""

    accuracy: float
    errors: Errors
    difference: float | None = None
    difference_errors: Errors = NO_ERRORS


@dataclass(frozen=True)
class CrossedErrors:
    resamples: int
    seed: int
    humans: HumanAccuracy | None
    models: tuple[ModelAccuracy, ...]
    models_mean: ModelsMean | None
    difference: Difference | None
    components: Components | None
    method: str

    @property
    def human_row(self) -> Row | None:
        return Row(self.humans.accuracy, self.humans.errors) if self.humans else None

    @property
    def mean_row(self) -> Row | None:
        """The mean of the models, with its difference from the humans."""
        mean, gap = self.models_mean, self.difference
        if mean is None:
            return None
        return Row(mean.mean, mean.errors, *((gap.mean, gap.errors) if gap else ()))

    @property
    def model_rows(self) -> list[tuple[ModelAccuracy, Row]]:
        return [
            (m, Row(m.accuracy, m.errors, m.difference, m.difference_errors)) for m in self.models
        ]


@dataclass(frozen=True)
class Crossed:
    crossed: CrossedErrors | MissingResult


def build(data: SourceData) -> Built:
    """Humans, the models of the set, their mean, and models minus humans."""
    members = data.set_models
    if data.trials.empty and not len(members):
        raise NotEnough(*NO_TRIALS)
    correct = data.model_correct[members]
    used = np.flatnonzero((data.item_counts > 0) | np.isfinite(correct).any(axis=0))
    correct = correct[:, used]
    who = data.trials["participant"].to_numpy()
    item = np.searchsorted(used, data.trials["item"].to_numpy())
    right = data.trials["is_correct"].to_numpy(dtype=float)
    drawn = crossed_bootstrap(who, item, right, correct, resamples=data.resamples, seed=data.seed)
    deviations = None if data.trials.empty else Deviations.of(who, item, right)
    both = deviations.accuracy_error() if deviations else None
    humans = _humans(data, drawn, both) if both else None
    mean = _mean(correct, drawn) if len(members) else None
    found = CrossedErrors(
        resamples=data.resamples,
        seed=data.seed,
        humans=humans,
        models=_models(data, members, correct, drawn, humans, deviations),
        models_mean=mean,
        difference=_difference(mean, humans, drawn, deviations.difference_error(_share(correct)))
        if mean and humans and deviations
        else None,
        components=_components(drawn, both, right) if both else None,
        method=METHOD.format(resamples=data.resamples, seed=data.seed),
    )
    return Built(Crossed(found), {"crossed": _table(found)})


def _share_errors(resampled: Floats, two_way: TwoWay) -> Errors:
    """Of an accuracy."""
    if not two_way.is_known:
        return NO_ERRORS
    ci95 = spread(with_error(resampled, two_way, (0.0, 1.0))).ci95
    return Errors(two_way.se, ci95, two_way.se, two_way.share_ci95)


def _gap_errors(resampled: Floats, two_way: TwoWay | None) -> Errors:
    """Of a difference of accuracies."""
    if two_way is None or not two_way.is_known:
        return NO_ERRORS
    low, high = two_way.ci95
    ci95 = spread(with_error(resampled, two_way)).ci95
    return Errors(two_way.se, ci95, two_way.se, (max(-1.0, low), min(1.0, high)))


def _humans(data: SourceData, drawn: Resampled, both: TwoWay) -> HumanAccuracy:
    return HumanAccuracy(
        n_trials=len(data.trials),
        n_participants=data.trials["participant"].nunique(),
        n_items=data.trials["item"].nunique(),
        accuracy=float(data.trials["is_correct"].mean()),
        errors=_share_errors(drawn.humans, both),
    )


def _models(
    data: SourceData,
    members: npt.NDArray[np.int64],
    correct: Floats,
    drawn: Resampled,
    humans: HumanAccuracy | None,
    deviations: Deviations | None,
) -> tuple[ModelAccuracy, ...]:
    rows = []
    for k, model in enumerate(members):
        accuracy, n = float(np.nanmean(correct[k])), int(np.isfinite(correct[k]).sum())
        gap = drawn.models[:, k] - drawn.humans
        paired = deviations.difference_error(correct[k]) if deviations and n else None
        rows.append(
            ModelAccuracy(
                **data.model_name(int(model)),
                n_items=n,
                accuracy=accuracy,
                errors=_share_errors(drawn.models[:, k], over_items(correct[k])),
                difference=accuracy - humans.accuracy if humans else None,
                difference_errors=_gap_errors(gap, paired),
            )
        )
    return tuple(rows)


def _share(correct: Floats) -> Floats:
    """(items,) share of the models that are right; NaN where none was scored."""
    n = np.isfinite(correct).sum(axis=0)
    return np.where(n > 0, np.nansum(correct, axis=0) / np.maximum(n, 1), np.nan)


def _mean(correct: Floats, drawn: Resampled) -> ModelsMean:
    return ModelsMean(
        n=len(correct),
        mean=float(np.nanmean(correct, axis=1).mean()),
        errors=_share_errors(drawn.models.mean(axis=1), over_items(_share(correct))),
    )


def _components(drawn: Resampled, both: TwoWay, right: Floats) -> Components:
    p = right.mean()
    return Components(
        participants_only_se=spread(drawn.people_only).se,
        items_only_se=spread(drawn.items_only).se,
        crossed_se=spread(drawn.humans).se,
        two_way_se=known(both.se),
        binomial_se=float(np.sqrt(p * (1 - p) / len(right))),
    )


def _difference(
    mean: ModelsMean, humans: HumanAccuracy, drawn: Resampled, paired: TwoWay
) -> Difference:
    gap = drawn.models.mean(axis=1) - drawn.humans
    return Difference(
        n=mean.n,
        mean=mean.mean - humans.accuracy,
        p=two_sided_p(with_error(gap, paired, bounds=(-np.inf, np.inf))),
        two_way_p=known(paired.p),
        errors=_gap_errors(gap, paired),
    )


def _table(found: CrossedErrors) -> pd.DataFrame:
    rows = [
        _entry("humans", None, found.human_row),
        _entry("models_mean", None, found.mean_row),
        *(_entry(model.name, model.display_name, row) for model, row in found.model_rows),
    ]
    return pd.DataFrame([row for row in rows if row], columns=list(COLUMNS))


def _entry(who: str, display_name: str | None, row: Row | None) -> tuple[object, ...]:
    if row is None:
        return ()
    unknown = (None, None)
    return (
        who,
        display_name,
        row.accuracy,
        row.errors.se,
        *(row.errors.ci95 or unknown),
        row.difference,
        *(row.difference_errors.ci95 or unknown),
        row.errors.two_way_se,
        *(row.errors.two_way_ci95 or unknown),
        *(row.difference_errors.two_way_ci95 or unknown),
    )
