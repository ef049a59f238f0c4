"""Statements of a study's prose on numbers, its field and deletion, where the settings say otherwise. Pure.

It finds plain English phrases, and is advice for a person: nothing is decided by it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal

Kind = Literal["trials", "minutes", "field", "days", "date"]
_UNITS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
WORDS = {word: n for n, word in enumerate(_UNITS.split(), start=2)}
_NUMBER = rf"(\d{{1,4}}|{'|'.join(WORDS)})"
_TRIALS = re.compile(rf"\b{_NUMBER}\s+(?:[\w-]+\s+){{0,2}}?(?:abstracts|trials|test cases)\b", re.I)
_MINUTES = re.compile(
    rf"\b{_NUMBER}(?:\s*(?:to|and|[-\u2013\u2014])\s*{_NUMBER})?\s*(?:minutes|mins?)\b", re.I
)
_DELETION = re.compile(r"delet|eras|remov|destroy|anonymis|anonymiz", re.I)
_DAYS = re.compile(rf"\b{_NUMBER}\s+days\b", re.I)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DATE = re.compile(
    rf"\b(?:(\d{{4}})-(\d{{2}})-(\d{{2}})|(\d{{1,2}})\s+({'|'.join(_MONTHS)})\s+(\d{{4}})"
    rf"|({'|'.join(_MONTHS)})\s+(\d{{1,2}}),\s*(\d{{4}}))\b",
    re.I,
)
# Where a text names one of these, it says what the test cases are about
FIELDS = (
    "neuroscience",
    "psychology",
    "biology",
    "ecology",
    "genetics",
    "medicine",
    "chemistry",
    "physics",
    "astronomy",
    "economics",
    "sociology",
    "political science",
    "linguistics",
    "computer science",
    "materials science",
    "earth science",
    "climate science",
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of the set-up; `parts` are other numbers of trials that a text may name. Minutes are as the pages state them."""

    n_trials: int
    parts: frozenset[int]
    minutes: tuple[int, int]
    field: str
    id_days: int
    retain_until: date | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A phrase of a text, and what the settings say."""

    kind: Kind
    said: str
    is_so: str


def disagreements(text: str, facts: Facts) -> Iterator[Disagreement]:
    """Phrases that do not hold.

    >>> facts = Facts(11, frozenset({9}), (15, 30), "neuroscience", 90)
    >>> [d.said for d in disagreements("You judge nine abstracts of ecology in 45 minutes.", facts)]
    ['45 minutes', 'ecology']
    """
    for found in _TRIALS.finditer(text):
        if _number(found[1]) not in {facts.n_trials, *facts.parts}:
            yield Disagreement("trials", found[0], str(facts.n_trials))
    low, high = facts.minutes
    for found in _MINUTES.finditer(text):
        first = _number(found[1])
        last = _number(found[2]) if found[2] else first
        if last < low or first > high:
            yield Disagreement("minutes", found[0], f"{low} to {high}")
    named = [name for name in FIELDS if re.search(rf"\b{name}\b", text, re.I)]
    if facts.field and named and not re.search(rf"\b{re.escape(facts.field)}\b", text, re.I):
        yield Disagreement("field", named[0], facts.field)
    for sentence in re.split(r"(?<=[.!?])\s+|\n", text):
        if _DELETION.search(sentence):
            yield from _of_deletion(sentence, facts)


def _number(text: str) -> int:
    return WORDS[text.lower()] if text.lower() in WORDS else int(text)


def _of_deletion(sentence: str, facts: Facts) -> Iterator[Disagreement]:
    for found in _DAYS.finditer(sentence):
        if _number(found[1]) != facts.id_days:
            yield Disagreement("days", found[0], str(facts.id_days))
    for found in _DATE.finditer(sentence):
        day = _date(found)
        if day is None or day != facts.retain_until:
            until = facts.retain_until.isoformat() if facts.retain_until else ""
            yield Disagreement("date", found[0], until)


def _date(found: re.Match[str]) -> date | None:
    year, month, day, day2, month2, year2, month3, day3, year3 = found.groups()
    try:
        if year:
            return date(int(year), int(month), int(day))
        name, of_day, of_year = (month2, day2, year2) if month2 else (month3, day3, year3)
        return date(int(of_year), _MONTHS.index(name.lower()) + 1, int(of_day))
    except ValueError:  # the 31st of June
        return None
