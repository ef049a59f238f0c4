"""The report: the typed results of all chapters, and report.json, its form on disk."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from analysis.codec import from_json, to_json
from analysis.data.dataset import Participants, StudyName
from analysis.data.filters import ReportOptions
from analysis.report.chapter import About, SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.report.headline import headline

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
            name: replace(
                source_from_json(name, own), is_simulated=header.participants.is_simulated
            )
            for name, own in values["sources"].items()
        }
        return cls(header, sources)


def source_to_json(source: SourceResults) -> dict[str, Any]:
    """One source's part of report.json: the answer first, which is read from the chapters and not stored again."""
    chapters = {key: v for chapter in CHAPTERS for key, v in chapter.to_json(source).items()}
    return {"headline": to_json(headline(source)), **chapters}


def source_from_json(name: str, values: Mapping[str, Any]) -> SourceResults:
    return SourceResults(name, {c.results: c.from_json(values) for c in CHAPTERS})
