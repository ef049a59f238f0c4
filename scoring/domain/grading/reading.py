"""Grades in a judge's text: those that say one number and no other, or nothing. No number is searched for in words."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.domain.choosing.reading import LONGEST, objects_with
from scoring.domain.grading.rubric import TOLERANCE, Rubric

MOST_CHARACTERS = 200  # nothing that is only a number is longer
# The hyphen, and what models write for it: minus, en dash, fullwidth and small hyphen-minus
MINUS = "-\u2212\u2013\uff0d\ufe63"
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n[ \t]*```", re.DOTALL)
_PAIRS = (
    ("**", "**"),
    ("*", "*"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("\u2018", "\u2019"),
)
_SIGN = f"[+{re.escape(MINUS)}]?"
_NUMBER = re.compile(rf"({_SIGN})([0-9]*\.[0-9]+|[0-9]+)")
_WITH_COMMA = re.compile(rf"({_SIGN})([0-9]+),([0-9]+)")


def read_points(text: str, rubric: Rubric) -> float | None:
    """The points that a judge's whole text is.

    It is one number, with white space, one pair of quotes, asterisks or backticks and a final period around it at most, in a
    code fence or not; or a JSON object with "points", a number, whatever words that has beside it, inside and around, but with no
    other number. Points over the top count as the top; numbers that the rubric cannot give (2.7, -0.5) are kept as they are: they are on its scale, and fates are by
    thresholds. A comma is the decimal sign where it cannot part two grades: the number is one that the rubric gives, and what
    follows the comma is more than the top.

    Returns:
        None: unparsed. Then nothing is known of the answer, and no number of the text is taken for its grade.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> [read_points(text, BIOSCORE) for text in ("2.5", "**3**", "\u22121", '{"points": 0, "why": "No."} So be it.', "2,5", "4")]
    [2.5, 3.0, -1.0, 0.0, 2.5, 3.0]
    >>> [read_points(text, BIOSCORE) for text in ("1. Right. Final: 3.0", "3/3", "2-3", "2,3", "3e0", "three")]
    [None, None, None, None, None, None]
    """
    text = text.strip()[-LONGEST:]
    objects, before, after = objects_with(text, "points")
    if objects:
        found = _of_objects(objects, before + after)
    elif len(text) > MOST_CHARACTERS:
        return None
    else:
        fenced = _FENCE.fullmatch(text)
        found = _of_number(_bare(fenced.group(1).strip() if fenced else text), rubric)
    # A zero with a sign is a zero
    return None if found is None else min(found, rubric.top) + 0.0


def schema(rubric: Rubric) -> Mapping[str, Any]:
    """JSON Schema of a grade, for a judge that can be held to one: `read_points` reads what it allows."""
    return {
        "type": "object",
        "properties": {"points": {"type": "number", "enum": list(rubric.values)}},
        "required": ["points"],
        "additionalProperties": False,
    }


def _of_objects(objects: Sequence[Mapping[str, Any]], around: str) -> float | None:
    """The points that all of them say, where neither they nor the words around them say another number."""
    points = [one["points"] for one in objects]
    others = [value for one in objects for name, value in one.items() if name != "points"]
    is_number = isinstance(points[0], int | float) and not isinstance(points[0], bool)
    if not is_number or not math.isfinite(points[0]) or any(one != points[0] for one in points):
        return None
    if (
        any(c.isdigit() for c in f"{around}{json.dumps(others, default=str)}")
        or '"points"' in around
    ):
        return None
    return float(points[0])


def _bare(text: str) -> str:
    """Without a final period and a pair of marks, in either order, each once."""
    without_period = text.removesuffix(".")
    for begin, end in _PAIRS:
        if len(text) > len(begin) + len(end):
            for outer in (text, without_period):
                if outer.startswith(begin) and outer.endswith(end):
                    inner = outer[len(begin) : -len(end)]
                    return inner.removesuffix(".") if outer == text else inner
    return without_period


def _of_number(text: str, rubric: Rubric) -> float | None:
    if found := _NUMBER.fullmatch(text):
        return _signed(found.group(1), found.group(2))
    if found := _WITH_COMMA.fullmatch(text):
        sign, whole, rest = found.groups()
        value = _signed(sign, f"{whole}.{rest}")
        is_given = any(abs(value - given) < TOLERANCE for given in rubric.values)
        return value if is_given and int(rest) > rubric.top else None
    return None


def _signed(sign: str, digits: str) -> float:
    return -float(digits) if sign and sign in MINUS else float(digits)


NOT_KNOWING = (
    "i do not know", "i don t know", "i dont know", "i am not sure", "i cannot answer", "i can t answer",
    "i am unable to answer", "unknown", "not known",
)  # fmt: skip
_NO_WORD = re.compile(r"[\W_]+")


def normalised(text: str) -> str:
    """Words alone: compatibility forms, case, punctuation and white space make no difference.

    >>> normalised("  The “GBA1” gene.\\n")
    'the gba1 gene'
    """
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def is_abstention(text: str) -> bool:
    """True if an answer begins by saying that its writer does not know.

    >>> is_abstention("I don't know."), is_abstention("Unknownase")
    (True, False)
    """
    return f"{normalised(text)} ".startswith(tuple(f"{words} " for words in NOT_KNOWING))


def exact_points(answer: str, expert_answer: str, rubric: Rubric) -> float:
    """The most points for the expert's words, the rubric's number for an abstention, else 0.

    >>> from scoring.domain.grading.rubric import BIOSCORE
    >>> [exact_points(answer, "LRRK2.", BIOSCORE) for answer in ("lrrk2", "I do not know", "GBA1")]
    [3.0, -1.0, 0.0]
    """
    if normalised(answer) == normalised(expert_answer):
        return rubric.top
    if rubric.abstention is not None and is_abstention(answer):
        return rubric.abstention
    return 0.0
