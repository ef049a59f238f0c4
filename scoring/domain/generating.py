"""What a text generator is: messages in, a text out, with what it took. Knows no model and no library."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

MILLION = 1_000_000
DEPTH = 50  # of an answer's JSON


def storable(text: str) -> str:
    r"""A text without what no database stores: NUL, and halves of surrogate pairs.

    >>> storable("a\x00b\ud800")
    'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def storable_json(value: Any, depth: int = DEPTH) -> Any:
    r"""A value that JSON brought, without what no database stores: also no numbers that are none, nor what is nested deeper.

    >>> storable_json({"a\x00": [1.5, float("inf")]})
    {'a': [1.5, 'inf']}
    """
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict | list) and not depth:
        return "…"
    if isinstance(value, dict):
        return {storable(str(k)): storable_json(v, depth - 1) for k, v in value.items()}
    return [storable_json(v, depth - 1) for v in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Message:
    """A turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Finish(StrEnum):
    """How an answer came to its end. All but `stop` are no whole answer."""

    STOP = "stop"
    LENGTH = "length"  # cut off at the most tokens that it may have
    REFUSED = "refused"  # the model declined, in words of its own
    FILTERED = "filtered"  # a filter of the server kept it back
    TOO_LONG = "too_long"  # the messages do not fit into the model's window
    EMPTY = "empty"  # ended without a word
    FAILED = "failed"  # no answer came, however often it was asked


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were read and written."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """
        >>> Usage(10, 2) + Usage(1, 1)
        Usage(prompt_tokens=11, completion_tokens=3)
        """
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Of a million tokens, in whatever currency."""

    prompt: Decimal
    completion: Decimal

    def cost(self, usage: Usage) -> Decimal:
        """
        >>> Prices(Decimal("2.50"), Decimal(10)).cost(Usage(1_000_000, 200_000))
        Decimal('4.50')
        """
        return (
            self.prompt * usage.prompt_tokens + self.completion * usage.completion_tokens
        ) / MILLION


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer.

    usage: None where the server does not say. seconds: from asking to the end, pauses included. model: as the server calls
    it. detail: why there is no whole answer, in the server's words. request: the parameters as they were sent. raw: what
    the server sent, as JSON.
    """

    text: str
    finish: Finish
    usage: Usage | None
    seconds: float
    model: str = ""
    detail: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = field(default_factory=dict)


class Generator(Protocol):
    """A model that writes. Made by `scoring.backends.opening`, closed after use."""

    kind: str
    # How many threads may call `generate` at a time
    concurrency: int
    # An answer has at most so many
    max_tokens: int

    def identity(self) -> Mapping[str, Any]:
        """What decides the texts, as JSON: the model and how it writes."""
        ...

    def generate(
        self, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
    ) -> Generated:
        """Answer the messages.

        Args:
            schema: JSON Schema of the answer, for a generator that can hold to one; others pass over it.
        Raises:
            NoAnswerError: these alone cannot be answered.
            ScoringError: no further message can be answered either.
        """
        ...

    def close(self) -> None:
        """Let go of memory and connections, requests under way included; may be called twice."""
        ...


@runtime_checkable
class BatchGenerator(Generator, Protocol):
    """One that answers several conversations at once faster than one after the other, and in the same words."""

    # How many at once, at least 1
    batch: int

    def generate_many(self, conversations: Sequence[Sequence[Message]]) -> list[Generated]:
        """An answer to each; the seconds that they took together are shared out evenly.

        Raises:
            ScoringError: as `generate`.
        """
        ...


MOST_CHARACTERS = 1_000_000  # of a line
MOST_TOKENS = 10**12
MOST = {"seconds": 10**7, "confidence": 100}


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """Of the question with this key, or, where the key is empty, with this text.

    confidence: that the answer is right, 0 to 100 as it is said; None where it is not.
    """

    key: str
    question: str
    text: str
    finish: Finish
    usage: Usage | None
    seconds: float  # 0 where it is not said
    confidence: float | None


def read_answer(line: str) -> ReadAnswer:
    """Read {"key" or "question", "answer", and, if known, "finish", "prompt_tokens", "completion_tokens", "seconds", "confidence"}.

    Raises:
        ValueError: what is wrong, in words that go on after the place.

    >>> read_answer('{"key": "q1", "answer": "SNCA."}').finish
    <Finish.STOP: 'stop'>
    """
    if len(line) > MOST_CHARACTERS:
        raise ValueError(f"it has more than {MOST_CHARACTERS:,} characters")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"this is no JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValueError("this is no JSON object")
    key, question, text = (_text(value, name) for name in ("key", "question", "answer"))
    if not key and not question:
        raise ValueError("key or question is missing")
    if "answer" not in value:
        raise ValueError("answer is missing")
    seconds, confidence = _number(value, "seconds"), _number(value, "confidence")
    return ReadAnswer(
        key, question, text, _finish(value, text), _usage(value), seconds or 0.0, confidence
    )


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{name} is no text")
    text = storable(found or "")
    return text if name == "answer" else text.strip()


def _finish(value: Mapping[str, Any], text: str) -> Finish:
    said = value.get("finish")
    if said is not None and said not in list(Finish):
        known = ", ".join(Finish)
        raise ValueError(f"finish is none of {known}")
    finish = Finish(said or Finish.STOP)
    return Finish.EMPTY if finish == Finish.STOP and not text.strip() else finish


def _usage(value: Mapping[str, Any]) -> Usage | None:
    read, written = value.get("prompt_tokens"), value.get("completion_tokens")
    if read is None and written is None:
        return None
    return Usage(_tokens(read), _tokens(written))


def _tokens(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MOST_TOKENS:
        raise ValueError("prompt_tokens and completion_tokens are not two whole numbers from 0")
    return value


def _number(value: Mapping[str, Any], name: str) -> float | None:
    """None where it is not said."""
    said, most = value.get(name), MOST[name]
    if said is None:
        return None
    if type(said) not in (int, float) or not 0 <= said <= most:
        raise ValueError(f"{name} is no number from 0 to {most:,}")
    return float(said)
