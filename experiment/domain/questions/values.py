"""The cells of a table as values that a template compares and writes. Pure.

A column whose cells are all numbers, the empty ones aside, holds numbers: they compare as such and are written as they
stand in the table. Any other column holds texts. A comparison that could only be guessed at is an error, never false: the
catch-all rule of a template would make a wrong answer of it.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, NoReturn

from lib.tables import shown

# 007 is no number: a leading zero is part of a name
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]{0,300})(\.[0-9]{1,300})?([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_SHOWN = 60  # characters of a cell that a message shows


class EmptyCellError(Exception):
    """A slot of which the row has nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


class UnlikeError(TypeError):
    """Values that cannot be compared; the message says which."""


class Number(float):
    """A number that is written as it stood. Beside a text it is an error.

    >>> Number("1.50") < 2, str(Number("1.50")), Number("18") == 18.0
    (True, '1.50', True)
    >>> str(-Number("1.50")), str(-Number("0"))
    ('-1.50', '0')
    """

    text: str

    def __new__(cls, text: str) -> "Number":
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __neg__(self) -> "Number":
        plain = self.text.lstrip("+-")
        return Number(plain if self.text.startswith("-") or not self else f"-{plain}")

    def __pos__(self) -> "Number":
        return self

    def _beside(self, other: object) -> float:
        if isinstance(other, Empty):
            raise EmptyCellError(other.name)
        if isinstance(other, bool) or not isinstance(other, int | float):
            raise UnlikeError(
                f"the number {self} is compared with “{other}”, which is not a number"
            )
        return other

    def __eq__(self, other: object) -> bool:
        return not _is_nothing(other) and super().__eq__(self._beside(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return super().__lt__(self._beside(other))

    def __le__(self, other: object) -> bool:
        return super().__le__(self._beside(other))

    def __gt__(self, other: object) -> bool:
        return super().__gt__(self._beside(other))

    def __ge__(self, other: object) -> bool:
        return super().__ge__(self._beside(other))

    def __contains__(self, other: object) -> NoReturn:
        raise UnlikeError(f"the number {self} cannot contain another value")

    def __hash__(self) -> int:
        return super().__hash__()


class Word(str):
    """A text. Beside a number it is an error, and of two texts only dates are before or after each other.

    >>> Word("tin") == "tin", Word("2020-12-31") < "2021-01-01"
    (True, True)
    """

    __slots__ = ()

    def _beside(self, other: object) -> str:
        if isinstance(other, Empty):
            raise EmptyCellError(other.name)
        if not isinstance(other, str):
            raise UnlikeError(f"the text “{self}” is compared with {other}, which is not a text")
        return other

    def _date_beside(self, other: object) -> str:
        beside = self._beside(other)
        for one in (self, beside):
            if not _DATE.fullmatch(one):
                raise UnlikeError(f"“{one}” is neither a number nor a date like 2020-12-31")
        return beside

    def __eq__(self, other: object) -> bool:
        return super().__eq__(self._beside(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: object) -> bool:
        return super().__lt__(self._date_beside(other))

    def __le__(self, other: object) -> bool:
        return super().__le__(self._date_beside(other))

    def __gt__(self, other: object) -> bool:
        return super().__gt__(self._date_beside(other))

    def __ge__(self, other: object) -> bool:
        return super().__ge__(self._date_beside(other))

    def __contains__(self, other: object) -> bool:
        return super().__contains__(self._beside(other))

    def __neg__(self) -> NoReturn:
        raise UnlikeError(f"“{self}” is not a number")

    __pos__ = __neg__

    def __hash__(self) -> int:
        return super().__hash__()


class Empty:
    """An empty cell: written, or compared with anything but "", it is an error that names its column.

    >>> Empty("mass") == "", Empty("mass") != ""
    (True, False)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def _refuse(self, *others: object) -> NoReturn:
        raise EmptyCellError(self.name)

    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __neg__ = __pos__ = __bool__ = _refuse

    def __str__(self) -> str:
        self._refuse()

    def __eq__(self, other: object) -> bool:
        return _is_nothing(other) or self._refuse()

    def __hash__(self) -> int:
        return hash("")


Value = Word | Number | Empty
_EXACT = Context(prec=15)  # as many digits as a float holds


def calculated(operator: str, left: Any, right: Any) -> Number:
    """left `+`, `-`, `*` or `/` right, as one works it out on paper, to 15 digits.

    Raises:
        EmptyCellError: one is empty.
        UnlikeError: one is no number, or there is no such number, or none that a float holds.

    >>> str(calculated("-", Number("0.3"), Number("0.10"))), str(calculated("/", 10, Number("4")))
    ('0.2', '2.5')
    >>> str(calculated("*", 0, -1))
    '0'
    """
    a, b = _decimal(left), _decimal(right)
    if operator == "/" and not b:
        raise UnlikeError(f"{left} is divided by 0")
    how = {"+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply, "/": _EXACT.divide}
    try:
        found = _EXACT.normalize(how[operator](a, b)) or Decimal(0)  # never -0
    except ArithmeticError as error:
        raise UnlikeError(f"{left} {operator} {right} cannot be calculated") from error
    if not _is_held(found):
        size = "small" if abs(found) < 1 else "large"
        raise UnlikeError(f"{left} {operator} {right} is too {size}")
    return Number(f"{found:f}" if -_EXACT.prec <= found.adjusted() < 30 else f"{found:e}")


def _decimal(value: Any) -> Decimal:
    if isinstance(value, Empty):
        raise EmptyCellError(value.name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnlikeError(f"“{value}” is not a number")
    return Decimal(str(value))


def _is_held(number: Decimal) -> bool:
    """True if a float holds it: neither as infinity nor, unless it is 0, as 0."""
    held = float(number)
    return math.isfinite(held) and bool(held) == bool(number)


def several(value: Any) -> list[Value]:
    """The values of a cell, between semicolons: numbers, or all of them texts.

    >>> several(Word("TP53; BRCA1"))
    ['TP53', 'BRCA1']
    """
    if isinstance(value, Number):
        return [value]
    pieces = [piece for one in str(value).split(";") if (piece := one.strip())]
    kind = Number if all(map(is_number, pieces)) else Word
    return [kind(piece) for piece in pieces]


@dataclass(frozen=True, slots=True)
class MixedColumn:
    """A column of texts, although some of its cells are numbers. row: of the first cell that is none, from 1."""

    slot: str
    row: int
    cell: str  # its beginning

    def __str__(self) -> str:
        return f"The column {self.slot} is read as text: row {self.row} says {shown(self.cell)}, which is not a number."


def slot_name(column: str) -> str:
    """How a template calls a column.

    >>> slot_name("Melting point (°C)")
    'Melting_point_C'
    """
    return re.sub(r"\W+", "_", column).strip("_")


def typed(rows: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Value]]:
    """Each row's values by slot.

    >>> [row["n"] < 3 for row in typed([{"n": "2"}, {"n": "10"}])]
    [True, False]
    """
    columns = dict.fromkeys(column for row in rows for column in row)
    # A column is of numbers where all its cells are that are not empty
    numeric = {
        column: all(is_number(cell) for row in rows if (cell := row.get(column, "").strip()))
        for column in columns
    }
    for row in rows:
        values: dict[str, Value] = {}
        for column in columns:
            cell, name = row.get(column, "").strip(), slot_name(column)
            kind = Number if numeric[column] else Word
            values[name] = kind(cell) if cell else Empty(name)
        yield values


def mixed_columns(rows: Sequence[Mapping[str, str]]) -> list[MixedColumn]:
    """
    >>> mixed_columns([{"n": "2"}, {"n": "-"}])
    [MixedColumn(slot='n', row=2, cell='-')]
    """
    found = []
    for column in dict.fromkeys(column for row in rows for column in row):
        cells = [
            (n, cell) for n, row in enumerate(rows, 1) if (cell := row.get(column, "").strip())
        ]
        first = next((place for place in cells if not is_number(place[1])), None)
        if first and any(is_number(cell) for _, cell in cells):
            row, cell = first
            found.append(MixedColumn(slot_name(column), row, cell[:_LONGEST_SHOWN]))
    return found


def is_number(cell: str) -> bool:
    """
    >>> [is_number(cell) for cell in ("-1.5e3", "007", "1e999", "1e-999")]
    [True, False, False, False]
    """
    return bool(_NUMBER.fullmatch(cell)) and _is_held(Decimal(cell))


def _is_nothing(other: object) -> bool:
    """True if it is the text "", beside which any value may stand."""
    return isinstance(other, str) and len(other) == 0
