"""The report as sections of a page, and the page as one file that opens from disk."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.template.loader import render_to_string

from analysis.codec import MissingResult
from analysis.presentation import (
    Block,
    FigureView,
    Gap,
    KeyNumber,
    Link,
    Paragraph,
    Section,
)
from analysis.report.chapter import Chapter, Page, SourceResults
from analysis.report.conclusions import too_few
from analysis.report.contents import GROUPS
from analysis.report.headline import headlines
from analysis.report.headline_words import conclusion, numbers
from analysis.report.report import Report, StoredReport
from analysis.store import StoredFigure

SOURCE_LABELS = {"human": "Human-created test cases", "machine": "Machine-created test cases"}
NOTHING = MissingResult("There is nothing to show.")

Figures = Mapping[str, Mapping[str, Sequence[FigureView]]]  # source -> chapter -> its figures
LinkTable = Callable[[str, str], str]  # source, name -> address; "" where there is no such file


def no_link(source: str, name: str) -> str:
    return ""


def source_label(report: Report, source: str) -> str:
    """The heading of a source's part; "" where the report has one source only."""
    return SOURCE_LABELS.get(source, source) if len(report.sources) > 1 else ""


def sections(
    report: Report,
    figures: Figures | None = None,
    link_table: LinkTable = no_link,
    more: Mapping[str, Link] | None = None,
) -> list[Section | Gap]:
    """The chapters; neighbours of which nothing is known become one gap. more: where the reader of a chapter goes on, by its id."""
    further = more or {}
    shown: list[Section | Gap] = []
    absent: list[Section] = []  # since the last one that is shown
    for group in GROUPS:
        for chapter in group.chapters:
            blocks = [
                _block(report, chapter, own, (figures or {}).get(own.source, {}), link_table)
                for own in ([report.of_study] if chapter.is_of_study else report.sources.values())
                if chapter.results in own.results
            ]
            if not blocks:
                continue
            own = (chapter.id, chapter.title, chapter.question, blocks, group.title)
            section = Section(*own, more=further.get(chapter.id))
            if all(block.is_empty for block in blocks):
                absent.append(section)
                continue
            if absent:
                shown.append(_gap(absent))
                absent = []
            shown.append(section)
    return [*shown, _gap(absent)] if absent else shown


def _block(
    report: Report,
    chapter: Chapter,
    source: SourceResults,
    figures: Mapping[str, Sequence[FigureView]],
    link_table: LinkTable,
) -> Block:
    found = chapter.missing_in(source)
    missing = list(dict.fromkeys(m for m in found if m is not None))
    label = "" if chapter.is_of_study else source_label(report, source.source)
    if None not in found:
        return Block(source.source, label, missing=missing)
    page: Page = chapter.page(source, report.about)
    tables = [
        replace(t, href=link_table(source.source, t.csv)) if t.csv else t for t in page.tables
    ]
    return Block(
        source=source.source,
        label=label,
        text=page.text,
        tables=tables,
        methods=page.methods,
        figures=figures.get(chapter.id, ()),
        missing=missing,
        finding=page.finding,
        is_few=too_few(source.of(chapter.results)),
    )


def _gap(absent: Sequence[Section]) -> Gap:
    """One line for each reason."""
    lines: dict[MissingResult, list[str]] = {}
    for section in absent:
        found = [why for block in section.blocks for why in block.missing]
        for why in dict.fromkeys(found or [NOTHING]):
            lines.setdefault(why, []).append(section.title)
    return Gap(f"not-yet-{absent[0].id}", [(names, why) for why, names in lines.items()])


# The figure that answers the study's question: teams beside people and models, else these alone
FIRST = (("teams", "teams"), ("models", "accuracy"))


@dataclass(frozen=True, slots=True)
class HeadlineView:
    """The first panel on one source; label: "" where the report has one only."""

    label: str
    numbers: Sequence[KeyNumber]
    text: Sequence[Paragraph]
    figure: FigureView | None


def report_context(
    stored: StoredReport,
    view: Callable[[StoredFigure], FigureView],
    link_table: LinkTable = no_link,
    more: Mapping[str, Link] | None = None,
) -> dict[str, Any]:
    """`view` says where the page finds a figure's picture, `link_table` where a table's file; more: as in `sections`."""
    header = stored.report.header
    figures: dict[str, dict[str, list[FigureView]]] = {}
    for figure in stored.figures:
        own = figures.setdefault(figure.source, {})
        own.setdefault(figure.chapter, []).append(view(figure))
    is_simulated = header.participants.is_simulated
    panels = []
    for name, answer in headlines(stored.report.sources):
        own = figures.get(name, {})
        beside = (f for chapter, known in FIRST for f in own.get(chapter, ()) if f.name == known)
        panels.append(
            HeadlineView(
                source_label(stored.report, name),
                numbers(answer, is_simulated=is_simulated),
                conclusion(answer, is_simulated=is_simulated),
                next(beside, None),
            )
        )
    shown = sections(stored.report, figures, link_table, more)
    return {
        "report": header,
        "note": header.participants.note,
        "is_simulated": is_simulated,
        "made_at": datetime.fromisoformat(header.made_at),
        "headlines": panels,
        "sections": shown,
        "has_contents": bool(panels) or len(shown) > 1,
    }


STYLES = ("css/base.css", "css/lab.css", "css/results.css")


def render_file(stored: StoredReport) -> str:
    """The page of a stored report."""

    def view(figure: StoredFigure) -> FigureView:
        # A picture of its own, not part of the page: nothing in it can reach the page, and it carries its alternative text
        picture = base64.b64encode(stored.result.figure_file(figure.stem, "svg")).decode()
        return FigureView.of(figure, f"data:image/svg+xml;base64,{picture}")

    styles = []
    for name in STYLES:
        path = finders.find(name)
        if not path:
            raise FileNotFoundError(f"static/{name} is not installed")
        styles.append(Path(path).read_text(encoding="utf-8"))
    context = {
        "study": stored.report.header.study,
        **report_context(stored, view),
        "styles": "\n".join(styles),
        "is_file": True,
    }
    return render_to_string("analysis/report.html", context)
