"""From which row of which table a template made a question, as files hold it. Pure."""

import json
import re
from collections.abc import Mapping
from typing import Any

from lib import strict_json

NEEDED = ("table", "row", "rule", "values")
# Of question and answer as they were made: where the question has another one, it was edited since
SHA256 = "sha256"
LONGEST = 100_000  # characters
_SHA256 = re.compile(r"[0-9a-f]{64}")


class SourceError(ValueError):
    """It says no such thing; the message says why."""


def source_of(made_from: Mapping[str, Any]) -> dict[str, Any]:
    """The part of `Item.made_from` that files hold; empty for a question that no template made here.

    >>> source_of({"cells": {"bio": "A;B"}})
    {}
    """
    if any(name not in made_from for name in NEEDED):
        return {}
    return {name: made_from[name] for name in (*NEEDED, SHA256) if name in made_from}


def written(made_from: Mapping[str, Any]) -> str:
    """A cell of a file: a JSON object, or nothing."""
    source = source_of(made_from)
    return json.dumps(source) if source else ""


def read(cell: str) -> dict[str, Any]:
    """The values that `written` gave.

    Raises:
        SourceError: it is no such thing.

    >>> read("")
    {}
    """
    if not cell.strip():
        return {}
    if len(cell) > LONGEST:
        raise SourceError(f"has more than {LONGEST:,} characters")
    try:
        found = strict_json.loads(cell)
    except (ValueError, RecursionError) as error:
        raise SourceError("is not JSON") from error
    return checked(found)


def checked(found: Any) -> dict[str, Any]:
    """
    Raises:
        SourceError: it is no object of table, row, rule, values and sha256, or one of these is not what it should be.
    """
    if found == {}:
        return {}
    if not isinstance(found, dict) or {*NEEDED} - {*found} or {*found} - {*NEEDED, SHA256}:
        raise SourceError(f"is not an object with {', '.join((*NEEDED, SHA256))}")
    for name in ("table", SHA256):
        if name in found and not (isinstance(found[name], str) and _SHA256.fullmatch(found[name])):
            raise SourceError(f"“{name}” is not a SHA-256")
    for name in ("row", "rule"):
        if type(found[name]) is not int or not 0 < found[name] < 10**9:
            raise SourceError(f"“{name}” is not a number from 1")
    values = found["values"]
    if not isinstance(values, dict) or not all(isinstance(one, str) for one in values.values()):
        raise SourceError("“values” are not texts by slot")
    if re.search("[\x00\ud800-\udfff]", "".join((*values, *values.values()))):
        raise SourceError("“values” contain a character that cannot be part of a text")
    return found
