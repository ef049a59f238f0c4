"""A stored report as page and files read it: whole, or one source's part of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.report.report import Report
from analysis.store import StoredFigure, StoredResult


@dataclass(frozen=True)
class StoredReport:
    """`source`: "all", or the one whose part is meant."""

    result: StoredResult
    source: str = "all"

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """report.json."""
        values = dict(self.result.values)
        if self.source in values["sources"]:
            values["sources"] = {self.source: values["sources"][self.source]}
            values["options"] = values["options"] | {"source": self.source}
        return values

    @cached_property
    def report(self) -> Report:
        return Report.from_json(self.values)

    @property
    def figures(self) -> list[StoredFigure]:
        return [f for f in self.result.figures if f.source in self.values["sources"]]

    def has_table(self, source: str, name: str) -> bool:
        return f"{source}_{name}" in self.result.tables
