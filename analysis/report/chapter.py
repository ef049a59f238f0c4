"""Chapters of the report: results, page and figures of each under one name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, TypeVar

import pandas as pd

from analysis.charts.figure import Figure
from analysis.codec import MissingResult, from_json, to_json
from analysis.data.dataset import SourceData
from analysis.data.filters import OF_STUDY
from analysis.presentation import Paragraph, Table
from analysis.stats import NotEnough

R = TypeVar("R")


class Part(Enum):
    """Subjects of chapters: pairs of abstracts (of one source), models that chose in these, advice on them, questions, or
    who took part."""

    PAIRS = "pairs"
    CHOICES = "choices"
    ADVICE = "advice"
    QUESTIONS = "questions"
    PEOPLE = "people"


Tables = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Built:
    """Output of a chapter: its results, and the tidy tables behind them, one observation per row."""

    results: Any
    tables: Tables = field(default_factory=dict)


def need_table(tables: Tables, name: str) -> pd.DataFrame:
    """A table with rows; raises NotEnough where there is none."""
    if name in tables and len(tables[name]):
        return tables[name]
    raise NotEnough("The numbers of this figure are missing.", "Compute the report first.")


@dataclass(frozen=True)
class SourceResults:
    """The results of the chapters on the pairs of one source, or of those that are of the whole study (source OF_STUDY).

    is_simulated: of simulated participants.
    """

    source: str
    results: Mapping[type[Any], Any]
    is_simulated: bool = False

    def of(self, kind: type[R]) -> R:
        """A chapter's results, by their type: `source.of(Subfields)`."""
        found: R = self.results[kind]
        return found


def of_source(source: str) -> str:
    """A word behind the name of a step of the work on one source, which tells it from that on another."""
    return "" if source == OF_STUDY else f" ({source}-created)"


@dataclass(frozen=True, slots=True)
class About:
    """Facts that a chapter's page states beside its numbers."""

    study_slug: str
    is_simulated: bool


@dataclass(frozen=True)
class Page:
    """Content of a chapter's page: its text, its tables, and how it was computed.

    finding: the chapter in a line, where it is folded; it stands in the text too.
    """

    tables: Sequence[Table] = ()
    methods: Sequence[str] = ()
    text: Sequence[Paragraph] = ()
    finding: str = ""


FigureBuilder = Callable[[SourceResults, Tables], Figure]


@dataclass(frozen=True)
class Chapter:
    """One topic of the report.

    name: as documentation has it.
    title, question: what readers see in the contents and under the heading.
    results: a dataclass whose fields are the keys of report.json that the chapter fills; each can be a MissingResult.
    build: computes the results; raises NotEnough where the data support none of them.
    page: from the results to sentences and tables.
    figures: in their order; the name of each, in files as well, is that of its function.
    part: of the study; a study without it has no such chapter.
    address: on the page, where it is not the name.
    """

    name: str
    title: str
    question: str
    results: type[Any]
    build: Callable[[SourceData], Built]
    page: Callable[[SourceResults, About], Page]
    figures: Sequence[FigureBuilder] = ()
    part: Part = Part.PAIRS
    address: str = ""

    @property
    def id(self) -> str:
        return self.address or self.name.replace("_", "-")

    @property
    def is_of_study(self) -> bool:
        """True if it is the same whoever altered the pairs, so that there is one of it."""
        return self.part not in (Part.PAIRS, Part.CHOICES, Part.ADVICE)

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


@dataclass(frozen=True)
class Group:
    """Chapters under one heading."""

    title: str
    chapters: tuple[Chapter, ...]
