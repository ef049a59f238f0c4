"""The items on which people and the models of the set differ."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd

from analysis.codec import MissingResult
from analysis.data.dataset import SourceData
from analysis.report.chapter import Built
from analysis.stats.arrays import Interval
from analysis.stats.item_differences import item_differences

SHOWN = 10
LEVEL = 0.05


class Ahead(Enum):
    """Who is right more often."""

    MODELS = "models"
    HUMANS = "humans"


@dataclass(frozen=True)
class ItemDifference:
    """One item: shares that are right, their difference (models minus humans), Benjamini and Hochberg's q, Holm's p."""

    item: str
    subfield: str
    n_trials: int
    humans: float
    n_models: int
    models_mean: float
    difference: float
    p: float
    q: float
    holm_p: float
    ci95: Interval
    ahead: Ahead


@dataclass(frozen=True)
class ItemDifferences:
    """`items`: the ten most in favour of the models, then the ten most in favour of people."""

    n_items: int
    n_significant_fdr: int
    n_significant_holm: int
    n_models_better_fdr: int
    level: float
    n_models: int
    models_mean_accuracy: float
    humans_mean_accuracy: float
    items: tuple[ItemDifference, ...]
    method: str


@dataclass(frozen=True)
class Differences:
    item_differences: ItemDifferences | MissingResult


def build(data: SourceData) -> Built:
    """The table has all tested items."""
    trials, members = data.need_trials(), data.need_models()
    correct = data.model_correct[members]
    n, m = data.item_counts, np.isfinite(correct).sum(axis=0)
    right = np.bincount(
        trials["item"], weights=trials["is_correct"].astype(float), minlength=data.n_items
    )
    tested = np.flatnonzero((n > 0) & (m > 0))
    found = item_differences(
        right[tested], n[tested], np.nansum(correct, axis=0)[tested], m[tested]
    )
    table = pd.DataFrame(
        {
            "item": data.items["key"].to_numpy()[tested],
            "subfield": data.items["subfield"].to_numpy()[tested],
            "n_trials": n[tested].astype(int),
            "humans": found.humans,
            "n_models": m[tested],
            "models_mean": found.models,
            "difference": found.difference,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "p": found.p,
            "q": found.q,
            "holm_p": found.holm_p,
        }
    )
    results = ItemDifferences(
        n_items=len(table),
        n_significant_fdr=int((found.q < LEVEL).sum()),
        n_significant_holm=int((found.holm_p < LEVEL).sum()),
        n_models_better_fdr=int(((found.q < LEVEL) & (found.difference > 0)).sum()),
        level=LEVEL,
        n_models=len(members),
        models_mean_accuracy=float(found.models.mean()),
        humans_mean_accuracy=float(found.humans.mean()),
        items=(*_extremes(table, Ahead.MODELS), *_extremes(table, Ahead.HUMANS)),
        method=found.method,
    )
    return Built(Differences(results), {"item_differences": table})


def _extremes(table: pd.DataFrame, ahead: Ahead) -> Iterator[ItemDifference]:
    """The largest differences first; equal ones by p, then in item order."""
    size = table["difference"] if ahead is Ahead.MODELS else -table["difference"]
    rows = table.assign(size=size)[size > 0]
    rows = rows.sort_values(["size", "p"], ascending=[False, True], kind="stable").head(SHOWN)
    for row in rows.drop(columns="size").to_dict("records"):
        ci95 = row.pop("ci_low"), row.pop("ci_high")
        yield ItemDifference(**{str(k): v for k, v in row.items()}, ci95=ci95, ahead=ahead)
