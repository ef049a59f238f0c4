"""The interface of scoring backends: token ids of texts in, token log-probabilities out. Knows no model and no library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int64]
LogProbs = npt.NDArray[np.float64]


class ScoringError(Exception):
    """A run cannot start or go on; the message is one sentence for the person who started it.

    option: the command's option that is wrong, "" where it is none.
    """

    def __init__(self, sentence: str, *, option: str = "") -> None:
        super().__init__(sentence)
        self.option = option

    @property
    def for_terminal(self) -> str:
        return f"{self.option}: {self}" if self.option else str(self)


class NoAnswerError(ScoringError):
    """These messages alone have no answer, however often they were asked; others may have one."""

    resent = 0  # requests that were sent after the first, in vain


class TextError(Exception):
    """One text cannot be scored; the message says why, in words that go on after its name. The rest goes on."""


@dataclass(frozen=True)
class TokenText:
    """A text as a model sees it: its ids (T,), and the name by which errors speak of it."""

    name: str
    ids: TokenIds


# Texts that share a beginning, as the two versions of an item do: to be scored in one go where that is cheaper.
Group = Sequence[TokenText]
# For each text (T,) natural logarithms of its tokens' probabilities, NaN first; or why there are none.
GroupResult = Sequence[LogProbs | TextError]


class Backend(Protocol):
    """A model that scores texts. Made by `scoring.services.open_model`, closed after use."""

    kind: str
    # A fast Hugging Face tokenizer: encodes with character offsets, may have a chat template.
    tokenizer: Any
    # Longest text that the model takes, in tokens; None where there is no limit.
    context_tokens: int | None

    def identity(self) -> Mapping[str, Any]:
        """Everything that decides the numbers, as JSON: model name, revision, hashes, dtype, device, attention, versions, strategy."""
        ...

    def prepare(self, groups: Sequence[Group]) -> None:
        """Check, before anything is scored, how (or whether) this model can be scored right; called once per run.

        Raises:
            ScoringError: it cannot.
        """
        ...

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        """Groups (by index) that are scored together; the same for the same groups.

        `batch_tokens` None lets the backend choose.
        """
        ...

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        """Score one planned batch. The same batch gives the same bits, whatever was scored before it.

        Raises:
            ScoringError: the run cannot go on (a server is gone, memory is exhausted).
        """
        ...

    def close(self) -> None:
        """Let go of memory and connections; may be called twice."""
        ...


PAIRS_PER_SLICE = 50  # or other groups, after which a worker is another job's if one waits


def planned(model: Backend, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
    """The model's plan, in which no batch that somebody chose is longer than a slice: between batches a stop is heeded."""
    batches = model.plan(groups, batch_tokens) if groups else []
    if batch_tokens is None:
        return batches
    return [part for batch in batches for part in in_parts(batch, PAIRS_PER_SLICE)]


def in_parts(batch: list[int], most: int) -> list[list[int]]:
    """
    >>> in_parts([1, 2, 3, 4, 5], 2)
    [[1, 2], [3, 4], [5]]
    """
    return [batch[n : n + most] for n in range(0, len(batch), most)]
