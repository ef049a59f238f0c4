"""A text as participants would see it, and what the checks say of it, whether it can be read yet or not."""

from dataclasses import dataclass, field, replace

from experiment.domain import markup
from experiment.domain.assignment import Side
from experiment.domain.item_checks import Finding, Place
from experiment.domain.item_checks.characters import MAX_CHARACTERS
from experiment.domain.presentation import ShownSegment, by_side
from experiment.models import Item
from experiment.services.curation.checks import facts_of, findings_of_text

SIDES: tuple[Side, ...] = ("A", "B")


@dataclass(frozen=True, slots=True)
class Order:
    """The abstract with the original on this side."""

    side: Side
    segments: list[ShownSegment]


@dataclass(frozen=True, slots=True)
class Preview:
    """orders: empty where the text cannot be read; the first finding then says why."""

    orders: list[Order] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    original: str = ""
    altered: str = ""
    n_words: int = 0
    n_alternations: int = 0


def preview_of(item: Item) -> Preview:
    """Of a version, or of one that is not stored yet. Places count from the first character that is no space."""
    text = item.markup.strip()
    if not text:
        return Preview()
    findings = findings_of_text(text, facts_of(item))
    try:
        abstract = markup.parse(text)
    except markup.MarkupError:
        return Preview(findings=findings)
    if len(text) > MAX_CHARACTERS:
        return Preview(findings=findings)
    return Preview(
        orders=[Order(side, by_side(abstract.segments, side)) for side in SIDES],
        findings=[_in_markup(finding, text) for finding in findings],
        original=abstract.original,
        altered=abstract.altered,
        n_words=len(abstract.original.split()),
        n_alternations=len(abstract.alternations),
    )


def _in_markup(finding: Finding, text: str) -> Finding:
    """With its place in what is typed, wherever it was found."""
    at = finding.place
    if at is None or at.text == "markup":
        return finding
    start, end = markup.written_at(text, at.text, at.start, at.end)
    return replace(finding, place=Place("markup", start, end))
