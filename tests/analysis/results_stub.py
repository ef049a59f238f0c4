"""Reports of a few simulated people and models, computed once; and figures that are never drawn."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import altair as alt
import pandas as pd
from django.test import Client
from django.urls import reverse

from analysis.charts.figure import Figure
from analysis.codec import MissingResult
from analysis.data.about import Participants, StudyName
from analysis.data.dataset import SourceData
from analysis.data.filters import OF_STUDY, ReportOptions
from analysis.data.version import SCHEMA_VERSION, data_version, participants_kind
from analysis.report.chapter import SourceResults, Tables
from analysis.report.contents import CHAPTERS
from analysis.report.report import SCHEMA, Header, Published, Report
from analysis.stats import NotEnough
from experiment.models import Study
from experiment.services.counts import kind_note
from tests.analysis import made

NOW = "?now=1"  # what a link without scripts asks for
MISSING = MissingResult("No language model has scored these test cases.", "Score at least one.")


def built(data: SourceData, *ids: str) -> tuple[SourceResults, Tables]:
    """The results of these chapters, by default of all but teams, which take long."""
    results: dict[type[Any], Any] = {}
    tables: dict[str, pd.DataFrame] = {}
    for chapter in CHAPTERS:
        try:
            if chapter.id not in ids if ids else chapter.id == "teams":
                raise NotEnough("It was not computed.", "Compute it.")
            own = chapter.build(data)
        except NotEnough as error:
            results[chapter.results] = chapter.missing(MissingResult.of(error))
        else:
            results[chapter.results] = own.results
            tables |= own.tables
    return SourceResults(data.source, results), tables


@cache
def source(n_models: int = 2) -> SourceResults:
    """Results of 10 people, 12 test cases and so many models."""
    data = made.make_data(n_participants=10, n_items=12, n_models=n_models, resamples=100)
    return built(data)[0]


def with_results(own: SourceResults, *results: Any) -> SourceResults:
    """The same with other results of some chapters."""
    return replace(own, results={**own.results, **{type(r): r for r in results}})


def without(own: SourceResults, *ids: str, why: MissingResult = MISSING) -> SourceResults:
    """The same without the chapters of these ids."""
    absent = [c.missing(why) for c in CHAPTERS if c.id in ids]
    return with_results(own, *absent)


def report(study: Study | None, options: ReportOptions, own: SourceResults | None = None) -> Report:
    """A report as make_report gives it for these options, each source with the same results."""
    kind = participants_kind(study, options) if study else "real"
    header = Header(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        study=StudyName(study.slug, study.title, study.is_demo)
        if study
        else StudyName("s", "S", False),
        made_at="2026-03-02T09:30:00+00:00",
        data_version=data_version(study) if study else "",
        options=options,
        participants=Participants(kind, kind, kind_note(study, kind) if study else ""),
        software={},
        published=Published(False),
    )
    models = pd.DataFrame({"name": ["=1+1", "Model 1"], "accuracy": [0.1 + 0.2, 0.75]})
    results = {name: replace(own or source(), source=name) for name in (OF_STUDY, *options.sources)}
    tables = {name: {"models": models} for name in options.sources}
    return Report(
        header, _about(results.pop(OF_STUDY)), {k: _about(v) for k, v in results.items()}, tables
    )


def _about(own: SourceResults) -> SourceResults:
    """The same with those chapters of all parts that belong there."""
    is_whole = own.source == OF_STUDY
    there = {c.results: own.results[c.results] for c in CHAPTERS if c.is_of_study == is_whole}
    return replace(own, results=there)


def figures(
    own: SourceResults, tables: Tables, progress: object = None
) -> Iterator[tuple[str, Figure]]:
    """Two figures of every source, with their chapters; none of the whole study."""
    if own.source == OF_STUDY:
        return
    table = pd.DataFrame({"who": ["humans", "models"], "accuracy": [0.6, 0.75]})
    chart = alt.Chart(table, width=300, height=80).mark_point().encode(x="accuracy:Q", y="who:N")
    for chapter, name in (("models", "accuracy"), ("calibration", "calibration_humans")):
        caption = "Figure of 80 trials."
        yield chapter, Figure(name, f"Title of {name}", caption, f"Alt of {name}", table, chart)


def url(name: str = "results", *args: Any, query: str = "") -> str:
    return reverse(f"lab:{name}", args=["memory", *args]) + query


def shown(client: Client, query: str = NOW) -> str:
    return client.get(url(query=query), follow=True).content.decode()
