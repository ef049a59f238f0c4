"""Dates of publication as journals state them, as far as they are known: "2019", "2019-08" or "2019-08-12"."""

import re
from calendar import month_abbr
from collections.abc import Iterable

from scoring.training.corpus.document import last_day

MONTHS = {name.lower(): number for number, name in enumerate(month_abbr) if name}


def written(year: str | None, month: str | None = None, day: str | None = None) -> str:
    """A date in its parts; months by number or English name, of several the first. What cannot be read is left off.

    >>> written("2019", "Aug", "2"), written("2019", "Winter"), written("2019", "Feb", "31")
    ('2019-08-02', '2019', '2019-02')
    """
    if not re.fullmatch(r"\d{4}", (year or "").strip()):
        return ""
    date = (year or "").strip()
    name = (month or "").strip().lower()
    number = int(name) if name.isdecimal() else MONTHS.get(name[:3], 0)
    if not 1 <= number <= 12:
        return date
    date += f"-{number:02d}"
    number = int(day) if (day or "").strip().isdecimal() else 0  # type: ignore[arg-type]
    exact = f"{date}-{number:02d}"
    return exact if last_day(exact) else date


def of_medline(text: str) -> str:
    """The begin of a date that MEDLINE keeps as text.

    >>> of_medline("1998 Dec-1999 Jan"), of_medline("2000 Spring"), of_medline("2015 Jul 7-13")
    ('1998-12', '2000', '2015-07-07')
    """
    match = re.search(r"(\d{4})(?:\s+([A-Za-z]+))?(?:\s+(\d{1,2})\b)?", text)
    return written(*match.groups()) if match else ""


def best(dates: Iterable[str]) -> str:
    """The most exact one; of several, the first.

    >>> best(["2019", "2018-12-20"]), best(["", ""])
    ('2018-12-20', '')
    """
    return max(dates, key=len, default="")
