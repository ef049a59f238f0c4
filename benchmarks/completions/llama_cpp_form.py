"""Answers of llama-cpp-python's server (0.3.36) in front of a model of ours: as they were seen, faults too.

It takes strings alone, puts the start token that it knows before them, and shows all tokens but that one. Its n-th number
is that of the n-th token shown in the n-th row of the model: the right one behind a start token, else one early.
"""

from typing import Any

from benchmarks.completions.models import Lm

Answered = tuple[int, dict[str, Any]]


def answer(lm: Lm, tokenizer: Any, start: int | None, request: dict[str, Any]) -> Answered:
    """A status and the JSON value; of a stream, that of its first event."""
    text = request["prompt"]
    if not isinstance(text, str):
        return _failed("4 validation errors: Input should be a valid string")
    shown = tokenizer(text, add_special_tokens=False)["input_ids"]
    read = [*([] if start is None else [start]), *shown]
    if not read:
        return _failed("")
    rows = lm(read)
    bias = {int(i): nats for i, nats in request.get("logit_bias", {}).items()}
    last = rows[-1].copy()
    for i, nats in bias.items():
        last[i] += nats
    generated = int(last.argmax())
    if request.get("stream"):
        return 200, _completion(tokenizer, [generated], [float(rows[-1, generated])])
    tokens = [*shown, generated]
    numbers = [float(row[i]) for row, i in zip(rows, tokens, strict=False)]
    value = _completion(tokenizer, tokens[: len(numbers)], [None, *numbers[1:]])
    return 200, value | {"usage": {"prompt_tokens": len(read), "completion_tokens": 1}}


def _completion(tokenizer: Any, ids: list[int], numbers: list[float | None]) -> dict[str, Any]:
    spelt = [tokenizer.decode([i]).replace("\ufffd", "") for i in ids]
    logprobs = {"tokens": spelt, "token_logprobs": numbers}
    return {"choices": [{"index": 0, "text": "", "logprobs": logprobs}]}


def _failed(message: str) -> Answered:
    return 500, {"error": {"message": message, "type": "internal_server_error"}}
