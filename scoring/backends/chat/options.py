"""The arguments of a chat server, and of how any generator writes, read from texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scoring.backends.http.policy import RetryPolicy, read_number, read_policy
from scoring.domain.backend import ScoringError

WRITING = ("max_tokens", "temperature", "top_p", "seed")
NAMES = ("base_url", "model", "concurrency", "timeout", "retry_seconds", "tries", *WRITING)
MAX_TOKENS = 4096


@dataclass(frozen=True)
class Writing:
    """How an answer is drawn; None leaves it to the server, and means greedy for a model in this process."""

    max_tokens: int
    temperature: float | None
    top_p: float | None
    seed: int | None

    def as_dict(self) -> dict[str, Any]:
        """What was asked for.

        >>> Writing(100, 0.0, None, None).as_dict()
        {'max_tokens': 100, 'temperature': 0.0}
        """
        return {name: value for name in WRITING if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class ChatOptions:
    base_url: str
    model: str
    concurrency: int
    policy: RetryPolicy
    writing: Writing


def read_writing(args: Mapping[str, str]) -> Writing:
    """Check and read how answers are drawn.

    Raises:
        ScoringError: a number is none, or out of its range.

    >>> read_writing({"temperature": "0.7"}).temperature
    0.7
    """

    def number(name: str, most: float, whole: bool = False) -> float | None:
        if name not in args:
            return None
        return read_number(args, name, 0, 0, most, whole=whole, kind="a number")

    seed = number("seed", 2**31 - 1, whole=True)
    return Writing(
        max_tokens=int(read_number(args, "max_tokens", MAX_TOKENS, 1, 1_000_000)),
        temperature=number("temperature", 2),
        top_p=number("top_p", 1),
        seed=None if seed is None else int(seed),
    )


def read_chat_options(args: Mapping[str, str]) -> ChatOptions:
    """Check and read the arguments of a chat server.

    Raises:
        ScoringError: one is missing, unknown or not a number in its range.

    >>> read_chat_options({"base_url": "http://localhost:8000", "model": "m"}).concurrency
    4
    """
    unknown = [name for name in args if name not in NAMES]
    if unknown:
        raise ScoringError(
            f"A chat server takes no argument “{unknown[0]}”: there are {', '.join(NAMES)}."
        )
    missing = [name for name in NAMES[:2] if not str(args.get(name, "")).strip()]
    if missing:
        raise ScoringError(f"A chat server needs {' and '.join(missing)}.")
    return ChatOptions(
        base_url=args["base_url"],
        model=args["model"],
        concurrency=int(read_number(args, "concurrency", 4, 1, 64)),
        policy=read_policy(args, 180, 900),
        writing=read_writing(args),
    )
