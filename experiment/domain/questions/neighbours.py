"""The rows of a table that are nearest to one of them. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property

from experiment.domain.questions.values import Empty, EmptyCellError, Number, UnlikeError, Value

# Of numbers as they are written, no digit is lost: 0.3 - 0.2 is as much as 0.2 - 0.1, and of floats it is not
_EXACT = Context(prec=2_000)
Line = list[tuple[Decimal, int]]  # (value, row) in order


class Table:
    """Rows of values by slot; each column is put in order once."""

    def __init__(self, rows: Sequence[Mapping[str, Value]]) -> None:
        self.rows = rows
        self._lines: dict[tuple[str, str], dict[str, Line]] = {}

    def line(self, column: str, same: str, group: str) -> Line:
        """The rows in order of a column, of those that have `group` in the column `same`; "" all."""
        if (column, same) not in self._lines:
            found: dict[str, Line] = defaultdict(list)
            for n, row in enumerate(self.rows):
                value, of = row[column], row[same] if same else ""
                if isinstance(value, Number) and not isinstance(of, Empty):
                    found[str(of)].append((Decimal(value.text), n))
            self._lines[column, same] = {name: sorted(line) for name, line in found.items()}
        return self._lines[column, same].get(group, [])


@dataclass(frozen=True)
class Rows:
    """A table as one of its rows, counted from 0, sees it."""

    table: Table
    row: int

    def nearest(self, column: str, n: int, same: str = "") -> list[Mapping[str, Value]]:
        """The n other rows of the smallest difference in a column of numbers, the nearest first.

        same: a column in which they are as this row. Rows without a number there are passed over.

        Raises:
            EmptyCellError: this row has no value in one of the columns.
            UnlikeError: the column holds texts; there are fewer rows; or chance would say which comes first, or is the last.
        """
        own = self._own[column]
        if isinstance(own, Empty):
            raise EmptyCellError(own.name)
        if not isinstance(own, Number):
            raise UnlikeError(f"“{own}” in “{column}” is not a number")
        line = self.table.line(column, same, str(self._own[same]) if same else "")
        value, most = Decimal(own.text), n + 1  # one more, which may be as near as the last
        after = bisect_left(line, (value, -1))
        near = [*line[max(0, after - most) : after], *line[after : after + most + 1]]
        found = sorted(
            (_EXACT.abs(_EXACT.subtract(other, value)), row)
            for other, row in near
            if row != self.row
        )[:most]
        if len(found) < n:
            raise UnlikeError(f"only {len(found)} of {n} rows are near in “{column}”")
        if len({distance for distance, _ in found}) < len(found):
            raise UnlikeError(f"several rows are equally near in “{column}”")
        return [self.table.rows[row] for _, row in found[:n]]

    @cached_property
    def _own(self) -> Mapping[str, Value]:
        return self.table.rows[self.row]
