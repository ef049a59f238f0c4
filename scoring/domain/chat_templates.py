"""A tokenizer's own chat template, run within bounds: it is a program that came with the model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.bounded import Beside
from scoring.domain.backend import ScoringError

LONGEST_TEMPLATE = 1_000_000  # characters
LONGEST_CHAT = 10_000_000
SECONDS = 10.0
MEMORY = 1 << 30  # bytes, beside what its process holds already
_beside = Beside(Path(__file__).parents[1] / "backends" / "template_process.py")


def applied(tokenizer: Any, turns: Sequence[dict[str, str]], **how: Any) -> str:
    """The turns as the template writes them.

    Raises:
        ScoringError: it takes too long, too much memory, or writes too much; the sentence names the model's folder.
        TemplateError, ValueError, TypeError: as the template raises them.
    """
    name = str(getattr(tokenizer, "name_or_path", "") or "the tokenizer")
    if len(str(getattr(tokenizer, "chat_template", ""))) > LONGEST_TEMPLATE:
        raise ScoringError(
            f"the chat template of {name} has more than {LONGEST_TEMPLATE:,} characters"
        )
    how = {**tokenizer.special_tokens_map, **how, "chat_template": tokenizer.get_chat_template()}
    bounds = {"seconds": SECONDS, "memory": MEMORY, "longest": LONGEST_CHAT}
    try:
        answer = _beside.ask({"turns": list(turns), "how": how, **bounds}, SECONDS)
    except (TimeoutError, ChildProcessError) as error:
        raise ScoringError(f"the chat template of {name} was stopped: {error}") from error
    if "characters" in answer:
        raise ScoringError(
            f"the chat template of {name} writes {answer['characters']:,} characters"
        )
    if "error" in answer:
        raise _raised(name, answer["error"], answer["says"])
    return str(answer["text"])


def _raised(name: str, error: str, says: str) -> Exception:
    from jinja2 import TemplateError

    as_they_are = (TemplateError, ValueError, TypeError)
    for kind in as_they_are:
        if kind.__name__ == error:
            return kind(says)
    if error in ("MemoryError", "OverflowError"):
        return ScoringError(f"the chat template of {name} was stopped: it takes too much memory")
    return ScoringError(f"the chat template of {name} cannot be used: {error}: {says}")
