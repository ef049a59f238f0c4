"""Choices in a model's text: those that name one side and no other, or nothing. No letter is searched for in words.

export_inspect_task copies this file, to read answers elsewhere by the same rules: it needs nothing but Python.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

SIDES = ("A", "B")
LEAST_CONFIDENCE, MOST_CONFIDENCE = (
    50.0,
    100.0,
)  # percent; of two versions, less than half would be the other one
MOST_CHARACTERS = 200  # of an answer that is no JSON
# JSON Schema of a choice, for a server that can be held to one
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "side": {"type": "string", "enum": list(SIDES)},
        "confidence": {
            "type": "integer",
            "minimum": int(LEAST_CONFIDENCE),
            "maximum": int(MOST_CONFIDENCE),
        },
    },
    "required": ["side", "confidence"],
    "additionalProperties": False,
}
_NUMBER = re.compile(r"([0-9]{1,3}(?:[.,][0-9]+)?)\s*%?")
_BOXED = re.compile(r"\\(?:boxed|text|mathrm|textbf)\s*\{\s*([AB])\s*\}")
_WORDS = re.compile(
    r"(?:(?:side|version|choice|answer)\s*+(?:[:=]\s*+)?)?(?:version\s+)?(?P<side>[AB])"
    r"(?:[\s,;:.()]+(?:(?:my\s+)?confidence\s*+(?:[:=]\s*+)?)?(?P<confidence>[0-9]{1,3}(?:[.,][0-9]+)?)(?:\s*%)?)?[\s.)]*",
)
_HEADS = re.compile(r"\b(side|version|choice|answer|my|confidence)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """side: "A" or "B". confidence: percent, 50 to 100; None where none is stated that can be meant.

    is_below_half: one is stated that is below 50 percent: the model would rather choose the other side.
    """

    side: str
    confidence: float | None = None
    is_below_half: bool = False


def read_choice(text: str) -> Chosen | None:
    """The choice that a text ends with: what names one side, and no other.

    It is a JSON object with "side", whatever else that has, in a code fence or not; or a short text that is a letter, alone or
    with a number, and nothing else. Reasoning may stand before the object, and words after it that do not name the other side. All
    objects that name a side must name the same. The confidence is a second thing, which may be missing; up to 1 it is a
    probability. A text that says anything else says nothing: it is asked for again, and never guessed.

    Returns:
        None: unparsed.

    >>> read_choice('{"side": "B", "confidence": 80, "reason": "It fits."} So I think.')
    Chosen(side='B', confidence=80.0, is_below_half=False)
    >>> [read_choice(said) is not None for said in ("A, 85%", "Version A. Confidence: 70 %", "**B**", "A or B, 50", "Not A", "a 60")]
    [True, True, True, False, False, False]
    >>> read_choice('{"side": "A", "confidence": 90} or {"side": "B", "confidence": 90}') is None
    True
    >>> read_choice('{"side": "A", "confidence": 45}')
    Chosen(side='A', confidence=None, is_below_half=True)
    """
    text = unicodedata.normalize("NFKC", text).strip()[-LONGEST:]
    objects, before, after = objects_with(text, "side")
    if not objects:
        if len(text) > MOST_CHARACTERS or '"side"' in text:
            return None
        bare = _BOXED.sub(r"\1", _BOXED.sub(r"\1", text))
        bare = _HEADS.sub(lambda word: word.group().lower(), re.sub(r"[*$]", "", bare))
        words = _WORDS.fullmatch(bare.strip("`\"'“”() "))
        return _with(words["side"], percent(words["confidence"])) if words else None
    found = []
    for one in objects:
        side = _letter(one["side"])
        named = {_letter(value) for value in one.values()} - {None}
        is_clear = side is not None and named == {side}
        found.append(_with(side, percent(one.get("confidence"))) if side and is_clear else None)
    chosen = found[-1]
    if chosen is None or any(one is None or one.side != chosen.side for one in found):
        return None
    # The other side's letter alone, as a capital or in quotes; an article at a sentence's start is one, too
    other = SIDES[chosen.side == SIDES[0]]
    is_named = re.search(rf"(?<!\w){other}(?!\w)|[\"'`“]{other.lower()}[\"'`”]", after)
    if '"side"' in before + after or is_named:
        return None
    return chosen if all(one == chosen for one in found) else Chosen(chosen.side)


def objects_with(text: str, name: str) -> tuple[list[dict[str, Any]], str, str]:
    """The JSON objects of a text that have a name, in their order and at any depth; what stands before the last, and after it.

    A value that is given twice under one name is `TWICE`; the text of earlier objects is no part of what stands before.
    """
    found: list[dict[str, Any]] = []
    before, at = "", 0
    for start in [brace.start() for brace in re.finditer(r"\{", text)][-MOST_OBJECTS:]:
        if start < at:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if named := list(_within(value, name)):
            found += named
            before, at = before + text[at:start], end
    return found, before, text[at:]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        values[name] = TWICE if name in values else value
    return values


def _within(value: Any, name: str) -> Iterator[dict[str, Any]]:
    """An object and those in it, as deep as the decoder goes; of each other object, its parts."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if name in one:
                yield one
            left += reversed(one.values())
        elif isinstance(one, list):
            left += reversed(one)


# Of an answer: longer ones are read from their end, and no more of their braces are tried
LONGEST = 100_000
MOST_OBJECTS = 1000
TWICE = object()
_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=float)


def _letter(value: Any) -> str | None:
    letter = value.strip().upper() if isinstance(value, str) else ""
    return letter if letter in SIDES else None


def percent(said: Any) -> float | None:
    """A number, or the text of one; up to 1 it is a probability. None where it is none, or out of the scale."""
    if isinstance(said, str) and (number := _NUMBER.fullmatch(said.strip())):
        said = float(number.group(1).replace(",", "."))
    if not isinstance(said, int | float) or isinstance(said, bool):
        return None
    value = 100.0 * said if said <= 1 else float(said)
    return value if 0 <= value <= MOST_CONFIDENCE else None


def _with(side: str, stated: float | None) -> Chosen:
    if stated is None or stated >= LEAST_CONFIDENCE:
        return Chosen(side, stated)
    return Chosen(side, is_below_half=True)


def read_percent(text: str) -> float | None:
    """A confidence from 0 to 100 that is the whole text, with a percent sign and a period at most; or {"confidence": N}.

    >>> [read_percent(said) for said in ("85", "85 %.", '{"confidence": 7.5}', "about 85", "-1", "101")]
    [85.0, 85.0, 7.5, None, None, None]
    """
    text = unicodedata.normalize("NFKC", text).strip()
    if found := re.fullmatch(r'\{\s*"confidence"\s*:\s*+"?+([^"{}]*+)"?+\s*\}', text):
        text = found.group(1).strip()
    number = _NUMBER.fullmatch(text.strip("*`").removesuffix("."))
    value = float(number.group(1).replace(",", ".")) if number else -1.0
    return value if 0 <= value <= MOST_CONFIDENCE else None
