"""Reads files of test cases, in our own form or the published files': records, and every problem by row and column."""

from experiment.imports.read.items.contents import FileRefusedError, read_content
from experiment.imports.read.items.problems import RowProblem
from experiment.imports.read.items.records import (
    BY_PEOPLE,
    Defaults,
    ItemRecord,
    ItemsFile,
    read_items,
)

__all__ = [
    "BY_PEOPLE",
    "Defaults",
    "FileRefusedError",
    "ItemRecord",
    "ItemsFile",
    "RowProblem",
    "read_content",
    "read_items",
]
