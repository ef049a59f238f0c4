"""BERTScore: how near the words of two texts are in meaning, by the vectors that a language model gives them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.stats.arrays import Floats

NAME = "BERTScore"
METHOD = (
    "BERTScore (Zhang et al. 2020) by {model}: F of greedy matching of tokens by the cosine of their vectors, "
    "without idf weights and without rescaling. Special tokens at the ends of a text, and tokens after the 512th, are "
    "left out."
)


@dataclass(frozen=True)
class Vectors:
    """name: of the model, its layer and its weights. of: texts -> (tokens, width) of each, in context."""

    name: str
    of: Callable[[Sequence[str]], list[Floats]]

    def score(self, answer: str, expert: str) -> float:
        """`bert_score` of two texts."""
        return bert_score(*self.of([answer, expert]))

    @property
    def method(self) -> str:
        return METHOD.format(model=self.name)


def bert_score(answer: Floats, expert: Floats) -> float:
    """F measure of greedy matching (Zhang et al. 2020), without weights by rarity and without rescaling: -1 to 1.

    answer: (tokens, width) vectors in context, expert: (others, width). Precision is the mean over the answer's tokens of the
    largest cosine with a token of the expert's, recall the reverse, F = 2 P R / (P + R). 0 where a text has no token or
    P + R is not above 0.

    >>> two, one = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 0.0]])
    >>> bert_score(two, two), round(bert_score(two, one), 4)  # P = 1/2, R = 1
    (1.0, 0.6667)
    """
    if not (len(answer) and len(expert)):
        return 0.0
    cosines = _unit(answer) @ _unit(expert).T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _unit(vectors: Floats) -> Floats:
    size = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = vectors / np.where(size > 0, size, 1.0)
    return unit
