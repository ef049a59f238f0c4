"""Sections of a page, of the report and of teams alike: paragraphs, tables and figures with their texts.

Chapters whose sentences are still in templates are rendered here, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.template import Context
from django.template.loader import get_template, render_to_string
from django.template.loader_tags import BlockNode
from django.utils.safestring import SafeString

from analysis.data.about import Participants, Provenance, StudyName
from analysis.stats import MissingResult

if TYPE_CHECKING:
    import pandas as pd
    from altair.typing import ChartType

    from analysis.charts.figure import Figure
    from analysis.store import StoredFigure

FIGURE_TEXTS = ("title", "caption", "alt")


@dataclass(frozen=True, slots=True)
class Column:
    """is_number: its cells are aligned as numbers."""

    label: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A compact table; `csv` names the tidy table behind it, "" where there is none; `href` is its address."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    csv: str = ""
    href: str = ""

    @property
    def is_wide(self) -> bool:
        return len(self.columns) > 4

    @property
    def is_widest(self) -> bool:
        return len(self.columns) > 6

    @property
    def is_long(self) -> bool:
        return len(self.rows) > 12

    @property
    def lines(self) -> list[tuple[str, list[tuple[str, Column]]]]:
        """The name of each row, and its other cells."""
        _head, *columns = self.columns
        return [(name, list(zip(cells, columns, strict=True))) for name, *cells in self.rows]


def sentences(*parts: str) -> str:
    """One text of these sentences; an empty one says nothing.

    >>> sentences("The analysis includes 3 trials.", "", "None is excluded.")
    'The analysis includes 3 trials. None is excluded.'
    """
    return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences of a chapter, and a list below them where there is one.

    is_quiet: set smaller, beside what matters. is_notice: set apart as a warning. is_strong: a caution before what it is about.
    copied_as: the id of a paragraph that readers copy into an article.
    """

    text: str
    items: Sequence[str] = ()
    is_quiet: bool = False
    is_notice: bool = False
    is_strong: bool = False
    copied_as: str = ""


def paragraphs(*texts: str) -> list[Paragraph]:
    """A paragraph of each text that says something."""
    return [Paragraph(text) for text in texts if text]


def itemised(items: Iterable[str]) -> list[Paragraph]:
    """A list of these sentences, where there is any."""
    own = list(items)
    return [Paragraph("", own)] if own else []


@dataclass(frozen=True, slots=True)
class KeyNumber:
    """A number that a page shows first: its name, and below it what it is of, with its interval."""

    name: str
    value: str
    about: str


@dataclass(frozen=True, slots=True)
class Link:
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class FigureView:
    """A figure as a page shows it: where its picture is, its texts, and its files."""

    name: str
    title: str
    caption: str
    alt: str
    src: str
    width: int = 0
    height: int = 0
    files: Sequence[tuple[str, str]] = ()  # label, address

    @classmethod
    def of(
        cls, figure: "StoredFigure", src: str, files: Sequence[tuple[str, str]] = ()
    ) -> "FigureView":
        texts = (figure.name, figure.title, figure.caption, figure.alt)
        return cls(*texts, src, figure.width, figure.height, files)

    @property
    def is_wide(self) -> bool:
        """Whether its letters would be too small if it were fitted to a phone."""
        return self.width > 480


@dataclass(frozen=True, slots=True)
class Block:
    """A section's part for one source; `label` is "" where there is one source only. `meaning` is HTML, `finding` text."""

    source: str
    label: str
    meaning: str = ""
    tables: Sequence[Table] = ()
    methods: Sequence[str] = ()
    figures: Sequence[FigureView] = ()
    missing: Sequence[MissingResult] = ()
    finding: str = ""
    is_few: bool = False
    text: Sequence[Paragraph] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.meaning or self.text or self.tables or self.figures)


@dataclass(frozen=True, slots=True)
class Section:
    """group: of the sections that stand under one heading. more: where its reader goes on."""

    id: str
    title: str
    question: str
    blocks: Sequence[Block] = ()
    group: str = ""
    more: Link | None = None
    is_gap: bool = False

    @property
    def finding(self) -> str:
        """What was found, of the first source that has anything; "" where its template says nothing."""
        block = next((block for block in self.blocks if block.finding), None)
        if block is None:
            return ""
        return f"{block.label}: {block.finding}" if block.label else block.finding


@dataclass(frozen=True, slots=True)
class Gap:
    """Neighbouring sections that are all absent: which, for which reasons."""

    id: str
    lines: Sequence[tuple[Sequence[str], MissingResult]] = ()
    is_gap: bool = True


@dataclass(frozen=True, slots=True)
class FigureText:
    """Title, caption (n and the kind of interval) and alternative text of a figure."""

    title: str
    caption: str
    alt: str


def figure_text(name: str, context: Mapping[str, Any]) -> FigureText:
    """The texts of a figure, without markup, from the blocks `title`, `caption` and `alt` of `analysis/figures/<name>.html`."""
    title, caption, alt = (
        render_block(f"analysis/figures/{name}.html", block, context) for block in FIGURE_TEXTS
    )
    return FigureText(title, caption, alt)


def make_figure(
    name: str,
    drawn: "ChartType",
    said: Mapping[str, Any] | FigureText,
    table: "pd.DataFrame",
    texts: str = "",
) -> "Figure":
    """A drawn chart in the house style with its texts, or the context of their template, `texts` where that has another name."""
    from analysis.charts.figure import Figure  # altair, which pages do without
    from analysis.charts.marks import finish

    text = said if isinstance(said, FigureText) else figure_text(texts or name, said)
    return Figure(name, text.title, text.caption, text.alt, table, finish(drawn, text.alt))


def plain(frame: "pd.DataFrame", **renamed: str) -> "pd.DataFrame":
    """The numbers behind a figure as its reader needs them: without colours, ends of intervals under their full names."""
    names = {"low": "ci_low", "high": "ci_high", **renamed}
    return frame.drop(columns=["colour", "is_chat"], errors="ignore").rename(columns=names)


def provenance(
    study: StudyName, participants: Participants, made_at: str, data_version: str
) -> Provenance:
    """What the figures of a result about these participants say of themselves."""
    subject = f"Study: {study.title} ({study.slug}). Data version {data_version}."
    watermark = "SIMULATED" if participants.is_simulated else ""
    return Provenance(subject, made_at, participants.kind, participants.note, watermark)


def render_block(template: str, block: str, context: Mapping[str, Any]) -> str:
    """One `{% block %}` of a template as plain text on one line."""
    compiled: Any = get_template(template).template  # type: ignore[attr-defined]
    nodes = {n.name: n for n in compiled.nodelist.get_nodes_by_type(BlockNode)}
    ready = Context(dict(context), autoescape=False)
    with ready.bind_template(compiled), ready.render_context.push_state(compiled):
        return " ".join(nodes[block].nodelist.render(ready).split())


def render_meaning(template: str, context: Mapping[str, Any]) -> str:
    """A chapter's sentences as HTML; "" where the template has nothing to say."""
    text = render_to_string(template, dict(context))
    return SafeString(text.strip())
