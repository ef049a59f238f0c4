"""Small language models as functions of token ids, and what a faulty server makes of their numbers.

A model here is any function from token ids (T,) to the logarithms (T, V) of the next token's probabilities.
"""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.float64]
Lm = Callable[[list[int]], Rows]
Numbers = list[float | None]


END = "<|endoftext|>"


def make_tokenizer(
    folder: Path, texts: list[str], vocabulary: int = 400, *, starts: bool = False
) -> Path:
    """Train a byte-level BPE tokenizer on these texts and leave it in `folder`, as a model's folder has it.

    `starts`: it puts its special token before a text.
    """
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(
        texts, vocabulary, min_frequency=1, special_tokens=[END], show_progress=False
    )
    if starts:
        bpe._tokenizer.post_processor = TemplateProcessing(
            single=f"{END} $A", special_tokens=[(END, 0)]
        )
    names = {"bos_token": END, "eos_token": END} if starts else {"eos_token": END}
    fast: Any = PreTrainedTokenizerFast
    fast(tokenizer_object=bpe._tokenizer, **names).save_pretrained(folder)
    return folder


def tiny_markov(vocabulary: int, seed: int = 0, width: int = 8) -> Lm:
    """The next token depends on the two before it, through random vectors; peaked as trained models are."""
    rng = np.random.default_rng(seed)
    one, two, out = rng.normal(size=(3, vocabulary, width))

    def rows(ids: list[int]) -> Rows:
        now = np.array(ids)
        context = one[now] + two[np.concatenate([[0], now[:-1]])]  # (T, width)
        logits = context @ out.T  # (T, V)
        top = logits.max(axis=1, keepdims=True)
        found: Rows = logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
        return found

    return rows


def tiny_gpt2(vocabulary: int, seed: int = 0, spread: float = 0.02) -> Any:
    """A GPT-2 of 2 layers, 32 wide, float32, with the usual small random weights."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    make_config: Any = GPT2Config
    make_model: Any = GPT2LMHeadModel
    config = make_config(
        vocab_size=vocabulary,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=512,
        initializer_range=spread,
        attn_implementation="eager",
    )
    return make_model(config).eval()


def torch_lm(model: Any) -> Lm:
    """A transformers model as a function of ids; the log-softmax is in the weights' precision."""
    import torch

    lock = threading.Lock()

    def rows(ids: list[int]) -> Rows:
        with lock, torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0]
            return np.asarray(torch.log_softmax(logits, -1).double())

    return rows


def echoed(lm: Lm, ids: list[int]) -> tuple[Numbers, int]:
    """A right server's n + 1 numbers for a prompt, and the token that it generates."""
    rows = lm(ids)
    generated = int(rows[-1].argmax())
    numbers: Numbers = [None, *(float(rows[i, t]) for i, t in enumerate(ids[1:]))]
    return [*numbers, float(rows[-1, generated])], generated


def _at_own_place(lm: Lm, ids: list[int], numbers: Numbers) -> Numbers:
    """Reads the row of the token itself, where that of the token before is due."""
    rows = lm(ids)
    return [None, *(float(rows[i, t]) for i, t in enumerate(ids) if i), numbers[-1]]


def _noisy(ids: list[int], numbers: Numbers, size: float) -> Numbers:
    rng = np.random.default_rng(time.perf_counter_ns())
    return [n if n is None else n - size * rng.random() for n in numbers]


# What becomes of the n + 1 numbers of a right answer
NUMBER_FAULTS: Mapping[str, Callable[[Lm, list[int], Numbers], Numbers]] = {
    "numbers one place early": lambda _, __, n: [None, *n[2:], n[-1]],
    "numbers one place late": lambda _, __, n: [None, 0.0, *n[1:-1]],
    "numbers one place late with nulls": lambda _, __, n: [None, None, *n[1:-1]],
    "numbers late, generated one in place": lambda _, __, n: [None, n[1], *n[1:-2], n[-1]],
    "numbers at their own place": _at_own_place,
    "beginning from elsewhere": lambda _, i, n: [*n[:1], *([-1.0 - i[-1] % 7] * 16), *n[17:]],
    "generated one of another scale": lambda _, __, n: [*n[:-1], (n[-1] or 0) / 2],
    "echo ignored": lambda _, __, n: n[-1:],
    "no null first": lambda _, __, n: [-1.0, *n[1:]],
    "generated token missing": lambda _, __, n: n[:-1],
    "constant": lambda _, __, n: [None, *([-2.5] * (len(n) - 1))],
    "random": lambda _, i, n: _noisy(i, n, 2.0),
    "slightly noisy": lambda _, i, n: _noisy(i, n, 0.001),
    "logits": lambda _, __, n: [x if x is None else x + 20 for x in n],
    "rounded up": lambda _, __, n: [x if x is None else 1e-7 for x in n],
    "strings": lambda _, __, n: [str(x) for x in n],  # type: ignore[misc]
    "nan": lambda _, __, n: [*n[:3], float("nan"), *n[4:]],
    "null inside": lambda _, __, n: [*n[:3], None, *n[4:]],
    "minus infinity": lambda _, __, n: [*n[:3], -9999.0, *n[4:]],
}
