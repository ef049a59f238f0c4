"""Reads what a chat server answers. Pure: trusts nothing in it."""

from collections.abc import Mapping
from typing import Any

from scoring.backends.http.errors import clean, error_in
from scoring.domain.generating import Finish, Generated, Usage, storable, storable_json

# What servers call the ends that are no `stop`, in any case
FINISHES = {
    "length": Finish.LENGTH,
    "max_tokens": Finish.LENGTH,
    "max_output_tokens": Finish.LENGTH,
    "model_length": Finish.LENGTH,
    "content_filter": Finish.FILTERED,
    "safety": Finish.FILTERED,
    "recitation": Finish.FILTERED,
    "prohibited_content": Finish.FILTERED,
    "sensitive": Finish.FILTERED,
    "refusal": Finish.REFUSED,
}
# Ends of a text that nobody knows the rest of
BROKEN = frozenset({"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"})  # fmt: skip


class ChatAnswerError(Exception):
    """The answer is none; the message goes on after "the server"."""


def read_answer(value: Any, seconds: float, request: Mapping[str, Any]) -> Generated:
    """An answer's text and how it ended.

    Raises:
        ChatAnswerError: it is no chat completion.

    >>> message = {"role": "assistant", "content": "Yes."}
    >>> value = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    >>> read_answer(value, 0.5, {}).usage
    Usage(prompt_tokens=5, completion_tokens=2)
    """
    choice = _only_choice(value)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ChatAnswerError("answered without a message (choices[0].message was due)")
    text, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reason = str(choice.get("finish_reason")).lower()
    if reason in BROKEN:
        raise ChatAnswerError(f"broke its answer off (finish_reason “{reason}”)")
    finish = FINISHES.get(reason, Finish.STOP)
    if refusal and finish == Finish.STOP:
        finish = Finish.REFUSED
    if not text.strip() and finish == Finish.STOP:
        finish = Finish.EMPTY
    return Generated(
        text=text,
        finish=finish,
        usage=_usage(value.get("usage")),
        seconds=seconds,
        model=clean(value["model"], 200) if isinstance(value.get("model"), str) else "",
        detail=clean(refusal),
        request=request,
        raw=storable_json(value),
    )


def _only_choice(value: Any) -> dict[str, Any]:
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        said = error_in(value)
        raise ChatAnswerError(
            "answered with JSON that is no chat completion (an entry in `choices` was due)"
            + (f" but said: {said}" if said else "")
        )
    return choices[0]


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts, as some servers write them."""
    if isinstance(content, list):
        content = "".join(
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return storable(content) if isinstance(content, str) else ""


def _usage(value: Any) -> Usage | None:
    counts = [
        value.get(name) if isinstance(value, dict) else None
        for name in ("prompt_tokens", "completion_tokens")
    ]
    n_prompt, n_completion = (
        n if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 10**12 else None
        for n in counts
    )
    return None if n_prompt is None or n_completion is None else Usage(n_prompt, n_completion)
