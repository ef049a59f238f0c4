"""Models against one another, metrics of texts beside grades, and what leaving out unsure answers, or asking people, would bring."""

from dataclasses import dataclass

import pandas as pd

from analysis.codec import MissingResult, try_estimate
from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from analysis.report.chapter import Built
from analysis.report.chapters.graded.comparisons.deferral import (
    Deferrals,
    defer,
    deferral_table,
)
from analysis.report.chapters.graded.comparisons.metrics import TextMetrics, measure
from analysis.report.chapters.graded.comparisons.pairs import (
    Compared,
    compare_models,
    pair_table,
)
from analysis.report.chapters.graded.comparisons.selective import Kept, select, selective_table


@dataclass(frozen=True)
class GradedComparisons:
    graded_comparisons: Compared | MissingResult
    graded_selective: Kept | MissingResult
    graded_deferral: Deferrals | MissingResult
    graded_texts: TextMetrics | MissingResult


def build(data: SourceData) -> Built:
    """What is compared, and its tables. Raises NotEnough without graded answers."""
    return data.need_graded().cached(_built)


def _built(data: GradedData) -> Built:
    data.need_graded()
    compared, kept = try_estimate(compare_models, data), try_estimate(select, data)
    deferred, measured = try_estimate(defer, data), try_estimate(measure, data)
    tables: dict[str, pd.DataFrame] = {}
    if isinstance(compared, Compared):
        tables["graded_comparisons"] = pair_table(compared)
    if isinstance(kept, Kept):
        tables["graded_selective"] = selective_table(kept)
    if isinstance(deferred, Deferrals):
        tables["graded_deferral"] = deferral_table(deferred)
    if isinstance(measured, MissingResult):
        return Built(GradedComparisons(compared, kept, deferred, measured), tables)
    texts, tables["graded_texts"] = measured
    return Built(GradedComparisons(compared, kept, deferred, texts), tables)
