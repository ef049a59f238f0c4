"""Three ways to score the same texts under the same model object, for `bench scoring`."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.precision import fused_gelu
from scoring.backends.causal_lm.strategies import Strategy

Groups = Sequence[Sequence[Ids]]
# (T,) log-probabilities of each text of each group, or their sum where a method gives no more
Method = Callable[[Groups], list[list[float]]]


def published(model: PreTrainedModel) -> Method:
    """(a) The paper's loop: one text per forward pass, a log-softmax over the whole vocabulary."""

    def of_text(ids: Ids) -> float:
        tokens = torch.from_numpy(ids).to(model.device)
        with torch.no_grad():
            logits = model(input_ids=tokens[None]).logits  # (1, T, V)
            table = torch.log_softmax(logits.float(), dim=-1)
            picked = table[0, :-1].gather(1, tokens[1:, None])[:, 0]
        return float(picked.double().sum())

    return lambda groups: [[of_text(ids) for ids in group] for group in groups]


def lm_eval(model: PreTrainedModel, tokenizer: Any, batch_size: int) -> Method:
    """(b) lm-evaluation-harness's HFLM, given the same token ids.

    Raises:
        ImportError: the package lm_eval is not installed.
    """
    from lm_eval.models.huggingface import HFLM

    logging.getLogger("lm_eval").setLevel(
        logging.ERROR
    )  # it advises against a model made elsewhere
    harness = HFLM(
        pretrained=model,
        tokenizer=tokenizer,
        batch_size=batch_size,
        backend="causal",
        device=str(model.device),
    )

    def score(groups: Groups) -> list[list[float]]:
        requests = [
            ((str(n), ""), ids[:1].tolist(), ids[1:].tolist())
            for n, ids in enumerate(text for group in groups for text in group)
        ]
        sums = iter(harness._loglikelihood_tokens(requests, disable_tqdm=True))
        return [[float(next(sums)[0]) for _ in group] for group in groups]

    return score


def ours(model: PreTrainedModel, strategy: Strategy, batch_tokens: int) -> Method:
    """(c) This project's scorer on its strategy."""

    def score(groups: Groups) -> list[list[float]]:
        results: dict[int, list[float]] = {}
        with fused_gelu(model):
            for batch in strategy.plan(groups, batch_tokens):
                for n, result in zip(
                    batch, strategy.logprobs([groups[n] for n in batch]), strict=True
                ):
                    results[n] = [float(np.sum(text[1:])) for text in result]
        return [results[n] for n in range(len(groups))]

    return score
