"""A small but real language model to score with: bigram counts with add-one smoothing, and a tokenizer made here.

It lets the tests of runs look at a backend's every number without loading torch; those of the models look elsewhere.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from scoring.domain.backend import Group, GroupResult, LogProbs, TextError, TokenIds

CORPUS = (
    "The sample was large, the measure was reliable and the analysis was planned in advance. "
    "In study memory the response rose after training. The response fell. It was late. "
    "You are a neuroscientist with deep knowledge in neuroscience."
)


def make_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of a few hundred tokens, without start, end or padding tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator([CORPUS], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


class NgramBackend:
    """log p(x_i | x_i-1) from counted bigrams; batches of `batch_tokens` tokens, 60 if the run does not say."""

    kind = "transformers"

    def __init__(self, *, context_tokens: int | None = None, **identity: Any) -> None:
        self.tokenizer = make_tokenizer()
        self.context_tokens = context_tokens
        self.extra_identity = identity
        ids = self.tokenizer(CORPUS)["input_ids"]
        self.pairs = Counter(pairwise(ids))
        self.firsts = Counter(ids[:-1])
        self.scored: list[str] = []  # names of texts, as they came
        self.is_closed = False

    def identity(self) -> Mapping[str, Any]:
        return {
            "name": "bigrams",
            "dtype": "float64",
            "libraries": {"numpy": np.__version__},
            "machine": {"threads": 1},
            **self.extra_identity,
        }

    def prepare(self, groups: Sequence[Group]) -> None:
        assert groups

    def plan(self, groups: Sequence[Group], batch_tokens: int | None) -> list[list[int]]:
        budget, batches, room = batch_tokens or 60, [], 0
        # The longest first, as backends do that pad: the order of batches is not that of texts
        sizes = [sum(len(text.ids) for text in group) for group in groups]
        for n in sorted(range(len(groups)), key=lambda n: (-sizes[n], n)):
            if not batches or room < sizes[n]:
                batches.append([])
                room = budget
            batches[-1].append(n)
            room -= sizes[n]
        return batches

    def score(self, groups: Sequence[Group]) -> list[GroupResult]:
        return [[self.logprobs(text.name, text.ids) for text in group] for group in groups]

    def logprobs(self, name: str, ids: TokenIds) -> LogProbs | TextError:
        self.scored.append(name)
        before, after = ids[:-1].tolist(), ids[1:].tolist()
        size = len(self.tokenizer)
        logprobs = [
            np.log((self.pairs[a, b] + 1) / (self.firsts[a] + size))
            for a, b in zip(before, after, strict=True)
        ]
        return np.array([np.nan, *logprobs])

    def close(self) -> None:
        self.is_closed = True
