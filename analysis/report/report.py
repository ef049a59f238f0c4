"""The report: the typed results of all chapters, report.json, its form on disk, and one that is stored."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cached_property
from typing import Any

from analysis import codec
from analysis.codec import from_json, to_json
from analysis.data.about import Participants, StudyName
from analysis.data.filters import ReportOptions
from analysis.report.chapter import About, SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.report.headline import Headline, headline
from analysis.store import StoredFigure, StoredResult

SCHEMA = "brainbench-live/report"


@dataclass(frozen=True)
class Published:
    is_brainbench: bool


@dataclass(frozen=True)
class Header:
    """What report.json says of itself before its numbers."""

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
    """`sources`: the results on the test cases of each source; `tables`: source -> name -> tidy table, while it is made."""

    header: Header
    sources: Mapping[str, SourceResults]
    tables: Mapping[str, Tables] = field(default_factory=dict)

    @property
    def about(self) -> About:
        return About(self.header.study.slug, self.header.participants.is_simulated)

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = to_json(self.header)
        return values | {"sources": {name: source_to_json(s) for name, s in self.sources.items()}}

    def text(self) -> str:
        """report.json."""
        return json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Report":
        """Raises CodecError where the values are not those of this version."""
        header = from_json(Header, values, "report")
        sources = {
            name: SourceResults(
                name,
                {c.results: c.from_json(own) for c in CHAPTERS},
                is_simulated=header.participants.is_simulated,
            )
            for name, own in values["sources"].items()
        }
        return cls(header, sources)


def json_schema() -> dict[str, Any]:
    """JSON Schema of report.json."""
    keys = [(f.name, f.type) for chapter in CHAPTERS for f in fields(chapter.results)]
    source: Any = make_dataclass("Source", [("headline", Headline), *keys], frozen=True)
    report = make_dataclass(
        "Report", [("sources", dict[str, source])], bases=(Header,), frozen=True
    )
    return codec.json_schema(report)


def source_to_json(source: SourceResults) -> dict[str, Any]:
    """One source's part of report.json: the answer first, which is read from the chapters and not stored again."""
    chapters = {key: v for chapter in CHAPTERS for key, v in chapter.to_json(source).items()}
    return {"headline": to_json(headline(source)), **chapters}


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
