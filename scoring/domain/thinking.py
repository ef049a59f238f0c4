"""What a model thinks before it answers, kept apart from the answer. Pure: knows no server and no tokenizer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scoring.domain.generating import Finish

# <think>, <thinking>, <seed:think>, [THINK], ◁think▷; and the channels of gpt-oss, as its own tokens spell them
_NAME = r"(?:[a-z]+:)?(?:think|thinking|thought)"
_CHANNEL = r"<\|channel\|>{}<\|message\|>"
_BEGIN = re.compile(rf"[<\[◁]{_NAME}[>\]▷]|{_CHANNEL.format('analysis')}", re.IGNORECASE)
_END = re.compile(rf"[<\[◁]/{_NAME}[>\]▷]|{_CHANNEL.format('final')}", re.IGNORECASE)
_OF_CHANNELS = ("<|channel|>", "<|message|>")
# Of no width, or blank: a tag stands at the beginning of a line for all that
_BLANK = "\\s\u200b\u200c\u200d\u2060\ufeff"


@dataclass(frozen=True, slots=True)
class Marks:
    """What a model writes around its thought. end: the text that closes it, where it is none of the usual tags."""

    end: str = ""

    @property
    def closing(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.end)) if self.end else _END

    @property
    def opening(self) -> re.Pattern[str] | None:
        """The closing tag without its slash; None where it has none."""
        if not self.end:
            return _BEGIN
        begin = self.end.replace("/", "", 1)
        return re.compile(re.escape(begin)) if begin != self.end else None

    def has(self, token: str) -> bool:
        """Whether a tokenizer's token is a mark or a part of one, and so is to be seen in the text.

        >>> Marks().has("</think>"), Marks().has("<|im_end|>"), Marks("<|end_of_thought|>").has("<|end_of_thought|>")
        (True, False, True)
        """
        if self.end:
            return bool(token) and (token in self.end or token == self.end.replace("/", "", 1))
        is_tag = _BEGIN.fullmatch(token) or _END.fullmatch(token)
        return is_tag is not None or token in _OF_CHANNELS

    def begun_in(self, prompt: str) -> bool:
        """Whether a prompt ends with the opening tag, so that the model's first words are its thought.

        >>> Marks().begun_in("assistant: <think>\\n"), Marks().begun_in("<think>\\n\\n</think>\\n")
        (True, False)
        """
        found = list(self.opening.finditer(prompt)) if self.opening else []
        return bool(found) and not prompt[found[-1].end() :].strip()


USUAL = Marks()


@dataclass(frozen=True, slots=True)
class Said:
    """thought: without its tags. text: the answer alone; empty where the thought did not come to its end."""

    thought: str
    text: str
    finish: Finish


def apart(
    text: str, finish: Finish, marks: Marks = USUAL, *, thought: str = "", begun: bool = False
) -> Said:
    r"""What a model wrote, its thought apart from its answer.

    The answer is what follows the last closing tag, wherever the opening one stands: chat templates often write it. A thought
    that is opened at the beginning of a line and not closed is no answer, `Finish.THINKING`; neither is a text that was cut
    off before an end of the thought that was asked for by name. A text without a thought stays as it is.

    Args:
        thought: what the server gave as such, beside the text.
        begun: the prompt has opened the thought.

    >>> apart("<think>\nA gas?\n</think>\n\nA gas.", Finish.STOP)
    Said(thought='A gas?', text='A gas.', finish=<Finish.STOP: 'stop'>)
    >>> apart("A gas?\n</think>\n\nA gas.", Finish.STOP).text
    'A gas.'
    >>> apart("<think>\nA gas, or", Finish.LENGTH)
    Said(thought='A gas, or', text='', finish=<Finish.THINKING: 'thinking'>)
    """
    ends = list(marks.closing.finditer(text))
    rest = text[ends[-1].end() :].lstrip() if ends else text
    inner = text[: ends[-1].start()] if ends else ""
    opened = _opened(rest, marks) or (begun and not ends)
    # Who names the end says that the model thinks, each time
    unseen = bool(marks.end) and not ends and not thought and finish == Finish.LENGTH
    if opened or unseen:
        inner, rest = text, ""
    thoughts = [part for part in (thought.strip(), _bare(inner, marks)) if part]
    if finish in (Finish.STOP, Finish.LENGTH):
        if opened or unseen or (thoughts and not rest.strip() and finish == Finish.LENGTH):
            finish = Finish.THINKING
        elif not rest.strip() and finish == Finish.STOP:
            finish = Finish.EMPTY
    return Said("\n\n".join(thoughts), rest, finish)


def answer_in(text: str) -> str:
    """The answer alone, of a text that is whole.

    >>> answer_in("<think>2 or 3</think>3")
    '3'
    """
    return apart(text, Finish.STOP).text


def _opened(text: str, marks: Marks) -> bool:
    return next(_openings(text, marks), None) is not None


def _bare(thought: str, marks: Marks) -> str:
    first = next(_openings(thought, marks), None)
    begins = first is not None and not thought[: first.start()].strip()
    return thought[first.end() :].strip() if first and begins else thought.strip()


def _openings(text: str, marks: Marks) -> Iterator[re.Match[str]]:
    """Opening tags at the beginning of a line."""
    if marks.opening is None:
        return iter(())
    at_line = rf"^[{_BLANK}]*(?:{marks.opening.pattern})"
    return re.finditer(at_line, text, marks.opening.flags | re.MULTILINE)
