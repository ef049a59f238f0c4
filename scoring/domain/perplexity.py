"""From token log-probabilities to perplexities and decisions. Plain NumPy in float64; knows nothing of models.

Shapes: B texts, T tokens each, padded on the right where texts differ in length; a mask (B, T) says which
tokens count. A first token has no predecessor and so no probability: whatever stands there is never read.
"""

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lib.points import RIGHT, TIE, error_of_mean, mean_point, point
from scoring.domain.backend import GroupResult, ScoringError, TextError
from scoring.domain.conditions import MarkedText
from scoring.domain.encoding import Encoded, cut, encode
from scoring.domain.prompts import Prompt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NEAR_TIE_NATS = 0.001
CHANCE = 0.5  # of two versions one is the original


class NotFiniteError(ValueError):
    """A counted log-probability is NaN or infinite; `text` and `token` (from 0) say where."""

    def __init__(self, text: int, token: int, value: float) -> None:
        self.text, self.token, self.value = text, token, value
        super().__init__(
            f"the log-probability of token {token + 1} of text {text + 1} is {value}, not a finite number"
        )


class NothingToScoreError(ValueError):
    """A text without a single counted token; `text` (from 0) says which."""

    def __init__(self, text: int) -> None:
        self.text = text
        super().__init__(f"text {text + 1} has no token to score")


def nll_nats(logprobs: npt.ArrayLike, mask: npt.ArrayLike) -> Floats:
    """Negative log-likelihood of each text in nats: -sum of log p(x_i | x_<i) over the counted tokens.

    Args:
        logprobs: (B, T) natural logarithms of the tokens' probabilities.
        mask: (B, T) true where a token counts; the first column never does.
    Returns:
        (B,) sums, exactly rounded (so that neither padding nor order moves a digit).
    Raises:
        NotFiniteError: a counted value is NaN or infinite.
        ValueError: the shapes differ or are not (B, T).

    >>> nll_nats([[np.nan, -1.0, -2.0]], [[True, True, True]])
    array([3.])
    """
    values, counted = _checked(logprobs, mask)
    return np.array([-math.fsum(v[c].tolist()) for v, c in zip(values, counted, strict=True)])


def perplexity(logprobs: npt.ArrayLike, mask: npt.ArrayLike) -> Floats:
    """Perplexity of each text, PPL = exp(-(1/t) sum log p(x_i | x_<i)) (the paper's equation 1).

    Args:
        logprobs: (B, T) natural logarithms of the tokens' probabilities.
        mask: (B, T) true where a token counts; t is the number of counted tokens.
    Returns:
        (B,) perplexities.
    Raises:
        NotFiniteError, NothingToScoreError, ValueError.

    >>> half = np.log(0.5)
    >>> perplexity([[0.0, half, half]], [[True, True, True]])
    array([2.])
    """
    values, counted = _checked(logprobs, mask)
    t = counted.sum(axis=1)  # (B,)
    if not t.all():
        raise NothingToScoreError(int(np.argmin(t)))
    ppl: Floats = np.exp(nll_nats(values, counted) / t)
    return ppl


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on a pair of texts; the model chooses the text that surprises it less. points: 1 right, 1/2 a tie, 0 wrong."""

    points: float
    is_near_tie: bool

    @property
    def is_wrong(self) -> bool:
        return self.points not in (RIGHT, TIE)

    @property
    def word(self) -> str:
        return "wrong" if self.is_wrong else "right" if self.points == RIGHT else "a tie"


def near_tie(ppl_original: npt.ArrayLike, ppl_altered: npt.ArrayLike) -> Mask:
    """True if mean negative log-likelihoods, ln PPL, differ by less than 0.001 nat: a lower precision could turn them.

    >>> near_tie([9.0, 9.0], [9.008, 9.01]).tolist()
    [True, False]
    """
    gap = np.log(np.asarray(ppl_altered, np.float64)) - np.log(np.asarray(ppl_original, np.float64))
    return np.asarray(np.abs(gap) < NEAR_TIE_NATS)


def decide(ppl_original: float, ppl_altered: float) -> Decision:
    """Right if the original has the lower perplexity, a tie if both have the same.

    >>> decide(9.0, 10.0), decide(9.0, 9.0)
    (Decision(points=1.0, is_near_tie=False), Decision(points=0.5, is_near_tie=True))
    """
    for value in (ppl_original, ppl_altered):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{value} is not a perplexity")
    return Decision(point(ppl_altered - ppl_original), bool(near_tie(ppl_original, ppl_altered)))


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Share of correct decisions, in which a tie counts half, and its standard error; NaN without any."""

    n: int
    n_correct: int
    n_ties: int = 0

    @property
    def value(self) -> float:
        return mean_point(self.n_correct, self.n, self.n_ties)

    @property
    def sem(self) -> float:
        return error_of_mean(self.n_correct, self.n, self.n_ties)

    @property
    def known_sem(self) -> float | None:
        """None, too, where all decisions agree: that says nothing of how others would differ.

        >>> Accuracy(20, 20).known_sem, Accuracy(4, 2).known_sem
        (None, 0.25)
        """
        return self.sem if self.sem > 0 else None


def accuracy(decisions: Sequence[Decision]) -> Accuracy:
    """Count the decisions.

    >>> accuracy([decide(1.5, 2.0), decide(2.0, 1.5), decide(1.0, 1.0), decide(3.0, 4.0)])
    Accuracy(n=4, n_correct=2, n_ties=1)
    """
    kinds = [decision.points for decision in decisions]
    return Accuracy(len(kinds), kinds.count(RIGHT), kinds.count(TIE))


def _checked(logprobs: npt.ArrayLike, mask: npt.ArrayLike) -> tuple[Floats, Mask]:
    values = np.asarray(logprobs, dtype=np.float64)
    counted = np.array(mask, dtype=np.bool_)  # a copy: the first column is cleared
    if values.ndim != 2 or values.shape != counted.shape:
        raise ValueError(
            f"log-probabilities {values.shape} and mask {counted.shape} must be (B, T)"
        )
    counted[:, :1] = False
    wrong = counted & ~np.isfinite(values)
    if wrong.any():
        text, token = (int(i) for i in np.argwhere(wrong)[0])
        raise NotFiniteError(text, token, float(values[text, token]))
    return values, counted


VERSIONS = ("original", "altered")


@dataclass(frozen=True, slots=True)
class TextScore:
    """One text's sums over every token but the first (`all`) and over its own tokens (`text`)."""

    nll_all_nats: float
    nll_text_nats: float
    tokens_all: int
    tokens_text: int
    ppl: float


def reason(versions: Sequence[str], version: str, problem: object) -> str:
    """Why a text cannot be scored, when it lies in one of its versions.

    >>> reason(VERSIONS, "altered", "is empty"), reason(["text"], "text", "is empty")
    ('the altered: is empty', 'is empty')
    """
    return f"the {version}: {problem}" if len(versions) > 1 else str(problem)


def encode_versions(
    tokenizer: Any,
    prompt: Prompt,
    versions: Sequence[str],
    texts: Sequence[MarkedText],
    context_tokens: int | None,
    truncate: bool = False,
) -> tuple[Encoded, ...]:
    """Tokenise a text's versions behind the prompt.

    truncate: cut what is longer than `context_tokens`, in place of refusing it.

    Raises:
        TextError: one cannot be encoded, or is too long.
    """
    every = []
    for version, marked in zip(versions, texts, strict=True):
        try:
            every.append(encode(tokenizer, prompt, marked))
        except TextError as error:
            raise TextError(reason(versions, version, error)) from error
    encoded = tuple(every)
    if context_tokens is None:
        return encoded
    if truncate:
        return cut(encoded, context_tokens)
    for version, one in zip(versions, encoded, strict=True):
        if len(one.ids) > context_tokens:
            why = f"needs {len(one.ids):,} tokens, but the model's window has {context_tokens:,}"
            raise TextError(reason(versions, version, why))
    return encoded


def score_versions(
    name: str,
    versions: Sequence[str],
    encoded: Sequence[Encoded],
    result: GroupResult,
    counts_prompt: bool,
) -> list[TextScore]:
    """Scores of texts from a backend's log-probabilities.

    counts_prompt: whether the perplexity is of every token but the first, as published, or of the text's tokens.

    Raises:
        TextError: the model gave no number for one version.
        ScoringError: the numbers are not those of these tokens.
    """
    scores = []
    for version, one, logprobs in zip(versions, encoded, result, strict=True):
        if isinstance(logprobs, TextError):
            raise TextError(reason(versions, version, logprobs))
        if len(logprobs) != len(one.ids):
            raise ScoringError(
                f"The backend answered {len(logprobs)} numbers for the {len(one.ids)} tokens of {name}."
            )
        in_all = np.arange(len(one.ids)) > 0  # (T,) the first token has no predecessor
        in_text = in_all & one.in_text  # (T,)
        n_all, n_text = int(in_all.sum()), int(in_text.sum())
        try:
            # Both from the same pass; a number that is none anywhere spoils them both
            nll_all, nll_text = (float(nll_nats([logprobs], [m])[0]) for m in (in_all, in_text))
            if n_text == 0:
                raise NothingToScoreError(0)
            (ppl,) = perplexity([logprobs], [in_all if counts_prompt else in_text])
        except NotFiniteError as error:
            value = f"the log-probability of token {error.token + 1} is {error.value}"
            raise TextError(reason(versions, version, value)) from error
        except NothingToScoreError as error:
            raise TextError(reason(versions, version, "has no token to score")) from error
        scores.append(TextScore(nll_all, nll_text, n_all, n_text, float(ppl)))
    return scores


def zlib_bytes(text: str) -> int:
    """Length in bytes of the UTF-8 text under zlib's default compression.

    Python's zlib gives the published lengths; one built on another implementation (zlib-ng) may be a few bytes off.

    >>> zlib_bytes("a" * 1000) < 20 < zlib_bytes("Rats slept, mice swam, and flies did not.")
    True
    """
    return len(zlib.compress(text.encode()))


def ratio(zlib_bytes: float, ppl: float) -> float:
    """Compressed length over perplexity, in bytes (the paper's equation 3); high values are what memorised texts have.

    A text that a model finds easier than its redundancy explains may have been learned word by word. The published
    compressed lengths are of the string that the model read: for the test cases with their prompt, for a reference corpus
    and the anchor text, which were scored without a prompt, of the text alone.

    Raises:
        ValueError: the perplexity is no positive number.

    >>> ratio(714, 1.02)
    700.0
    """
    if not (math.isfinite(ppl) and ppl > 0):
        raise ValueError(f"{ppl} is not a perplexity")
    return zlib_bytes / ppl
