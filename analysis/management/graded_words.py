"""Output of `graded_metrics --words`: overlap of answers with the experts', and how it goes with the points."""

from collections.abc import Hashable, Iterator
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np

from analysis.codec import present, try_estimate
from analysis.stats.graded.bert_score import Vectors
from analysis.stats.graded.grade_correlation import grade_correlation
from analysis.stats.graded.ratios import clusters_of
from analysis.stats.graded.scale import said
from analysis.stats.graded.text_metrics import COLUMNS, overlap
from lib.commands import table_lines
from lib.formatting import coefficient, coefficient_interval, known
from scoring.domain.grading.rubric import Rubric


@dataclass
class Words:
    """Numbers of a model's answers that have points, words, and do not abstain: the same as in a report."""

    rubric: Rubric
    vectors: Vectors | None = None
    cluster: list[Hashable] = field(default_factory=list)
    points: list[float] = field(default_factory=list)
    metrics: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = (*COLUMNS, *(["bert_score"] if self.vectors else []))
        self.metrics = {name: [] for name in names}

    def add(self, cluster: Hashable, points: float | None, answer: str, expert: str) -> None:
        """points: None where the judge's text is no grade."""
        worth = float(said(np.nan if points is None else points, self.rubric))
        if np.isnan(worth) or not answer.split():
            return
        self.cluster.append(cluster)
        self.points.append(worth)
        values = [*astuple(overlap(answer, expert))]
        if self.vectors is not None:
            values.append(self.vectors.score(answer, expert))
        for own, value in zip(self.metrics.values(), values, strict=True):
            own.append(value)

    def values(self) -> dict[str, Any]:
        """Mean of each metric, and its correlations with the points; null where there are none."""
        found: dict[str, Any] = {}
        for name, metric in self.metrics.items():
            clusters = clusters_of(self.cluster)
            own = present(try_estimate(grade_correlation, metric, self.points, clusters))
            found[name] = {
                "mean": float(np.mean(metric)) if metric else None,
                "n": len(metric),
                "rho": known(own.rho) if own else None,
                "rho_ci95": own.rho_ci95 if own else None,
                "tau": known(own.tau) if own else None,
                "tau_ci95": own.tau_ci95 if own else None,
            }
        return found


def lines(models: dict[str, dict[str, Any]]) -> Iterator[str]:
    """A row for each model and metric."""
    yield from table_lines(
        [
            {
                "model": name,
                "metric": metric,
                "mean": coefficient(one["mean"]),
                "rho": coefficient(one["rho"]),
                "95%": coefficient_interval(one["rho_ci95"]),
                "tau": coefficient(one["tau"]),
            }
            for name, found in models.items()
            for metric, one in found.items()
        ],
        left=("model", "metric", "95%"),
    )
