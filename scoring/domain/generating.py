"""The interface of text generators: messages in, a text out, with what it took. Knows no model and no library."""

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
    THINKING = "thinking"  # a thought that did not come to its end, and so no answer
    FAILED = "failed"  # no answer came, however often it was asked


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was written, the natural logarithm of its probability, and the likeliest ones in its place, each with its own.

    Several tokens may have one text. Nothing here is checked.
    """

    text: str
    logprob: float
    likeliest: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were read and written; of those written, how many were of a thought, where the server says so."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    thought_tokens: int = 0

    @property
    def total(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """
        >>> Usage(10, 2) + Usage(1, 1)
        Usage(prompt_tokens=11, completion_tokens=3, thought_tokens=0)
        """
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.thought_tokens + other.thought_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a million tokens, in whatever currency."""

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

    thought: what the model thought aloud before it, which is no part of it. usage: None where the server does not say. seconds: from asking to the end, pauses included. model: as the server calls
    it. detail: why there is no whole answer, in the server's words. request: the parameters as they were sent. raw: what
    the server sent, as JSON. tokens: where they were asked for, and the server gives them. resent: requests after the first.
    """

    text: str
    finish: Finish
    usage: Usage | None
    seconds: float
    model: str = ""
    detail: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    raw: Any = field(default_factory=dict)
    thought: str = ""
    tokens: Sequence[Token] = ()
    resent: int = 0


class Generator(Protocol):
    """A model that writes. Made by `scoring.backends.opening`, closed after use."""

    kind: str
    # How many threads may call `generate` at a time
    concurrency: int
    # An answer has at most so many
    max_tokens: int

    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the texts, as JSON: the model and how it writes."""
        ...

    def generate(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None = None,
        *,
        sample: int = 0,
        wants_tokens: bool = False,
    ) -> Generated:
        """Answer the messages.

        Args:
            schema: JSON Schema of the answer, for a generator that can hold to one; others pass over it.
            sample: which of several answers to these messages, from 0; it is added to the seed.
            wants_tokens: whether the likeliest tokens are asked for, of a generator that knows them.
        Raises:
            NoAnswerError: these alone cannot be answered.
            ScoringError: no further message can be answered either.
        """
        ...

    def close(self) -> None:
        """Let go of memory and connections, requests under way included; may be called twice."""
        ...


@runtime_checkable
class RemoteGenerator(Generator, Protocol):
    """One that sends a request again where a server fails, is busy or refuses a parameter."""

    # How many requests were sent after the first for the same messages, so far
    resent: int


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
