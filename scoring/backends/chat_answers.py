"""Reads what a chat server answers: an OpenAI-style chat completion. Opens no connection."""

from collections.abc import Mapping
from typing import Any

from scoring.backends.http.errors import RetryableError, clean
from scoring.domain.choosing.odds import read_tokens
from scoring.domain.generating import Finish, Generated, Usage, storable, storable_json
from scoring.domain.thinking import USUAL, Marks, apart

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
BAD_GATEWAY = 502
# Ends of a text that nobody knows the rest of
BROKEN = frozenset({"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"})  # fmt: skip


def check_whole(value: Any) -> None:
    """Raises RetryableError for an answer that a server did not come to write, or to finish, as when it is overloaded."""
    choices = value.get("choices", ()) if isinstance(value, dict) else ()
    if choices is None or choices == []:
        raise RetryableError("answered 200 without an answer (`choices` is empty)", BAD_GATEWAY)
    first = choices[0] if isinstance(choices, list) else None
    reason = str(first.get("finish_reason")).lower() if isinstance(first, dict) else ""
    if reason in BROKEN:
        raise RetryableError(f"did not finish its answer (finish_reason “{reason}”)", BAD_GATEWAY)


class ChatAnswerError(Exception):
    """The answer is none; the message goes on after "the server"."""


def read_answer(
    value: Any, seconds: float, request: Mapping[str, Any], marks: Marks = USUAL
) -> Generated:
    """An answer's text, the thought before it, and how it ended.

    Raises:
        ChatAnswerError: it is no chat completion.

    >>> message = {"role": "assistant", "content": "Yes."}
    >>> value = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    >>> read_answer(value, 0.5, {}).usage
    Usage(prompt_tokens=5, completion_tokens=2, thought_tokens=0)
    """
    choices = value.get("choices") if isinstance(value, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ChatAnswerError(
            "sent JSON that is not a chat completion (an entry in `choices` is missing)"
        )
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ChatAnswerError("sent an answer without a message (choices[0].message is missing)")
    text, refusal = _text(message.get("content")), _text(message.get("refusal"))
    reason = str(choice.get("finish_reason")).lower()
    finish = FINISHES.get(reason, Finish.STOP)
    if refusal and finish == Finish.STOP:
        finish = Finish.REFUSED
    # Some servers give a thought beside the text, and some as parts of it
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    thoughts = [p for p in parts if isinstance(p, dict) and p.get("type") in THOUGHTS]
    beside = message.get("reasoning_content") or message.get("reasoning")
    told = (beside, *(p.get("thinking") or p.get("text") for p in thoughts))
    own = apart(text, finish, marks, thought="".join(map(_text, told)))
    # As it came, but for the likeliest tokens: they are hundreds of times longer than the text
    kept = [
        {k: v for k, v in c.items() if k != "logprobs"} if isinstance(c, dict) else c
        for c in choices
    ]
    return Generated(
        text=own.text,
        finish=own.finish,
        usage=_usage(value.get("usage")),
        seconds=seconds,
        model=clean(value["model"], 200) if isinstance(value.get("model"), str) else "",
        detail=clean(refusal),
        request=request,
        raw=storable_json({**value, "choices": kept}),
        thought=own.thought,
        tokens=read_tokens(choice.get("logprobs")),
    )


THOUGHTS = ("thinking", "reasoning")  # types of parts


def _text(content: Any) -> str:
    """A text, or the texts of a list of parts, as some servers write them."""
    if isinstance(content, list):
        content = "".join(
            part["text"]
            for part in content
            if isinstance(part, dict)
            and isinstance(part.get("text"), str)
            and part.get("type") not in THOUGHTS
        )
    return storable(content) if isinstance(content, str) else ""


def _usage(value: Any) -> Usage | None:
    """The tokens read and written, and those of a thought; None where the server does not say the first two."""
    told = value if isinstance(value, dict) else {}
    details = told.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, dict) else None
    counts = [
        n if isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 10**12 else None
        for n in (told.get("prompt_tokens"), told.get("completion_tokens"), thought)
    ]
    n_prompt, n_completion, n_thought = counts
    if n_prompt is None or n_completion is None:
        return None
    return Usage(n_prompt, n_completion, n_thought or 0)
