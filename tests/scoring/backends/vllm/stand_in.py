"""A module in the shape of vLLM's documented one, in front of a model of ours. It is not vLLM, and none was tried."""

from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from benchmarks.completions.models import NUMBER_FAULTS, Lm, echoed


class Engine:
    """`vllm.LLM`: what it was made with, and what it was asked."""

    def __init__(self, lm: Lm, tokenizer: Any, fault: str, args: dict[str, Any]) -> None:
        self.lm, self.tokenizer, self.fault, self.args = lm, tokenizer, fault, args
        self.asked: list[list[int]] = []
        length = args.get("max_model_len", 512)
        config = SimpleNamespace(max_model_len=length, dtype=torch.float32)
        self.llm_engine = SimpleNamespace(model_config=config)

    def generate(
        self, prompts: Sequence[dict[str, Any]], params: SimpleNamespace, *, use_tqdm: bool
    ) -> list[SimpleNamespace]:
        assert (params.max_tokens, params.temperature) == (1, 0.0)
        assert not use_tqdm
        return [self._output(prompt["prompt_token_ids"]) for prompt in prompts]

    def _output(self, ids: list[int]) -> SimpleNamespace:
        self.asked.append(ids)
        numbers, generated = echoed(self.lm, ids)
        if self.fault in NUMBER_FAULTS:
            numbers = NUMBER_FAULTS[self.fault](self.lm, ids, numbers)
        if self.fault == "out of memory":
            raise RuntimeError("CUDA out of memory.\nTried to allocate 7.5 GiB")
        rows = self.lm(ids)
        entries = [
            None if number is None else self._row(token, number, int(rows[at - 1].argmax()))
            for at, (token, number) in enumerate(zip([*ids, generated], numbers, strict=False))
        ]
        sent = ids[::-1] if self.fault == "other ids" else ids
        output = SimpleNamespace(token_ids=[generated], logprobs=entries[len(ids) :])
        return SimpleNamespace(
            prompt_token_ids=sent, prompt_logprobs=entries[: len(ids)], outputs=[output]
        )

    def _row(self, token: int, number: float, likeliest: int) -> dict[int, SimpleNamespace]:
        """The likeliest token, and the one that stands there."""
        row = {likeliest: SimpleNamespace(logprob=-0.5, rank=1, decoded_token=None)}
        text = self.tokenizer.decode([token])
        row[token] = SimpleNamespace(logprob=number, rank=7, decoded_token=text)
        return row


def module(lm: Lm, tokenizer: Any, fault: str = "") -> Any:
    """The module that `import vllm` gives; `made` holds its engines."""
    vllm: Any = ModuleType("vllm")
    vllm.__version__, vllm.made = "0.0.stand-in", []

    def llm(**args: Any) -> Engine:
        vllm.made.append(Engine(lm, tokenizer, fault, args))
        return vllm.made[-1]

    vllm.LLM = llm
    vllm.SamplingParams = SimpleNamespace
    vllm.TokensPrompt = dict
    return vllm
