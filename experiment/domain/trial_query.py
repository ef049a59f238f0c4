"""A selection of a study's judged trials: what the export page, its file, the command and the API ask alike. Pure.

It is read from texts by name, each with any number of values (an address, a form, a command's options). What is not known
is a problem, and never ignored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from experiment.domain.export_columns import EXPORT_REASONS, TRIAL_COLUMNS

SETS = ("all", "analysis")
LEVELS = {column.name: column.levels for column in TRIAL_COLUMNS}
KINDS, STATUSES, SOURCES = LEVELS["kind"], LEVELS["stage"], LEVELS["item_source"]
REASONS = tuple(reason.code for reason in EXPORT_REASONS)
RECOGNISED = ("true", "false", "unknown")


@dataclass(frozen=True, slots=True)
class TrialQuery:
    """A filter for each part that is given; of several values of one, any may hold.

    kind: of participants, "" the study's usual one. rules: the version of the study's rules that says what is excluded,
    None the newest. since, until: days (UTC) on which the answer was received, both included. status: how far the
    participant has come. channel: how they came. source: of the altered text. items: their keys, in all versions.
    participants: by pseudonym. reasons: codes, of which one speaks against the trial. recognised: what was answered.
    """

    set: str = "all"
    kind: str = ""
    rules: int | None = None
    since: date | None = None
    until: date | None = None
    status: tuple[str, ...] = ()
    channel: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    subfields: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    recognised: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names and values as they are parsed, in one order; what is not asked for is left out."""
        return [(name, text) for name in NAMES for text in _texts(getattr(self, FIELDS[name]))]

    def encode(self) -> str:
        """A query string; equal queries, equal strings.

        >>> TrialQuery("analysis", subfields=("Systems/Circuits",)).encode()
        'set=analysis&subfield=Systems%2FCircuits'
        """
        return urlencode(self.pairs)

    def as_dict(self) -> dict[str, str | list[str]]:
        """For a manifest or the audit trail."""
        found: dict[str, str | list[str]] = {}
        for name, text in self.pairs:
            given = found.setdefault(name, [] if name in SEVERAL else text)
            if isinstance(given, list):
                given.append(text)
        return found


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that cannot be asked for: the name, the value, and the values that can; `why` where these do not say it."""

    name: str
    value: str = ""
    allowed: tuple[str, ...] = ()
    why: str = ""

    def __str__(self) -> str:
        known = f"“{self.value}” is not one of {', '.join(self.allowed)}" if self.allowed else ""
        return f"{self.name}: {self.why or known or 'there is no such filter'}"


class QueryError(ValueError):
    """All that is wrong with a query."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = tuple(problems)


# Name in an address -> field
FIELDS = {
    "set": "set",
    "kind": "kind",
    "rules": "rules",
    "from": "since",
    "to": "until",
    "status": "status",
    "channel": "channel",
    "source": "source",
    "subfield": "subfields",
    "item": "items",
    "participant": "participants",
    "reason": "reasons",
    "recognised": "recognised",
}
NAMES = tuple(FIELDS)
ALLOWED: Mapping[str, tuple[str, ...]] = {
    "set": SETS,
    "kind": KINDS,
    "status": STATUSES,
    "source": SOURCES,
    "reason": REASONS,
    "recognised": RECOGNISED,
}
SEVERAL = {n for n, f in FIELDS.items() if isinstance(getattr(TrialQuery(), f), tuple)}
Values = Mapping[str, Sequence[str]]


def parse(values: Values) -> TrialQuery:
    """Read a query; an empty value, as a form sends it, asks for nothing.

    >>> parse({"set": ["analysis"], "source": ["human"], "to": [""]})  # doctest: +ELLIPSIS
    TrialQuery(set='analysis', kind='', ... source=('human',), ...)
    >>> parse({"set": ["none"], "color": ["red"]})
    Traceback (most recent call last):
    experiment.domain.trial_query.QueryError: set: “none” is not one of all, analysis; color: there is no such filter

    Raises:
        QueryError: an unknown name or value, or several where there can be one.
    """
    problems: list[Problem] = []
    read: dict[str, Any] = {}
    for name, texts in values.items():
        given = sorted({text.strip() for text in texts} - {""})
        if name not in FIELDS:
            problems.append(Problem(name, "".join(given[:1])))
        elif given:
            found = list(_read(name, given, problems))
            several = tuple(sorted(set(found)))
            read[FIELDS[name]] = several if name in SEVERAL else next(iter(found), None)
    if not problems:
        query = TrialQuery(**read)
        if query.since and query.until and query.since > query.until:
            problems.append(Problem("to", str(query.until), why="it is before the first date"))
        if query.set == "analysis" and query.reasons:
            why = "the analysis does not contain excluded trials; choose the set all"
            problems.append(Problem("reason", why=why))
    if problems:
        raise QueryError(problems)
    return query


def _read(name: str, texts: Sequence[str], problems: list[Problem]) -> Iterator[Any]:
    if len(texts) > 1 and name not in SEVERAL:
        problems.append(Problem(name, texts[1], why="only one value can be given"))
    for text in texts:
        if name in ALLOWED and text not in ALLOWED[name]:
            problems.append(Problem(name, text, ALLOWED[name]))
        try:
            yield READ.get(name, _plain)(text)
        except (ValueError, OverflowError):
            problems.append(
                Problem(name, text, why=f"{text!r} is not {WANTED.get(name, 'a name')}")
            )


def _plain(text: str) -> str:
    if not text.isprintable():  # databases refuse some of these
        raise ValueError
    return text


def _version(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text[:9]) == int(text):
        raise ValueError
    return int(text)


READ: Mapping[str, Callable[[str], Any]] = {
    "rules": _version,
    "from": date.fromisoformat,
    "to": date.fromisoformat,
    "participant": lambda text: str(UUID(text)),
}
WANTED = {
    "rules": "the number of a version",
    "from": "a date such as 2026-03-31",
    "to": "a date such as 2026-03-31",
    "participant": "a participant's pseudonym",
}


def _texts(value: Any) -> Sequence[str]:
    if isinstance(value, tuple):
        return value
    return () if value in (None, "") else (str(value),)
