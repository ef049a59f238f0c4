"""Reads answers that a model gave elsewhere: an object for each, of a line of JSON or a row of a table. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lib import strict_json
from lib.files import not_json
from scoring.domain.generating import Finish, Usage, storable
from scoring.domain.thinking import apart

MOST_CHARACTERS = 1_000_000  # of a line
MOST_TOKENS = 10**12
MOST = {"seconds": 10**7, "confidence": 100}
AS_IT_CAME = ("answer", "raw")
ANSWER_COLUMNS = ("key", "question", "answer", "finish", "prompt_tokens", "completion_tokens", "seconds", "confidence")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer to the question with this key, or, where the key is empty, with this text.

    thought: what stood before the answer, in tags. confidence: that the answer is right, 0 to 100 as it is said; None where it is not.
    """

    key: str
    question: str
    text: str
    finish: Finish
    usage: Usage | None
    seconds: float  # 0 where it is not said
    confidence: float | None
    thought: str = ""


def read_answer(value: Mapping[str, Any]) -> ReadAnswer:
    """Read ANSWER_COLUMNS, of which all but "answer", and "key" or "question", may be missing.

    Raises:
        ValueError: what is wrong, in words that go on after the place.

    >>> read_answer({"key": "q1", "answer": "SNCA."}).finish
    <Finish.STOP: 'stop'>
    """
    key, question, text = (text_of(value, name) for name in ("key", "question", "answer"))
    if not key and not question:
        raise ValueError("key or question is missing")
    if "answer" not in value:
        raise ValueError("answer is missing")
    seconds, confidence = number_of(value, "seconds"), number_of(value, "confidence")
    said = apart(text, finish_of(value))
    usage = usage_of(value)
    return ReadAnswer(
        key, question, said.text, said.finish, usage, seconds or 0.0, confidence, said.thought
    )


def object_of(line: str) -> dict[str, Any]:
    """A line's JSON object. Raises ValueError where it is none."""
    if len(line) > MOST_CHARACTERS:
        raise ValueError(f"it has more than {MOST_CHARACTERS:,} characters")
    try:
        value = strict_json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is not JSON ({not_json(error)})") from error
    if not isinstance(value, dict):
        raise ValueError("this is not a JSON object")
    return value


def text_of(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{name} is not a text")
    text = storable(found or "")
    return text if name in AS_IT_CAME else text.strip()


def finish_of(value: Mapping[str, Any]) -> Finish:
    said = value.get("finish")
    if said is not None and said not in list(Finish):
        known = ", ".join(Finish)
        raise ValueError(f"finish is not one of {known}")
    return Finish(said or Finish.STOP)


def usage_of(value: Mapping[str, Any]) -> Usage | None:
    read, written = value.get("prompt_tokens"), value.get("completion_tokens")
    if read is None and written is None:
        return None
    return Usage(_tokens(read), _tokens(written))


def _tokens(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_TOKENS:
        raise ValueError("prompt_tokens and completion_tokens are not two whole numbers from 0")
    return value


def number_of(value: Mapping[str, Any], name: str) -> float | None:
    """None where it is not said."""
    said, most = value.get(name), MOST[name]
    if said is None:
        return None
    if type(said) not in (int, float) or not 0 <= said <= most:
        raise ValueError(f"{name} is not a number from 0 to {most:,}")
    return float(said)
