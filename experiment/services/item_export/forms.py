"""Test cases in the forms that import_items reads: each gives back exactly what it was written from."""

import json
from collections.abc import Iterable, Iterator, Sequence

from experiment.domain.item_columns import OWN, PUBLISHED
from experiment.models import Item
from lib.csv import line, quoted
from lib.formulas import guarded


class NotInThisFormError(Exception):
    """The published columns cannot hold these test cases; the message says why."""


def value(item: Item, column: str) -> str | int:
    """As our own form has it: empty where there is none."""
    found = getattr(item, column)
    if column == "version":
        return int(found)
    return "" if found is None else str(found)


def csv_lines(items: Iterable[Item]) -> Iterator[bytes]:
    yield line(OWN)
    for item in items:
        yield csv_line(str(value(item, column)) for column in OWN)


def json_lines(items: Iterable[Item]) -> Iterator[bytes]:
    for item in items:
        row = {column: value(item, column) for column in OWN}
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def published_lines(items: Sequence[Item]) -> Iterator[bytes]:
    """The columns of the published BrainBench files, which say nothing of source, kind and key.

    Raises:
        NotInThisFormError: the test cases are of both sources, or some are no tests.
    """
    if len({item.source for item in items}) > 1:
        raise NotInThisFormError("The published files hold one source each: choose one.")
    if any(item.kind != Item.Kind.TEST for item in items):
        raise NotInThisFormError("The published files hold tests, no catch or practice items.")
    return _published(items)


def _published(items: Sequence[Item]) -> Iterator[bytes]:
    yield line(PUBLISHED)
    for item in items:
        doi = f"https://doi.org/{item.doi}" if item.doi else ""
        yield csv_line(
            doi if name == "doi" else str(value(item, name)) for name in PUBLISHED.values()
        )


def csv_line(cells: Iterable[str]) -> bytes:
    """Cells that no spreadsheet runs, and from which an import takes exactly these texts."""
    return line(quoted(guarded(cell)) for cell in cells)
