"""The texts of a row: markup, or two versions, or both, where the versions settle what the markup leaves open."""

from dataclasses import dataclass

from experiment.domain.item_checks.characters import visible
from experiment.domain.markup import Abstract, MarkupError, parse, render
from experiment.domain.markup_between import markup_between
from experiment.imports.read import repair
from experiment.imports.read.items.cells import Cells

_CONTEXT = 30


@dataclass(frozen=True, slots=True)
class Texts:
    """Markup that gives exactly the versions; all empty where something is wrong."""

    markup: str = ""
    original: str = ""
    altered: str = ""
    is_damaged: bool = False


def read_text(cells: Cells) -> Texts:
    before = len(cells.problems)
    markup, original, altered = (
        cells.text(name, strip=False) for name in ("markup", "original", "altered")
    )
    if len(cells.problems) > before:
        return Texts()
    if not (markup or original or altered):
        has_markup = cells.columns["markup"] in cells.row.cells
        cells.fail("markup" if has_markup else "original", "is empty")
        return Texts()
    if bool(original) != bool(altered):
        cells.fail("altered" if original else "original", "is empty, and the other version is not")
        return Texts()
    if not markup and original:
        return _between(cells, original, altered)
    return _marked(cells, markup, original, altered)


def _between(cells: Cells, original: str, altered: str) -> Texts:
    original, altered = original.strip(), altered.strip()
    if original == altered:
        cells.fail("altered", "is the same as the original")
        return Texts()
    markup = markup_between(original, altered)
    if markup is None:
        cells.fail("altered", "the differences are not of whole words: give the text as markup")
        return Texts()
    return Texts(markup, original, altered)


def _marked(cells: Cells, markup: str, original: str, altered: str) -> Texts:
    try:
        abstract = parse(markup)
        if original and (abstract.original, abstract.altered) != (original, altered):
            abstract = parse(markup, original, altered)
    except MarkupError as error:
        return _settled(cells, markup, original, altered, error)
    return _checked(cells, markup, abstract)


def _settled(cells: Cells, markup: str, original: str, altered: str, error: MarkupError) -> Texts:
    """Where the markup alone does not do: by its versions, or as the published files were made."""
    if original:
        try:
            abstract = parse(markup, original, altered)
            return _checked(cells, render(abstract.segments), abstract)
        except MarkupError as mismatch:
            error = mismatch
        if "markup" in cells.columns and cells.columns["markup"] != "markup":
            as_published = repair.published_markup(markup, original, altered)
            if as_published is not None:
                return Texts(as_published, original, altered, is_damaged=True)
    cells.fail("markup", f"{error.reason}; {_place(markup, error)}")
    return Texts()


def _checked(cells: Cells, markup: str, abstract: Abstract) -> Texts:
    if abstract.original == abstract.altered:
        cells.fail("markup", "both versions read the same")
        return Texts()
    return Texts(markup, abstract.original, abstract.altered)


def _place(markup: str, error: MarkupError) -> str:
    line = markup.split("\n")[error.line - 1]
    at = error.column - 1
    near = line[max(0, at - _CONTEXT // 3) : at + _CONTEXT]
    return f"line {error.line} of the text, character {error.column}: “{visible(near)}”"
