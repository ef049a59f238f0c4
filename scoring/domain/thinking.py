"""A model's thoughts before it answers, kept apart from the answer. Pure: knows no server and no tokenizer."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from scoring.domain.generating import Finish

# <think>, <seed:think>, ◁think▷: of models alone
_THINK = r"[<◁]{}(?:[a-z]+:)?think[>▷]"
# [THINK], <thinking>, <reasoning>: people write such words in brackets too
_WORD = r"[<\[◁]{}(?:[a-z]+:)?(?:think(?:ing)?|thought|reasoning|reflection)[>\]▷]"
# Tokens: the channels of gpt-oss and of Gemma, and a thought's own
_HEAD = r"(?:<\|end\|>)?(?:<\|start\|>)?(?:assistant)?<\|channel\|>{}<\|message\|>"
_TOKEN_BEGIN = rf"{_HEAD.format('analysis')}|<\|channel>thought\b|<\|begin_of_thought\|>"
_TOKEN_END = rf"{_HEAD.format('final')}|<channel\|>|<\|end_of_thought\|>"
_SURE_BEGIN = re.compile(rf"{_THINK.format('')}|{_TOKEN_BEGIN}", re.IGNORECASE)
_BEGIN = re.compile(rf"{_WORD.format('')}|{_TOKEN_BEGIN}", re.IGNORECASE)
_END = re.compile(rf"{_WORD.format('/')}|{_TOKEN_END}", re.IGNORECASE)
# Without an opening tag: at a line's beginning or end, else a sentence speaks of it
_ALONE = re.compile(
    rf"^[^\S\n]*{_THINK.format('/')}|{_THINK.format('/')}(?=[^\S\n]*$)|{_TOKEN_END}",
    re.IGNORECASE | re.MULTILINE,
)
_OF_CHANNELS = ("<|channel|>", "<|message|>", "<|channel>")
_HEADS = re.compile(_HEAD.format(r"\w+"))
_TOKEN = re.compile(r"<\|\w+\|>")
# Of no width, or blank: a tag stands at the beginning of a line for all that
_NO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks around a model's thought. end: the text that closes it, where it is none of the usual tags."""

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
        """True if a tokenizer's token is a mark or a part of one, and so is to be seen in the text.

        >>> Marks().has("</think>"), Marks().has("<|im_end|>"), Marks("<|end_of_thought|>").has("<|end_of_thought|>")
        (True, False, True)
        """
        if self.end:
            return bool(token) and (token in self.end or token == self.end.replace("/", "", 1))
        is_tag = _BEGIN.fullmatch(token) or _END.fullmatch(token)
        return is_tag is not None or token in _OF_CHANNELS

    def begun_in(self, prompt: str) -> bool:
        """True if a prompt ends with the opening tag, so that the model's first words are its thought.

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
    r"""A model's words, its thought apart from its answer.

    The answer is what follows the last closing tag. The opening tag stands before it at the beginning of a line, or in the
    prompt: chat templates often write it. Without one, `</think>` closes a thought only at the beginning or end of a line.

    A thought that is not closed is no answer, `Finish.THINKING`: a text begins with `<think>`, or was cut off after a line that
    does. Tags that people write too, as `[Thought]` and `<reasoning>`, need a closing tag, unless a text that was cut off begins
    with one. Where the end of the thought was asked for by name, all that was cut off before it is thought. A text without a
    thought stays as it is.

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
    # The tag that closes the thought
    opening = next(_openings(text, marks), None)
    start = 0 if marks.end or begun else opening.end() if opening else len(text)
    ends = [*marks.closing.finditer(text, start)] or ([] if marks.end else [*_ALONE.finditer(text)])
    end = ends[-1] if ends else None
    rest = text[end.end() :].lstrip() if end else text
    inner = text[: end.start()] if end else ""
    opened = _is_open(rest, finish, marks) or (begun and not end)
    # Who names the end says that the model thinks, each time
    unseen = bool(marks.end) and not end and not thought and finish == Finish.LENGTH
    if opened or unseen:
        inner, rest = text, ""
    # The inner thought without its opening tag and the marks of channels
    first = next(_openings(inner, marks), None)
    if first and _is_blank(inner[: first.start()]):
        inner = inner[first.end() :]
    inner = _TOKEN.sub("", _HEADS.sub("\n", inner)).strip()
    thoughts = [part for part in (thought.strip(), inner) if part]
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


def _is_open(text: str, finish: Finish, marks: Marks) -> bool:
    """True if what follows the last closing tag is a thought that has begun."""
    openings = list(_openings(text, marks))
    sure = [one for one in openings if marks.end or _SURE_BEGIN.fullmatch(one["tag"])]
    at_once = [one for one in openings[:1] if _is_blank(text[: one.start()])]
    if finish == Finish.LENGTH:
        return bool(sure or at_once)
    return bool(at_once) and at_once == sure[:1]


def _is_blank(text: str) -> bool:
    return re.fullmatch(rf"[\s{_NO_WIDTH}]*", text) is not None


def _openings(text: str, marks: Marks) -> Iterator[re.Match[str]]:
    """Opening tags at the beginning of a line."""
    if marks.opening is None:
        return iter(())
    at_line = rf"^(?:[^\S\n]|[{_NO_WIDTH}])*(?P<tag>{marks.opening.pattern})"
    return re.finditer(at_line, text, marks.opening.flags | re.MULTILINE)
