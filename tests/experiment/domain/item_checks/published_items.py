"""The published items as their files have them, without a database."""

from pathlib import Path

from experiment.imports.read.tables import Problem
from experiment.imports.read.testcases import DATES_FILE, FILES, PublishedItem, read_items


def published_items(results: Path) -> list[PublishedItem]:
    problems: list[Problem] = []
    items = read_items(results, [*FILES.values(), DATES_FILE], problems)
    assert (len(items), problems) == (300, [])
    return items
