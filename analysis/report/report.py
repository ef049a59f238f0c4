"""The report: the typed results of all chapters, report.json, its form on disk, and one that is stored."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache, cached_property
from typing import Any

from analysis import codec
from analysis.codec import from_json, to_json
from analysis.data.about import Participants, StudyName
from analysis.data.filters import OF_STUDY, ReportOptions
from analysis.report.chapter import About, Chapter, Part, SourceResults, Tables
from analysis.report.contents import CHAPTERS, chapters_about
from analysis.report.headline import Headline, headline
from analysis.store import StoredFigure, StoredResult

SCHEMA = "brainbench-live/report"


@dataclass(frozen=True)
class Published:
    is_brainbench: bool


@dataclass(frozen=True)
class Header:
    """Facts that report.json states before its numbers."""

    schema: str
    schema_version: int
    study: StudyName
    made_at: str
    data_version: str
    options: ReportOptions
    participants: Participants
    software: Mapping[str, str]
    published: Published


@dataclass(frozen=True)
class Report:
    """`of_study`: the results of the whole study, on questions and on who took part; `sources`: those on the pairs of each
    source that the study has; `tables`: source or OF_STUDY -> name -> tidy table, while it is made."""

    header: Header
    of_study: SourceResults
    sources: Mapping[str, SourceResults]
    tables: Mapping[str, Tables] = field(default_factory=dict)

    @property
    def about(self) -> About:
        return About(self.header.study.slug, self.header.participants.is_simulated)

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = to_json(self.header)
        return values | {
            "of_study": _chapters_to_json(self.of_study),
            "sources": {name: source_to_json(s) for name, s in self.sources.items()},
        }

    def text(self) -> str:
        """report.json."""
        return json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Report":
        """Raises CodecError where the values are not those of this version."""
        header = from_json(Header, values, "report")

        def results(name: str, own: Mapping[str, Any]) -> SourceResults:
            there = [chapter for chapter in CHAPTERS if not own.keys().isdisjoint(chapter.keys)]
            found = {chapter.results: chapter.from_json(own) for chapter in there}
            return SourceResults(name, found, header.participants.is_simulated)

        sources = {name: results(name, own) for name, own in values["sources"].items()}
        return cls(header, results(OF_STUDY, values["of_study"]), sources)


@cache
def json_schema() -> dict[str, Any]:
    """JSON Schema of report.json."""

    def keys(*parts: Part) -> list[tuple[str, Any]]:
        return [
            (f.name, f.type) for chapter in chapters_about(*parts) for f in fields(chapter.results)
        ]

    def if_there(part: Part) -> list[tuple[str, Any, Any]]:
        """Keys that are only there where the study has this part."""
        return [(name, kind, field(default_factory=dict)) for name, kind in keys(part)]

    pairs: list[Any] = [
        ("headline", Headline),
        *keys(Part.PAIRS),
        *if_there(Part.CHOICES),
        *if_there(Part.ADVICE),
    ]
    source: Any = make_dataclass("Source", pairs, frozen=True)
    people: list[Any] = [*keys(Part.PEOPLE), *if_there(Part.QUESTIONS)]
    whole: Any = make_dataclass("OfStudy", people, frozen=True)
    report = make_dataclass(
        "Report",
        [("of_study", whole), ("sources", dict[str, source])],
        bases=(Header,),
        frozen=True,
    )
    return codec.json_schema(report)


def source_to_json(source: SourceResults) -> dict[str, Any]:
    """One source's part of report.json: the answer first, which is read from the chapters and not stored again."""
    return {"headline": to_json(headline(source)), **_chapters_to_json(source)}


def _chapters_to_json(source: SourceResults) -> dict[str, Any]:
    there: list[Chapter] = [c for c in CHAPTERS if c.results in source.results]
    return {key: value for chapter in there for key, value in chapter.to_json(source).items()}


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
        return [f for f in self.result.figures if f.source in (OF_STUDY, *self.values["sources"])]

    def has_table(self, source: str, name: str) -> bool:
        return f"{source}_{name}" in self.result.tables
