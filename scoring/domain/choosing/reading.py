"""What of a model's text is a choice: the whole answer, or none of it. No letter is searched for in words.

export_inspect_task copies this file, to read answers elsewhere by the same rules: it needs nothing but Python.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
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
_OBJECT = re.compile(r"\{[^{}]*\}")
# What may follow the object: the end of its code fence, white space, a period
_AFTER = re.compile(r"[\s.]*(?:```)?[\s.]*")
_NUMBER = re.compile(r"([0-9]{1,3}(?:[.,][0-9]+)?)\s*%?")
_WORDS = re.compile(
    r"(?:(?:side|version|choice|answer)\s*[:=]?\s*)?(?:version\s+)?(?P<side>[AB])[\s,;:.()*]+"
    r"(?:(?:my\s+)?confidence\s*[:=]?\s*)?(?P<confidence>[0-9]{1,3}(?:[.,][0-9]+)?)\s*%?[\s.)]*",
)
_HEADS = re.compile(r"\b(side|version|choice|answer|my|confidence)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chosen:
    """side: "A" or "B". confidence: percent, 50 to 100."""

    side: str
    confidence: float


def read_choice(text: str) -> Chosen | None:
    """The choice that a text ends with.

    It is a JSON object with nothing but "side" and "confidence", as the last thing in the text, in a code fence or not; or a
    short text that is a letter and a number and nothing else. Reasoning may stand before the object. All objects that name a
    side must say the same, and a text that says anything else says nothing: it is asked for again, and never guessed.

    Returns:
        None: unparsed.

    >>> read_choice('{"side": "B", "confidence": 80}')
    Chosen(side='B', confidence=80.0)
    >>> [read_choice(said) is not None for said in ("A, 85%", "Version A. Confidence: 70 %", "A or B, 50", "A 40", "a 60")]
    [True, True, False, False, False]
    >>> read_choice('{"side": "A", "confidence": 90} or {"side": "B", "confidence": 90}') is None
    True
    """
    text = unicodedata.normalize("NFKC", text).strip()
    objects = list(_OBJECT.finditer(text))
    if not objects:
        return _of_words(text) if len(text) <= MOST_CHARACTERS else None
    if not _AFTER.fullmatch(text, objects[-1].end()):
        return None
    *others, last = [one.group() for one in objects]
    found = [_of_json(one) for one in (*(one for one in others if '"side"' in one), last)]
    return found[-1] if all(one == found[-1] for one in found) else None


def read_percent(text: str) -> float | None:
    """A confidence from 0 to 100 that is the whole text, with a percent sign and a period at most; or {"confidence": N}.

    >>> [read_percent(said) for said in ("85", "85 %.", '{"confidence": 7.5}', "about 85", "-1", "101")]
    [85.0, 85.0, 7.5, None, None, None]
    """
    text = unicodedata.normalize("NFKC", text).strip()
    if found := re.fullmatch(r'\{\s*"confidence"\s*:\s*"?([^"{}]*)"?\s*\}', text):
        text = found.group(1).strip()
    number = _NUMBER.fullmatch(text.strip("*`").removesuffix("."))
    value = float(number.group(1).replace(",", ".")) if number else -1.0
    return value if 0 <= value <= MOST_CONFIDENCE else None


def _of_json(text: str) -> Chosen | None:
    try:
        pairs = json.loads(text, object_pairs_hook=list, parse_int=float)
    except (ValueError, RecursionError):
        return None
    if [name for name, _ in sorted(pairs, key=lambda pair: pair[0])] != ["confidence", "side"]:
        return None
    values = dict(pairs)
    side, said = values["side"], values["confidence"]
    if isinstance(said, str) and (number := _NUMBER.fullmatch(said.strip())):
        said = float(number.group(1).replace(",", "."))
    is_number = isinstance(said, int | float) and not isinstance(said, bool)
    if not isinstance(side, str) or side.strip().upper() not in SIDES or not is_number:
        return None
    return _within(side.strip().upper(), float(said))


def _of_words(text: str) -> Chosen | None:
    bare = _HEADS.sub(lambda word: word.group().lower(), text.replace("*", ""))
    found = _WORDS.fullmatch(bare.strip("`\"'“” "))
    if not found:
        return None
    return _within(found["side"], float(found["confidence"].replace(",", ".")))


def _within(side: str, confidence: float) -> Chosen | None:
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        return None
    return Chosen(side, confidence)
