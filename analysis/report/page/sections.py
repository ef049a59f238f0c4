"""The report as sections of a page: each chapter with its figures, sentences and tables.

The page and the report's file are made from the same sections.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from analysis.codec import MissingResult
from analysis.presentation import Block, FigureView, Gap, Section, render_meaning
from analysis.report.chapter import Chapter, Page, SourceResults
from analysis.report.contents import CHAPTERS
from analysis.report.report import Report

SOURCE_LABELS = {"human": _("Human-created test cases"), "machine": _("Machine-created test cases")}
NOTHING = MissingResult("There is nothing to show.")

Figures = Mapping[str, Mapping[str, Sequence[FigureView]]]  # source -> chapter -> its figures
LinkTable = Callable[[str, str], str]  # source, name -> address; "" where there is no such file


def no_link(source: str, name: str) -> str:
    return ""


def source_label(report: Report, source: str) -> str:
    """The heading of a source's part; "" where the report has one source only."""
    return str(SOURCE_LABELS.get(source, source)) if len(report.sources) > 1 else ""


def sections(
    report: Report, figures: Figures | None = None, link_table: LinkTable = no_link
) -> list[Section | Gap]:
    """The chapters; neighbours of which nothing is known become one gap."""
    made = []
    for chapter in CHAPTERS:
        sources = list(report.sources.items())
        blocks = [
            _block(report, chapter, own, (figures or {}).get(name, {}), link_table)
            for name, own in (sources[:1] if chapter.is_of_study else sources)
        ]
        made.append(Section(chapter.id, str(chapter.title), str(chapter.question), blocks))
    return _with_gaps(made)


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
    context = {"about": report.about, **page.context}
    meaning = render_meaning(chapter.template, context)
    return Block(
        source.source, label, meaning, tables, page.methods, figures.get(chapter.id, ()), missing
    )


def _with_gaps(made: Iterable[Section]) -> list[Section | Gap]:
    out: list[Section | Gap] = []
    absent: list[Section] = []
    for section in made:
        if all(block.is_empty for block in section.blocks):
            absent.append(section)
            continue
        if absent:
            out.append(_gap(absent))
            absent = []
        out.append(section)
    return [*out, _gap(absent)] if absent else out


def _gap(absent: Sequence[Section]) -> Gap:
    """One line for each reason."""
    lines: dict[MissingResult, list[str]] = {}
    for section in absent:
        found = [why for block in section.blocks for why in block.missing]
        for why in dict.fromkeys(found or [NOTHING]):
            lines.setdefault(why, []).append(section.title)
    return Gap(f"not-yet-{absent[0].id}", [(names, why) for why, names in lines.items()])
