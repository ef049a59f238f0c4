"""A template filled from the rows of a table: pairs of question and answer, and why other rows made none. Pure."""

import random
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.looks import looks
from experiment.domain.questions.language import (
    ROWS,
    Condition,
    LanguageError,
    Text,
    condition,
    text,
)
from experiment.domain.questions.neighbours import Rows, Table
from experiment.domain.questions.values import (
    EmptyCellError,
    MixedColumn,
    UnlikeError,
    Value,
    mixed_columns,
    slot_name,
    typed,
)

MOST_RULES = 50
LONGEST_DETAIL = 500  # characters
_Read = TypeVar("_Read", Text, Condition)


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer with slots, for rows of which `when` holds; an empty one always does."""

    when: str
    answer: str


@dataclass(frozen=True, slots=True)
class Template:
    question: str
    rules: tuple[Rule, ...]


class TemplateFaultsError(Exception):
    """The template cannot be used: `faults` are sentences, each naming the part that it is about."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "; ".join(self.faults)


class Reason(StrEnum):
    NO_RULE = "no_rule"  # none holds of the row
    EMPTY = "empty"  # a cell that a rule or text needs
    UNUSABLE = "unusable"  # a text where a number is needed, or a result that no question may be
    AMBIGUOUS = "ambiguous"  # another row asks the same, and is answered otherwise
    SAME_QUESTION = "same_question"  # as a row before, with the same answer
    SAME_ANSWER = "same_answer"  # as a row before, of another question
    ASKED_ALREADY = "asked_already"  # by another question of the field
    ANSWERED_ALREADY = "answered_already"  # is the answer of another question of the template


@dataclass(frozen=True, slots=True)
class Pair:
    """row: of the table, from 1. rule: that gave the answer, from 1. values: of the template's slots, as they stand."""

    row: int
    question: str
    answer: str
    rule: int
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """detail: the column, what is wrong, or the key of the other question. other: the row that it clashes with."""

    row: int
    reason: Reason
    detail: str = ""
    other: int | None = None

    def __str__(self) -> str:
        """The row, and why it makes no question.

        >>> str(LeftOut(3, Reason.SAME_QUESTION, other=1))
        'row 3: the same as row 1'
        """
        return f"row {self.row}: {self._why}"

    @property
    def _why(self) -> str:
        match self.reason:
            case Reason.NO_RULE:
                return "no rule matches"
            case Reason.EMPTY:
                return f"the cell of {self.detail} is empty"
            case Reason.AMBIGUOUS:
                return f"asks the same as row {self.other} but has a different answer"
            case Reason.SAME_QUESTION:
                return f"the same as row {self.other}"
            case Reason.SAME_ANSWER:
                return f"has the answer of row {self.other}"
            case Reason.ASKED_ALREADY:
                return f"asks the same as {self.detail}"
            case Reason.ANSWERED_ALREADY:
                return f"has the answer of {self.detail}"
            case Reason.UNUSABLE:
                return self.detail


@dataclass(frozen=True)
class Filling:
    """Each row is in one of the first two, in the table's order. mixed: columns of the template that hold texts beside numbers."""

    pairs: Sequence[Pair]
    left_out: Sequence[LeftOut]
    mixed: Sequence[MixedColumn] = ()


class CompiledTemplate:
    """A template that can be read.

    Raises:
        TemplateFaultsError: with every fault of its texts.
    """

    def __init__(self, template: Template) -> None:
        self.faults: list[str] = []
        question = self._read("the question", text, template.question)
        self.rules: list[tuple[Condition, Text]] = []
        for n, rule in enumerate(template.rules, 1):
            when = self._read(f"the condition of rule {n}", condition, rule.when)
            answer = self._read(f"the answer of rule {n}", text, rule.answer)
            if when and answer:
                self.rules.append((when, answer))
        if not template.rules or len(template.rules) > MOST_RULES:
            self.faults.append(f"a template has 1 to {MOST_RULES} rules")
        if not all((template.question.strip(), *(r.answer.strip() for r in template.rules))):
            self.faults.append("the question or an answer is empty")
        if question is None or self.faults:
            raise TemplateFaultsError(self.faults)
        self.question = question

    def _read(self, part: str, read: Callable[[str], _Read], source: str) -> _Read | None:
        try:
            return read(source)
        except LanguageError as error:
            self.faults.append(f"{part}: {error}")
            return None

    @property
    def slots(self) -> Mapping[str, str]:
        """Name -> the first part that uses it."""
        found = dict.fromkeys(sorted(self.question.slots), "the question")
        for n, (when, answer) in enumerate(self.rules, 1):
            found = dict.fromkeys(sorted(when.slots), f"the condition of rule {n}") | found
            found = dict.fromkeys(sorted(answer.slots), f"the answer of rule {n}") | found
        return found

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raises TemplateFaultsError naming every slot that is no column of the table."""
        names = [slot_name(column) for column in columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        faults = [f"several columns match the slot “{name}”" for name in twice]
        there = ", ".join(names) or "none"
        for name, part in self.slots.items():
            if name not in names:
                faults.append(
                    f"{part}: the table does not have a column “{name}” (columns: {there})"
                )
        if faults:
            raise TemplateFaultsError(faults)

    def fill(self, row: int, table: Table, cells: Mapping[str, str]) -> Pair | LeftOut:
        """The first rule that holds of the table's row, counted from 1, gives the answer; a question or answer with a hole is none."""
        values = table.rows[row - 1]
        used: dict[str, Value | Rows] = {name: values[name] for name in self.slots}
        used[ROWS] = Rows(table, row - 1)
        part = ""
        try:
            for number, (when, answer) in enumerate(self.rules, 1):
                part = f"the condition of rule {number}"
                if not when.holds(used):
                    continue
                part = "the question"
                question = _usable(self.question.write(used))
                part = f"the answer of rule {number}"
                written = _usable(answer.write(used))
                named = {name: cells.get(name, "") for name in self.slots}
                return Pair(row, question, written, number, named)
        except EmptyCellError as error:
            return LeftOut(row, Reason.EMPTY, _shortened(error.name))
        except UnlikeError as error:
            return LeftOut(row, Reason.UNUSABLE, _shortened(f"{part}: {error}"))
        except (TypeError, ValueError, ArithmeticError):
            said = f"{part} cannot be filled with these cells"
            return LeftOut(row, Reason.UNUSABLE, said)
        return LeftOut(row, Reason.NO_RULE)


def _usable(written: str) -> str:
    """Raises UnlikeError: no question and no answer may be this."""
    if not written:
        raise UnlikeError("the text is empty")
    if finding := next(check_characters(written), None):
        raise UnlikeError(finding.message)
    return written


def _shortened(said: str) -> str:
    """A message that may quote a cell."""
    return said if len(said) <= LONGEST_DETAIL else f"{said[:LONGEST_DETAIL]}…"


def fill(
    template: Template, rows: Sequence[Mapping[str, str]], *, unique_answers: bool = True
) -> Filling:
    """Every row's pair, but none that asks what another row asks, nor, with `unique_answers`, that has another's answer.

    rows: cells by column; every row has every column.

    Raises:
        TemplateFaultsError: the template cannot be read, or has a slot that is no column.

    >>> rows = [{"name": "neon", "boils": "-246"}, {"name": "iron", "boils": "2861"}]
    >>> rules = (Rule("boils < 25", "Yes, {{ name }} is."), Rule("", "No, {{ name }} is not."))
    >>> [pair.answer for pair in fill(Template("Is {{ name }} a gas?", rules), rows).pairs]
    ['Yes, neon is.', 'No, iron is not.']
    """
    compiled = CompiledTemplate(template)
    compiled.check_columns(list(dict.fromkeys(column for row in rows for column in row)))
    table = Table(list(typed(rows)))
    made = [
        compiled.fill(n, table, {slot_name(column): cell for column, cell in cells.items()})
        for n, cells in enumerate(rows, 1)
    ]
    pairs, clashes = unique([m for m in made if isinstance(m, Pair)], unique_answers)
    left = [*(m for m in made if isinstance(m, LeftOut)), *clashes]
    mixed = [column for column in mixed_columns(rows) if column.slot in compiled.slots]
    return Filling(pairs, sorted(left, key=lambda one: one.row), mixed)


def unique(pairs: Sequence[Pair], unique_answers: bool = True) -> tuple[list[Pair], list[LeftOut]]:
    """Those that clash with no other: case and white space make no difference."""
    asked: dict[str, list[tuple[str, Pair]]] = {}
    for pair in pairs:
        asked.setdefault(plain(pair.question), []).append((plain(pair.answer), pair))
    kept: list[tuple[str, Pair]] = []
    left: list[LeftOut] = []
    for same in asked.values():
        words, first = same[0]
        other = next((pair for answer, pair in same if answer != words), None)
        if other is None:
            kept.append(same[0])
            left += [LeftOut(p.row, Reason.SAME_QUESTION, other=first.row) for _, p in same[1:]]
        else:
            for answer, pair in same:
                clash = other if answer == words else first
                left.append(LeftOut(pair.row, Reason.AMBIGUOUS, other=clash.row))
    if not unique_answers:
        return [pair for _, pair in kept], left
    answered: dict[str, Pair] = {}
    for answer, pair in kept:
        first = answered.setdefault(answer, pair)
        if first is not pair:
            left.append(LeftOut(pair.row, Reason.SAME_ANSWER, other=first.row))
    return list(answered.values()), left


def plain(written: str) -> str:
    """A text as it looks, without its case and its white space.

    >>> plain(" Is  Neon a gas? ")
    'is neon a gas?'
    """
    return looks(written).strip().casefold()


T = TypeVar("T")


def sample(
    of: Sequence[T], n: int, stratum: Callable[[T], Hashable], rng: random.Random
) -> list[T]:
    """n of them, in their order; each stratum gives the same number, or all that it has.

    >>> sample(["a1", "b1", "b2"], 2, lambda name: name[0] == "a", random.Random(1))[0]
    'a1'
    """
    strata: dict[Hashable, list[int]] = {}
    for place, one in enumerate(of):
        strata.setdefault(stratum(one), []).append(place)
    sizes = {name: len(places) for name, places in strata.items()}
    counts = allocate(sizes, n, rng)
    chosen = [place for name, k in counts.items() for place in rng.sample(strata[name], k)]
    return [of[place] for place in sorted(chosen)]


def allocate(sizes: Mapping[Hashable, int], n: int, rng: random.Random) -> dict[Hashable, int]:
    """How many each stratum gives: no two that could give more differ by over one; chance says who gives the odd ones.

    >>> allocate({"few": 2, "many": 50}, 10, random.Random(1))
    {'few': 2, 'many': 8}
    """
    counts = dict.fromkeys(sizes, 0)
    left = min(n, sum(sizes.values()))
    while left > 0:
        open_ones = [name for name in sizes if counts[name] < sizes[name]]
        share = min(left // len(open_ones), min(sizes[name] - counts[name] for name in open_ones))
        givers: Iterable[Hashable] = open_ones if share else rng.sample(open_ones, left)
        for name in givers:
            counts[name] += share or 1
            left -= share or 1
    return counts
