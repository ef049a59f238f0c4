"""Sections of a page, of the report and of teams alike: paragraphs, tables and figures with their texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.data.about import Participants, Provenance, StudyName
from analysis.stats import MissingResult

if TYPE_CHECKING:
    import pandas as pd
    from altair.typing import ChartType

    from analysis.charts.figure import Figure
    from analysis.store import StoredFigure


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
        """True if its letters would be too small if it were fitted to a phone."""
        return self.width > 480


@dataclass(frozen=True, slots=True)
class Block:
    """A section's part for one source; `label` is "" where there is one source only."""

    source: str
    label: str
    tables: Sequence[Table] = ()
    methods: Sequence[str] = ()
    figures: Sequence[FigureView] = ()
    missing: Sequence[MissingResult] = ()
    finding: str = ""
    is_few: bool = False
    text: Sequence[Paragraph] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.text or self.tables or self.figures)


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
        """The finding of the first source that has one; "" where its chapter has none."""
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


def make_figure(
    name: str,
    drawn: "ChartType",
    text: FigureText,
    table: "pd.DataFrame",
) -> "Figure":
    """A drawn chart in the house style with its texts."""
    from analysis.charts.figure import Figure  # altair, which pages do without
    from analysis.charts.marks import finish

    return Figure(name, text.title, text.caption, text.alt, table, finish(drawn, text.alt))


def plain(frame: "pd.DataFrame", **renamed: str) -> "pd.DataFrame":
    """The numbers behind a figure as its reader needs them: without colours, ends of intervals under their full names."""
    names = {"low": "ci_low", "high": "ci_high", **renamed}
    return frame.drop(columns=["colour", "is_chat"], errors="ignore").rename(columns=names)


def provenance(
    study: StudyName, participants: Participants, made_at: str, data_version: str
) -> Provenance:
    """The statement of the figures of a result about these participants on where they come from."""
    subject = f"Study: {study.title} ({study.slug}). Data version {data_version}."
    watermark = "SIMULATED" if participants.is_simulated else ""
    return Provenance(subject, made_at, participants.kind, participants.note, watermark)
