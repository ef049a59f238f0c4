"""Spans of days: a year, one of its months, one of its days."""

import calendar
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta


@dataclass(frozen=True, slots=True)
class Slice:
    """From the first day to the last; its name is "2019", "2019-03" or "2019-03-07"."""

    name: str
    first: date
    last: date

    def parts(self) -> tuple["Slice", ...]:
        """The months of a year, the days of a month; a day has none.

        >>> [part.name for part in year_of(2020).parts()[1].parts()][-1]
        '2020-02-29'
        """
        year, *more = map(int, self.name.split("-"))
        if not more:
            return tuple(_month(year, month) for month in range(1, 13))
        if len(more) > 1:
            return ()
        days = (self.first + timedelta(n) for n in range((self.last - self.first).days + 1))
        return tuple(Slice(day.isoformat(), day, day) for day in days)


def year_of(year: int) -> Slice:
    return Slice(f"{year:04d}", date(year, 1, 1), date(year, 12, 31))


def years(first: int, last: int) -> Iterator[Slice]:
    return map(year_of, range(first, last + 1))


def _month(year: int, month: int) -> Slice:
    _, days = calendar.monthrange(year, month)
    return Slice(f"{year:04d}-{month:02d}", date(year, month, 1), date(year, month, days))
