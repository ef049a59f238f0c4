"""Survey questions of a study team's own: which kinds there are, what each needs, and what an answer may be. Pure.

A kind is a class here, and stands in KINDS. What it says of itself is all that set-up pages, exports, documents and
simulated participants need; `experiment/participant/survey_form.py` has a field for those that none here resembles.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal, NamedTuple

MOST_QUESTIONS = 60  # of a study
MOST_LABELS, LONGEST_LABEL = 30, 200
LONGEST_END = 80  # of a scale
FEWEST_POINTS, MOST_POINTS = 2, 11
MOST_NUMBER = 1_000_000_000
LONGEST_TEXT = 1_000  # of a question, and of an answer in words
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
COLUMN = "survey_"  # what the name of an export's column begins with
Parts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question besides its text, as the set-up's form asks for it: lines, one line, or a whole number."""

    label: str
    form: Literal["lines", "line", "whole"]
    help: str = ""
    initial: int | None = None
    least: int | None = None
    most: int | None = None  # of a line, characters


class Fault(NamedTuple):
    """A sentence on what is wrong, and the part beside which a form says it; "" where there are other parts."""

    part: str
    sentence: str


class Kind:
    """A kind of question.

    is_check: its part `correct` is the right answer, by which participants are excluded. column: the type of an export's column.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    parts: ClassVar[Mapping[str, Part]] = {}
    is_check: ClassVar[bool] = False
    column: ClassVar[Literal["text", "integer", "number"]] = "text"

    def fault(self, parts: Parts) -> Fault | None:
        """The first fault in these parts, all of which are there; None where the question is complete."""
        return None

    def levels(self, parts: Parts) -> tuple[str, ...]:
        """The only answers that there can be, as they are stored; empty where any number or text can be one."""
        return ()

    def unit(self, parts: Parts) -> str:
        """The unit of an export's column, which lists the levels where it has none."""
        return ""

    def in_codebook(self, parts: Parts) -> str:
        """The ending of the sentence on an export's column."""
        return "."

    def in_protocol(self, parts: Parts, text: Callable[[str], str] = str) -> str:
        """The answers, after the kind's label; `text` writes what the study team has written."""
        levels = self.levels(parts)
        return f": {text('; '.join(levels))}" if levels else ""

    def made_up(self, parts: Parts, rng: random.Random) -> str:
        """A simulated participant's answer."""
        return rng.choice(self.levels(parts))


LABELS = Part("Answers", "lines", "2 to 30, one per line.")


class Choice(Kind):
    """One of several answers.

    >>> Choice().fault({"labels": ["yes", "no"]})
    >>> Choice().fault({"labels": ["yes"]}).part
    'labels'
    """

    name, label = "choice", "choice"
    parts = {"labels": LABELS}

    def fault(self, parts: Parts) -> Fault | None:
        labels = parts["labels"]
        if (
            not isinstance(labels, list)
            or not 2 <= len(labels) <= MOST_LABELS
            or not all(_is_label(label, LONGEST_LABEL) for label in labels)
            or len(set(labels)) < len(labels)
        ):
            said = "Give 2 to 30 different answers, one per line, of at most 200 characters."
            return Fault("labels", said)
        return None

    def levels(self, parts: Parts) -> tuple[str, ...]:
        return tuple(parts["labels"])


class Scale(Kind):
    """A point of a scale whose ends have labels.

    >>> Scale().levels({"points": 3, "low": "not at all", "high": "completely"})
    ('1', '2', '3')
    >>> Scale().fault({"points": 7, "low": "", "high": "completely"}).part
    'high'
    """

    name, label = "scale", "scale"
    parts = {
        "points": Part("Points", "whole", initial=7, least=FEWEST_POINTS, most=MOST_POINTS),
        "low": Part("Label of the first point", "line", most=LONGEST_END),
        "high": Part("Label of the last point", "line", most=LONGEST_END),
    }
    column = "integer"

    def fault(self, parts: Parts) -> Fault | None:
        points = parts["points"]
        if not (_is_whole(points) and FEWEST_POINTS <= points <= MOST_POINTS):
            return Fault("points", "A scale has 2 to 11 points.")
        if not all(_is_label(parts[end], LONGEST_END) for end in ("low", "high")):
            said = "Label both ends of the scale, with at most 80 characters each."
            return Fault("high", said)
        return None

    def levels(self, parts: Parts) -> tuple[str, ...]:
        return tuple(str(point) for point in range(1, parts["points"] + 1))

    def unit(self, parts: Parts) -> str:
        return f"1-{parts['points']}"

    def in_codebook(self, parts: Parts) -> str:
        return f": from 1, “{parts['low']}”, to {parts['points']}, “{parts['high']}”."

    def in_protocol(self, parts: Parts, text: Callable[[str], str] = str) -> str:
        return f", 1 ({text(parts['low'])}) to {parts['points']} ({text(parts['high'])})"


class Number(Kind):
    """A number within limits.

    >>> Number().fault({"lowest": 5, "highest": 5}).part
    'highest'
    """

    name, label = "number", "number"
    parts = {
        "lowest": Part("Lowest number", "whole", "", 0, -MOST_NUMBER, MOST_NUMBER),
        "highest": Part("Highest number", "whole", "", None, -MOST_NUMBER, MOST_NUMBER),
    }
    column = "number"

    def fault(self, parts: Parts) -> Fault | None:
        ends = parts["lowest"], parts["highest"]
        are_numbers = all(_is_whole(end) and abs(end) <= MOST_NUMBER for end in ends)
        if are_numbers and ends[0] < ends[1]:
            return None
        return Fault("highest", "Give two whole numbers, of which the second is larger.")

    def in_protocol(self, parts: Parts, text: Callable[[str], str] = str) -> str:
        return f", {parts['lowest']} to {parts['highest']}"

    def made_up(self, parts: Parts, rng: random.Random) -> str:
        return str(rng.randint(parts["lowest"], parts["highest"]))


class Words(Kind):
    """A few words."""

    name, label = "text", "short text"

    def made_up(self, parts: Parts, rng: random.Random) -> str:
        return "Made up by a simulation."


class Attention(Choice):
    """A choice with a right answer.

    >>> Attention().fault({"labels": ["red", "blue"], "correct": "green"}).part
    'correct'
    """

    name, label = "attention", "attention check"
    parts = {
        "labels": LABELS,
        "correct": Part(
            "Right answer",
            "line",
            "One of the answers. Name it in the question, such as “Please choose blue.”",
        ),
    }
    is_check = True
    ATTENTIVE = 0.97  # share of simulated participants' answers that are as asked

    def fault(self, parts: Parts) -> Fault | None:
        if fault := super().fault(parts):
            return fault
        if parts["correct"] not in parts["labels"]:
            return Fault("correct", "The right answer must be one of the answers.")
        return None

    def in_codebook(self, parts: Parts) -> str:
        return f": an attention check, to which “{parts['correct']}” is the right answer."

    def made_up(self, parts: Parts, rng: random.Random) -> str:
        if rng.random() < self.ATTENTIVE:
            return str(parts["correct"])
        return super().made_up(parts, rng)


# In the order in which the set-up offers them
KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (Choice(), Scale(), Number(), Words(), Attention())
}
CHECKS = tuple(kind.name for kind in KINDS.values() if kind.is_check)


def fault_of(kind: str, parts: Parts) -> Fault | None:
    """The first fault in what a question of this kind has besides its text; None where it is complete.

    >>> fault_of("text", {"labels": ["yes", "no"]}).sentence
    'These are not the parts of a question of this kind.'
    """
    if set(parts) != set(KINDS[kind].parts):
        return Fault("", "These are not the parts of a question of this kind.")
    return KINDS[kind].fault(parts)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_label(value: Any, longest: int) -> bool:
    """One printable line."""
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        return False
    return value == value.strip() and value.isprintable()


def plain_number(value: Decimal) -> str:
    """A number as it is stored: equal numbers are equal texts.

    >>> plain_number(Decimal("4.50")), plain_number(Decimal("100")), plain_number(Decimal("-0"))
    ('4.5', '100', '0')
    """
    return f"{value.normalize():f}" if value else "0"
