"""The words before a text when a model reads it. A template holds the text's place as `<choice abstract>`.

| kind | the model reads | counted |
|---|---|---|
| none | the text | the text's tokens |
| paper | the sentence, a space, the text | every token but the first, as published |
| clean | the same | the text's tokens |
| chat | the sentence as system and user turn in the model's own chat template, the text as the assistant's turn | the text's tokens |
| custom | a template of one's own | the text's tokens |
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lib.bounded import Beside
from scoring.domain.backend import ScoringError

PLACEHOLDER = "<choice abstract>"
PAPER_SENTENCE = (
    "You are a neuroscientist with deep knowledge in neuroscience. "
    "Here is an abstract from a neuroscience publication:"
)
KINDS = ("none", "paper", "clean", "chat", "custom")

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_TURN = re.compile(r"^(system|user|assistant): ", re.MULTILINE)


class PromptError(ValueError):
    """The prompt cannot be used; the message is one sentence."""


MOST_PLACES = 5


def filled(text: str, **values: str) -> str:
    """Instructions with each {name} of `values` replaced; all other braces are text, also those in values.

    Raises:
        ScoringError: one of them stands more than MOST_PLACES times, so that a short text would become one of megabytes.

    >>> filled("Know {field}. Ignore {this}.", field="{this} and that")
    'Know {this} and that. Ignore {this}.'
    """
    for name in values:
        if (n := text.count(f"{{{name}}}")) > MOST_PLACES:
            raise ScoringError(
                f"Instructions can contain {{{name}}} up to {MOST_PLACES} times, but these contain it {n} times."
            )
    names = "|".join(map(re.escape, values))
    return re.sub(f"{{({names})}}", lambda found: values[found[1]], text)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A kind of prompt and its template, as a run stores them.

    Raises:
        PromptError: the kind is unknown, or the template does not have the text's place exactly once.
    """

    kind: str
    template: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise PromptError(f"“{self.kind}” is not a prompt. Choose from {', '.join(KINDS)}")
        if not self.template and self.kind != "custom":
            object.__setattr__(self, "template", _template(self.kind, PAPER_SENTENCE))
        places = self.template.count(PLACEHOLDER)
        if places == 0 and self.kind == "custom":
            raise PromptError(
                f"“{self.template[:60]}” is not a prompt. Choose from {', '.join(KINDS[:-1])}, or give a text that contains "
                f"{PLACEHOLDER} once, for the abstract"
            )
        if places != 1:
            raise PromptError(
                f"a prompt must contain {PLACEHOLDER} once, but this one contains it {places} times"
            )
        if self.kind == "chat":
            self.turns("")  # raises

    @classmethod
    def of(cls, kind: str, custom_text: str = "", sentence: str = PAPER_SENTENCE) -> "Prompt":
        """The prompt that was asked for.

        >>> Prompt.of("paper", sentence="Read:").template
        'Read: <choice abstract>'
        >>> Prompt.of("chat").template.splitlines()[1]
        'user: Here is an abstract from a neuroscience publication:'
        """
        if custom_text and kind != "custom":
            raise PromptError(
                f"your own text is only used with the prompt “custom”, but “{kind}” was chosen"
            )
        if kind not in KINDS:
            return cls(kind)  # raises
        return cls(kind, custom_text if kind == "custom" else _template(kind, sentence))

    @property
    def before(self) -> str:
        """The words before the text; in a chat this is the model's template's to say."""
        return self.template.partition(PLACEHOLDER)[0]

    @property
    def counts_itself(self) -> bool:
        """True if the prompt's own tokens count in the perplexity."""
        return self.kind == "paper"

    def fill(self, text: str) -> str:
        """The one string that the model reads.

        >>> Prompt.of("paper", sentence="Read:").fill("Rats slept. ")
        'Read: Rats slept.'
        """
        return self.place(text)[0]

    def place(self, text: str) -> tuple[str, int]:
        """The string that the model reads, and where the text's first character stands in it.

        Whitespace around the string is stripped, so the place of a text that begins with some may be negative. What
        a template holds after the text could change no probability and is left out.

        Raises:
            PromptError: a chat's string is written by the model's own template.

        >>> Prompt.of("none").place(" Rats slept.")
        ('Rats slept.', -1)
        """
        if self.kind == "chat":
            raise PromptError("the model's own template writes a chat")
        whole = self.before + text
        if self.kind == "custom":
            return whole.rstrip(), len(self.before)
        return whole.strip(), len(self.before) - (len(whole) - len(whole.lstrip()))

    def turns(self, text: str) -> list[dict[str, str]]:
        """The turns of a chat, with the text as the last one.

        >>> Prompt("chat", "user: Write.\\nassistant: <choice abstract>").turns("Rats slept.")
        [{'role': 'user', 'content': 'Write.'}, {'role': 'assistant', 'content': 'Rats slept.'}]
        """
        pieces = _TURN.split(self.template)
        turns = [
            {"role": role, "content": content.strip()}
            for role, content in zip(pieces[1::2], pieces[2::2], strict=True)
        ]
        if pieces[0].strip() or not turns or turns[-1] != _answer(PLACEHOLDER):
            raise PromptError(
                "a chat's template has a line “system: …” or “user: …” for each turn and ends with"
                f" “assistant: {PLACEHOLDER}”"
            )
        return [*turns[:-1], _answer(text)]


def _answer(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def _template(kind: str, sentence: str) -> str:
    if kind == "none":
        return PLACEHOLDER
    if kind != "chat":
        return f"{sentence} {PLACEHOLDER}"
    # Who the model is to be: system. What it is to do: user, always the last sentence.
    *system, user = _SENTENCE_END.split(sentence.strip())
    turns = [f"system: {' '.join(system)}"] if system else []
    return "\n".join([*turns, f"user: {user}", f"assistant: {PLACEHOLDER}"])


LONGEST_TEMPLATE = 1_000_000  # characters
LONGEST_CHAT = 10_000_000
SECONDS = 10.0
MEMORY = 1 << 30  # bytes, beside what its process holds already
_beside = Beside(Path(__file__).parents[1] / "backends" / "template_process.py")


def applied(tokenizer: Any, turns: Sequence[dict[str, str]], **how: Any) -> str:
    """The turns as a tokenizer's own chat template writes them; it is a program that came with the model, and bounded.

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
    if "error" not in answer:
        return str(answer["text"])
    from jinja2 import TemplateError

    fault, says = answer["error"], answer["says"]
    for kind in (TemplateError, ValueError, TypeError):
        if kind.__name__ == fault:
            raise kind(says)
    if fault in ("MemoryError", "OverflowError"):
        raise ScoringError(f"the chat template of {name} was stopped: it takes too much memory")
    raise ScoringError(f"the chat template of {name} cannot be used: {fault}: {says}")
