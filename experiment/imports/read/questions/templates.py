"""A template of questions as TOML: key, question, a table of rules with when and answer, and categories."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment.domain.questions.columns import Categories, CategoriesError, checked
from experiment.imports.read.items.contents import FileRefusedError, text_of


@dataclass(frozen=True, slots=True)
class TemplateFile:
    key: str
    question: str
    rules: Sequence[Mapping[str, str]]
    categories: Categories


def read_template(data: bytes) -> TemplateFile:
    """
    Raises:
        FileRefusedError: it is no such file.

    >>> read_template(b'key = "a"\\nquestion = "Q?"\\n[[rules]]\\nanswer = "A."').rules
    [{'when': '', 'answer': 'A.'}]
    """
    try:
        read = tomllib.loads(text_of(data))
    except tomllib.TOMLDecodeError as error:
        raise FileRefusedError(f"The template is no TOML: {error}.") from error
    rules, categories = read.get("rules", []), read.get("categories", {})
    is_right = (
        isinstance(rules, list)
        and all(isinstance(rule, dict) and {*rule} <= {"when", "answer"} for rule in rules)
        and isinstance(categories, dict)
        and all(isinstance(found, list) for found in categories.values())
    )
    if not is_right:
        raise FileRefusedError(
            "The template has rules, each with when and answer, and categories, each a list."
        )
    try:
        named = checked({name: list(map(str, found)) for name, found in categories.items()})
    except CategoriesError as error:
        raise FileRefusedError(f"The template's categories: {error}.") from error
    return TemplateFile(
        _text(read, "key"),
        _text(read, "question"),
        [{"when": _text(r, "when", ""), "answer": _text(r, "answer")} for r in rules],
        named,
    )


def _text(read: Mapping[str, Any], name: str, default: str | None = None) -> str:
    found = read.get(name, default)
    if not isinstance(found, str):
        raise FileRefusedError(f"The template has no text “{name}”.")
    return found
