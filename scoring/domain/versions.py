"""A text in its versions (original and altered, or one alone): to tokens, and from log-probabilities to perplexities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.domain.backend import GroupResult, LogProbs, ScoringError, TextError
from scoring.domain.encoding import Encoded, cut, encode
from scoring.domain.marked_texts import MarkedText
from scoring.domain.perplexity import NotFiniteError, NothingToScoreError, nll_nats, perplexity
from scoring.domain.prompts import Prompt

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
            why = f"needs {len(one.ids):,} tokens, and the model's window holds {context_tokens:,}"
            raise TextError(reason(versions, version, why))
    return encoded


def score_versions(
    name: str,
    versions: Sequence[str],
    encoded: Sequence[Encoded],
    result: GroupResult,
    counts_prompt: bool,
) -> list[TextScore]:
    """What a backend's log-probabilities come to.

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
        try:
            scores.append(_score(one, logprobs, counts_prompt))
        except NotFiniteError as error:
            value = f"the log-probability of token {error.token + 1} is {error.value}"
            raise TextError(reason(versions, version, value)) from error
        except NothingToScoreError as error:
            raise TextError(reason(versions, version, "has no token to score")) from error
    return scores


def _score(encoded: Encoded, logprobs: LogProbs, counts_prompt: bool) -> TextScore:
    in_all = np.arange(len(encoded.ids)) > 0  # (T,) the first token has no predecessor
    in_text = in_all & encoded.in_text  # (T,)
    # Both from the same pass; a number that is none anywhere spoils them both
    nll_all, nll_text = (float(nll_nats([logprobs], [mask])[0]) for mask in (in_all, in_text))
    n_all, n_text = int(in_all.sum()), int(in_text.sum())
    if n_text == 0:
        raise NothingToScoreError(0)
    ppl = perplexity([logprobs], [in_all if counts_prompt else in_text])
    return TextScore(nll_all, nll_text, n_all, n_text, float(ppl[0]))
