"""Whether a tokenizer belongs to a model: one that does not makes every text a surprise near or above chance."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scoring.backends.causal_lm.layout import Ids
from scoring.domain.backend import LogProbs

# Written for this project; any model of English finds them likelier than chance
SENTENCES = (
    "Light falls on the retina, and the cells there turn it into signals.",
    "A short walk before breakfast can lift the mood for many hours.",
    "Water boils at a lower temperature on a high mountain, so that cooking takes longer.",
)
# A small trained model reads its own tokens at 0.8 of chance and others' above it; a random one reads any at chance
NEAR_CHANCE = 0.9
Score = Callable[[Sequence[Ids]], Sequence[LogProbs]]


def warning(score: Score, vocabulary: int, named: Any, own: Any | None) -> str:
    """Why a tokenizer that was named does not seem to belong to the model, in a sentence; empty if nothing says so.

    Near chance is a mean of at least 0.9 ln(vocabulary) nats a token. Without the model's own tokenizer to compare
    with, that alone is said; with it, only where the own one does better, so that a model that knows nothing (one with
    random weights) is not held against its tokenizer.

    Args:
        score: (T,) log-probabilities, NaN first, of each text (T,).
        vocabulary: how many tokens the model knows.
        named: the tokenizer that was asked for.
        own: the one that comes with the model, if any.
    """
    if (surprise := _surprise(score, vocabulary, named)) is None:
        return f"The tokenizer has tokens beyond the {vocabulary} that the model knows: it is another model's."
    chance = math.log(vocabulary)
    if surprise < NEAR_CHANCE * chance:
        return ""
    if own is None:
        return (
            "Plain English surprises the model about as chance would: the tokenizer may be another model's, "
            "or the model untrained."
        )
    known = _surprise(score, vocabulary, own)
    if known is None or known >= NEAR_CHANCE * chance:
        return ""
    return (
        "With this tokenizer, plain English surprises the model about as chance would, and with its own it does not: "
        "the tokenizer is another model's."
    )


def _surprise(score: Score, vocabulary: int, tokenizer: Any) -> float | None:
    """Nats per token of the sentences; None if they hold a token that the model does not know."""
    texts = [np.array(tokenizer(s)["input_ids"], np.int64) for s in SENTENCES]
    if max(int(ids.max()) for ids in texts) >= vocabulary:
        return None
    return -float(np.concatenate([logprobs[1:] for logprobs in score(texts)]).mean())
