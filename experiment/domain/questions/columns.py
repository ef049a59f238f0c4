"""Columns of files of questions: our own form, and the published one. Readers and writers go by these."""

import re
from collections.abc import Iterable, Mapping, Sequence

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.markup import MAX_CHARACTERS
from lib import names

# Every column of this ending is a dimension of categories
DIMENSION = "_category"
SEPARATOR = ";"
# `version` and `status` say what a file was taken from; an import sets neither
OWN = (
    *("key", "version", "status", "template", "source", "generator", "subfield", "doi"),
    *("question", "answer"),
)
NOTE = "note"  # stands behind the categories
MADE_FROM = "made_from"  # the last: made_from.py says what it holds
NOT_READ = ("status",)
MEANINGS = {
    "key": "names the question in all its versions",
    "version": "that the row was taken from; a row of an older version changes nothing",
    "status": "state of this version; an import does not read it",
    "template": "key of the template that the question comes from",
    "source": "who wrote it: human or machine",
    "generator": "name of the person or model that wrote it",
    "subfield": "of the field of research",
    "doi": "of the article",
    "question": "as participants read it",
    "answer": "of an expert",
    NOTE: "for curators",
    MADE_FROM: "of a question from a template: table, row, cells and rule, as JSON",
}
# Column of the published files -> ours
PUBLISHED = {"uuid": "key", "template_uuid": "template", "question": "question", "answer": "answer"}
LONGEST = {
    **dict.fromkeys(("key", "template", "generator", "subfield"), 80),
    "version": 10,
    "source": 10,
    "doi": 200,
    **dict.fromkeys(("question", "answer"), MAX_CHARACTERS),
    NOTE: 5_000,
}
LONGEST_CATEGORIES = 2_000
LONGEST_CATEGORY = 200
LONGEST_DIMENSION = 60
# What a header holds without being a formula, and a line of a form before its colon
_DIMENSION = re.compile(r"[^\W_][^:;]*")

Categories = Mapping[str, Sequence[str]]


class CategoriesError(ValueError):
    """Dimensions or categories that not every file and form could hold; the message names the one."""


def dimension_of(column: str) -> str:
    """The dimension that a column holds, empty where it is none.

    >>> dimension_of("bio_category"), dimension_of("bio category"), dimension_of("question")
    ('bio', 'bio', '')
    """
    n = len(DIMENSION)
    return column[:-n] if column[-n:].replace(" ", "_") == DIMENSION else ""


def split(cell: str) -> list[str]:
    """The categories of a cell, each once.

    >>> split("Tissue; Pharmacology;Tissue")
    ['Tissue', 'Pharmacology']
    """
    return list(dict.fromkeys(name for part in cell.split(SEPARATOR) if (name := part.strip())))


def join(categories: Iterable[str]) -> str:
    """The cell of categories.

    >>> join(["Tissue", "Pharmacology"])
    'Tissue; Pharmacology'
    """
    return f"{SEPARATOR} ".join(categories)


def checked(categories: Categories) -> dict[str, list[str]]:
    """Dimensions in small letters, as a file's columns are read, and the categories of each once.

    Raises:
        CategoriesError: a dimension is there twice, or one of them or of their categories is refused (see the faults below).

    >>> checked({"Topic": ["Metals", " Acids ", "Metals"]})
    {'topic': ['Metals', 'Acids']}
    """
    found: dict[str, list[str]] = {}
    for dimension, given in categories.items():
        name = dimension.strip().casefold()
        if fault := "appears twice" if name in found else dimension_fault(name):
            raise CategoriesError(f"the dimension “{dimension}” {fault}")
        found[name] = list(dict.fromkeys(one.strip() for one in given))
        for one in found[name]:
            if fault := category_fault(one):
                raise CategoriesError(f"{name}: the category “{one}” {fault}")
        if len(join(found[name])) > LONGEST_CATEGORIES:
            raise CategoriesError(f"{name}: more than {LONGEST_CATEGORIES:,} characters in total")
    return found


def dimension_fault(name: str) -> str:
    """The fault of a dimension's name; empty where there is none.

    >>> dimension_fault("topic, sub"), dimension_fault("a:b")
    ('', 'does not begin with a letter or digit, or contains a colon or semicolon')
    """
    if names.fault(name, LONGEST_DIMENSION):
        return f"is not one line of at most {LONGEST_DIMENSION} characters"
    if not _DIMENSION.fullmatch(name):
        return "does not begin with a letter or digit, or contains a colon or semicolon"
    return ""


def category_fault(name: str) -> str:
    """The fault of a category; empty where there is none.

    >>> category_fault("Drug Meta"), category_fault("a; b")
    ('', 'is empty or contains a semicolon')
    """
    if len(name) > LONGEST_CATEGORY:
        return f"has more than {LONGEST_CATEGORY} characters"
    if names.fault(name) or next(check_characters(name), None):
        return "is not one line that can be printed"
    return "" if name and SEPARATOR not in name else "is empty or contains a semicolon"
