"""Checks, before anything is scored, a server that is asked with strings. Knows nothing of HTTP.

Its numbers are right by definition where it gives a token the same one, echoed in a text, as when it generates that
token after the text before it. So sentences are cut in several places, the token that comes next is forced, and its
number compared with the echoed one; another token in its place must get another number.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from scoring.backends.completions.answers import Answer, AnswerError, text_logprobs
from scoring.backends.completions.checks import (
    NEEDED,
    SENTENCES,
    SINGLE,
    check_beginnings,
    check_repeats,
    check_texts_differ,
    remarks,
    same_nats,
)
from scoring.domain.backend import LogProbs, TextError

Ids = list[int]
# Scores all of these
Echo = Callable[[Sequence[Ids]], list[Answer]]
# The log-probability of each token as the one generated after the ids
Force = Callable[[Sequence[tuple[Ids, int]]], list[float]]


class Strings(Protocol):
    """As `ByStrings`."""

    def ids_of(self, text: str) -> Ids: ...

    def text_of(self, ids: Sequence[int]) -> str: ...

    def is_text(self, ids: Sequence[int]) -> bool: ...


CUTS = (0.3, 0.6, 0.9)  # of a sentence
FEWEST_PLACES = 6


def probe_strings(echo: Echo, force: Force, strings: Strings, longest: Ids | None) -> list[str]:
    """Check the server; what comes back are remarks for the person who scores with it.

    Args:
        strings: which ids a string becomes, and which string stands for ids.
        longest: the longest of the texts to come; asked for twice, and once with another end.
    Raises:
        AnswerError: the server cannot be used: what it did, and what it would have to do.
        ScoringError: from `echo` and `force`.
    """
    prompts: list[Ids] = [strings.ids_of(s) for s in SENTENCES]
    repeated = longest or prompts[0]
    varied, n_same = _other_end(strings, repeated)
    *answers, once, again, other = echo([*prompts, repeated, repeated, varied])
    values = [_numbers(answer) for answer in answers]
    check_texts_differ(values)
    noise = check_repeats(once, again)
    check_beginnings(once, other, n_same)
    places = [
        (n, at)
        for n, prompt in enumerate(prompts)
        for at in sorted({int(len(prompt) * cut) for cut in CUTS})
        if at > 1 and strings.is_text(prompt[:at])
    ]
    if len(places) < FEWEST_PLACES:
        raise AnswerError(
            "takes no token ids, and the tokenizer given makes other tokens of a sentence that is cut: it cannot be checked"
        )
    _check_alignment(force, prompts, values, places, same_nats(values, noise))
    return remarks(noise)


def _check_alignment(
    force: Force,
    prompts: Sequence[Ids],
    values: Sequence[LogProbs],
    places: Sequence[tuple[int, int]],
    limit_nats: float,
) -> None:
    echoed = np.array([values[n][at] for n, at in places])
    right = force([(prompts[n][:at], prompts[n][at]) for n, at in places])
    gaps = np.abs(echoed - right)
    if not (np.median(gaps) <= limit_nats and gaps.max() <= SINGLE * limit_nats):
        worst = int(np.argmax(gaps))
        raise AnswerError(
            f"gave a token that it generated the log-probability {right[worst]:.4g}, and the same token, scored by echo in "
            f"its place, {echoed[worst]:.4g}; {NEEDED}"
        )
    # The token before it stands for any other
    wrong = force([(prompts[n][:at], prompts[n][at - 1]) for n, at in places])
    if np.median(np.abs(echoed - wrong)) <= limit_nats:
        raise AnswerError(
            f"gave the token that it generated the same log-probability whichever it was; {NEEDED}"
        )


def _numbers(answer: Answer) -> LogProbs:
    try:
        return text_logprobs(answer)
    except TextError as error:
        raise AnswerError(f"cannot score a simple sentence, which {error}") from error


def _other_end(strings: Strings, ids: Ids) -> tuple[Ids, int]:
    """A text that begins as these ids do and ends in another way, and how many tokens they share."""
    words = strings.text_of(ids).split(" ")
    cut = " ".join(words[: max(1, 2 * len(words) // 3)])
    other = strings.ids_of(f"{cut} {SENTENCES[1]}")
    n = min(len(ids), len(other))
    differ = np.flatnonzero(np.array(ids[:n]) != np.array(other[:n]))
    return other, int(differ[0]) if differ.size else n
