"""Tokens of a run's questions, counted before it starts by who bills them: the server, on some of them."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from scoring.backends.opening import open_generator
from scoring.backends.registry import Place, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message, Usage

N_ASKED = 5
# Somebody waits for it: a server that fails is not asked for long
SOON = {"timeout": "60", "retry_seconds": "60", "tries": "2", "concurrency": str(N_ASKED)}


@dataclass(frozen=True, slots=True)
class Counted:
    """The tokens of so many questions together."""

    n: int
    usage: Usage

    def of(self, n: int) -> Usage | None:
        """The tokens that so many will take; None where none is known.

        >>> Counted(5, Usage(500, 52)).of(1000)
        Usage(prompt_tokens=100000, completion_tokens=10400, thought_tokens=0)
        """
        if not self.n:
            return None
        read, written = self.usage.prompt_tokens * n, self.usage.completion_tokens * n
        return Usage(round(read / self.n), round(written / self.n))


def count_by_asking(
    kind: str,
    args: Mapping[str, str],
    conversations: Sequence[Sequence[Message]],
    schema: Mapping[str, Any] | None = None,
) -> Counted:
    """The tokens of five of these, spread over all of them, by the usage that the server reports. Their answers are not kept.

    Raises:
        ScoringError: the model cannot be asked, or does not report what it took.
    """
    n = min(N_ASKED, len(conversations))
    chosen = [conversations[len(conversations) * i // n] for i in range(n)]
    generator = open_generator(kind, {**args, **(SOON if place_of(kind) == Place.SERVER else {})})
    try:
        with ThreadPoolExecutor(min(generator.concurrency, n) or 1) as threads:
            answers = list(threads.map(lambda turns: generator.generate(turns, schema), chosen))
    finally:
        generator.close()
    known = [answer.usage for answer in answers if answer.usage is not None]
    if not known:
        raise ScoringError("The server does not report how many tokens it read and wrote.")
    return Counted(len(known), sum(known, Usage()))
