"""How any model reads texts: how long they may be, what becomes of longer ones, how they begin, how many are scored at once.

`max_length`, `overlong`, `add_bos_token` and `batch_size` of `--model_args` mean the same for all kinds of models: here a
model's own backend gets a wrapper, or its tokenizer another beginning, where they ask for one. A backend that nobody asks
this of stays as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from scoring.backends import OVERLONG, READING_ARGS, is_true, wrong
from scoring.domain.backend import (
    Backend,
    Group,
    GroupResult,
    LogProbs,
    ScoringError,
    TextError,
    TokenText,
)
from scoring.domain.encoding import Window, rolling_windows

LEAST = 2  # tokens: the second is the first that has a probability


@dataclass(frozen=True, slots=True)
class Reading:
    """The way of reading that was asked for; None and "" where nothing was."""

    max_length: int | None = None  # tokens
    overlong: str = ""
    batch_size: int | None = None  # texts
    add_bos_token: bool | None = None

    @classmethod
    def of(cls, args: Mapping[str, str]) -> "Reading":
        """Read the arguments.

        Raises:
            ScoringError: one is not a number in its range, or not a choice.

        >>> Reading.of({"max_length": "512", "overlong": "rolling", "batch_size": "auto"})
        Reading(max_length=512, overlong='rolling', batch_size=None, add_bos_token=None)
        """
        overlong = args.get("overlong", "")
        if overlong and overlong not in OVERLONG:
            raise wrong(f"overlong={overlong}: choose one of {', '.join(OVERLONG)}")
        size = args.get("batch_size", "auto")
        return cls(
            _number("max_length", args["max_length"], LEAST) if "max_length" in args else None,
            "" if overlong == "refuse" else overlong,
            None if size.partition(":")[0] == "auto" else _number("batch_size", size, 1),
            is_true(args, "add_bos_token"),
        )

    def batch_tokens(self, groups: Sequence[Group]) -> int | None:
        """How many tokens are scored at once: as many as `batch_size` texts of the longest one's length."""
        if self.batch_size is None:
            return None
        longest = max((len(text.ids) for group in groups for text in group), default=1)
        return self.batch_size * min(longest, self.max_length or longest)


def without_reading(args: Mapping[str, str]) -> dict[str, str]:
    """The arguments that are left for the model's own backend."""
    return {name: value for name, value in args.items() if name not in READING_ARGS}


def read_so(backend: Backend, reading: Reading) -> Backend:
    """The backend, or one around it that reads as was asked.

    Raises:
        ScoringError: this model cannot; it is closed then.
    """
    try:
        if reading.add_bos_token is not None:
            # Here, because pages read this module and must not load transformers
            from scoring.backends.tokenizers import set_start_token

            set_start_token(backend.tokenizer, reading.add_bos_token)
        if reading.max_length is None and not reading.overlong:
            return backend
        own = backend.context_tokens
        window = reading.max_length or own
        if window is None:
            raise wrong(
                f"overlong={reading.overlong}: this model does not have a window. Set it with max_length"
            )
        if own is not None and window > own:
            raise wrong(f"max_length={window}: the model's window has {own:,} tokens")
        return Windowed(backend, window, reading.overlong)
    except ScoringError:
        backend.close()
        raise


class Windowed:
    """A backend that is given no text longer than `window` tokens.

    With overlong `rolling` it takes texts of any length and reads longer ones in windows; `truncate` is done where texts
    are encoded, and else they are refused there.
    """

    def __init__(self, backend: Backend, window: int, overlong: str) -> None:
        self.backend, self.window, self.overlong = backend, window, overlong
        self.kind, self.tokenizer = backend.kind, backend.tokenizer
        self.context_tokens = None if overlong == "rolling" else window

    def identity(self) -> Mapping[str, Any]:
        asked = {"max_length": self.window, "overlong": self.overlong or "refuse"}
        return {**self.backend.identity(), **asked}

    def prepare(self, groups: Sequence[Group]) -> None:
        self.backend.prepare([part.group for group in groups for part in self._parts(group)])

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        whole = [[text for part in self._parts(group) for text in part.group] for group in groups]
        return self.backend.plan(whole, batch_tokens)

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        parts = [self._parts(group) for group in groups]
        results = iter(self.backend.score([part.group for of_group in parts for part in of_group]))
        joined: list[GroupResult] = []
        for group, of_group in zip(groups, parts, strict=True):
            # Each text's log-probabilities from its windows'; or why one of them has none
            whole: list[LogProbs | TextError] = [np.full(len(text.ids), np.nan) for text in group]
            for part in of_group:
                for (n, window), result in zip(part.places, next(results), strict=True):
                    of_text = whole[n]
                    if isinstance(of_text, TextError):
                        continue
                    if isinstance(result, TextError):
                        whole[n] = result
                    else:
                        of_text[window.scored : window.stop] = result[
                            window.scored - window.start :
                        ]
            joined.append(whole)
        return joined

    def close(self) -> None:
        self.backend.close()

    def _parts(self, group: Group) -> list["_Part"]:
        """Windows that go through the model side by side: those that begin at the same place and with the same token."""
        windows = [rolling_windows(len(text.ids), self.window) for text in group]
        parts = [_part(group, [(n, of_text[0]) for n, of_text in enumerate(windows)])]
        later = [(n, window) for n, of_text in enumerate(windows) for window in of_text[1:]]

        def beginning(one: tuple[int, Window]) -> tuple[int, int]:
            n, window = one
            return window.start, int(group[n].ids[window.start])

        for _, alike in groupby(sorted(later, key=beginning), key=beginning):
            parts.append(_part(group, list(alike)))
        return parts


@dataclass(frozen=True, slots=True)
class _Part:
    """A group for the model's own backend, and for each of its texts whose window it is (number in the group)."""

    group: Group
    places: Sequence[tuple[int, Window]]


def _part(group: Group, places: Sequence[tuple[int, Window]]) -> _Part:
    texts = []
    for n, window in places:
        text = group[n]
        is_whole = window.stop - window.start == len(text.ids)
        name = text.name if is_whole else f"{text.name}, from token {window.start + 1}"
        texts.append(TokenText(name, text.ids[window.start : window.stop]))
    return _Part(texts, places)


def _number(name: str, text: str, least: int) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) >= least):
        raise wrong(f"{name}={text}: expected a whole number from {least}")
    return int(text)


def in_order(groups: Sequence[Group], most_tokens: int) -> list[list[int]]:
    """Groups (by index) that are scored together: as many as have at most so many tokens, and at least one."""
    batches: list[list[int]] = []
    filled = 0
    for index, group in enumerate(groups):
        tokens = sum(len(text.ids) for text in group)
        if not batches or filled + tokens > most_tokens:
            batches.append([])
            filled = 0
        batches[-1].append(index)
        filled += tokens
    return batches
