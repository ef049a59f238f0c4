"""What a chapter of the report is: its results, its page and its figures under one name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import pandas as pd
from django.utils.functional import Promise

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, from_json, to_json
from analysis.data.dataset import SourceData
from analysis.presentation import Table
from analysis.stats import NotEnough

R = TypeVar("R")
Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Built:
    """What a chapter computes: its results, and the tidy tables behind them, one observation per row."""

    results: Any
    tables: Tables = field(default_factory=dict)


def need_table(tables: Tables, name: str) -> pd.DataFrame:
    """A table with rows; raises NotEnough where there is none."""
    if name in tables and len(tables[name]):
        return tables[name]
    raise NotEnough("The numbers behind this figure are not there.", "Compute the report first.")


@dataclass(frozen=True)
class SourceResults:
    """The results of all chapters on the test cases of one source; is_simulated: of simulated participants."""

    source: str
    results: Mapping[type[Any], Any]
    is_simulated: bool = False

    def of(self, kind: type[R]) -> R:
        """A chapter's results, by their type: `source.of(Subfields)`."""
        found: R = self.results[kind]
        return found


@dataclass(frozen=True, slots=True)
class About:
    """What a chapter's page says beside its numbers."""

    study_slug: str
    is_simulated: bool


@dataclass(frozen=True)
class Page:
    """What a chapter shows: the context of its template, its tables, and how it was computed."""

    context: Mapping[str, Any]
    tables: Sequence[Table] = ()
    methods: Sequence[str] = ()


FigureBuilder = Callable[[SourceResults, Tables], Figure]


@dataclass(frozen=True)
class Chapter:
    """One topic of the report.

    id: its address on the page. title, question: what readers see in the contents and under the heading.
    results: a dataclass whose fields are the keys of report.json that the chapter fills; each can be a MissingResult.
    build: computes them; raises NotEnough where the data support none of them.
    page: from the results to what `template` and the tables show.
    figures: gives the functions that draw its figures, by name, in their order; imported when something is drawn.
    is_of_study: the same for every source of test cases, so that the page shows it once.
    """

    id: str
    title: str | Promise
    question: str | Promise
    results: type[Any]
    build: Callable[[SourceData], Built]
    page: Callable[[SourceResults, About], Page]
    figures: Callable[[], Mapping[str, FigureBuilder]]
    is_of_study: bool = False

    @property
    def template(self) -> str:
        """By the chapter's folder: that of chapters/graded/rates is graded/rates.html."""
        folder = self.build.__module__.partition(".chapters.")[2].rpartition(".")[0]
        return f"analysis/chapters/{folder.replace('.', '/')}.html"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(f.name for f in fields(self.results))

    def missing(self, why: MissingResult) -> Any:
        """The chapter's results where it has none."""
        return self.results(**dict.fromkeys(self.keys, why))

    def to_json(self, source: SourceResults) -> dict[str, Any]:
        values: dict[str, Any] = to_json(source.of(self.results))
        return values

    def from_json(self, values: Mapping[str, Any]) -> Any:
        own = {key: values[key] for key in self.keys if key in values}
        return from_json(self.results, own, self.id)

    def missing_in(self, source: SourceResults) -> list[MissingResult | None]:
        """For each key why it is missing; None where it is there."""
        found = [getattr(source.of(self.results), key) for key in self.keys]
        return [value if isinstance(value, MissingResult) else None for value in found]
