"""Who took part: answers about themselves, when and how long, over the whole study. Small groups are not named."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd

from analysis.codec import MissingResult, tidy_table, try_estimate
from analysis.data.dataset import SourceData, TakingPart
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.arrays import Floats
from analysis.stats.distributions import Spread, spread_of

# What fewer people answered is not reported by itself: it could tell who they are
SMALL = 5
COLUMNS = ("characteristic", "answer", "n", "share")
NOBODY = ("Nobody has taken part yet.", "Open the study to participants.")
ONLY_OTHERS = (
    "Nobody has taken part yet but those who are not described here: {others}.",
    "Open the study to participants.",
)
NO_ANALYSED = ("No participant is in the analysis yet.", "Let participants finish the study.")
NOT_GIVEN = (
    "No participant in the analysis gave it.",
    "The study asks for it where its settings say so.",
)
NOT_RECORDED = ("It was not recorded.", "It is known of people who take part here.")
FEW = (
    "Fewer than {small} participants in the analysis gave it.",
    "It is described from {small} people on, so that nobody can be recognised.",
)
METHOD = (
    "Of participants with at least one analysed trial, over the whole study, whichever source the report is of. Answers of "
    "fewer than {small} people are counted together with those who gave none, and numbers that fewer than {small} gave are "
    "left out. Days are those of consent, in the server's time zone; minutes run from consent to the end, pauses included; "
    "the time of a trial is that until Continue. Quartiles by linear interpolation, sd with n-1."
)


@dataclass(frozen=True)
class Group:
    """How many gave an answer, by its code."""

    answer: str
    n: int
    share: float


@dataclass(frozen=True)
class Answers:
    """The answers of at least SMALL people each, most frequent first; n_rest gave another one, or none.

    n_different: how many different answers there are, rare ones included.
    """

    n: int
    groups: tuple[Group, ...]
    n_rest: int
    n_different: int

    @property
    def share_rest(self) -> float:
        return self.n_rest / self.n


@dataclass(frozen=True)
class Count:
    """People by the code of something."""

    code: str
    n: int


@dataclass(frozen=True)
class People:
    """Of one kind of participants; TakingPart says what the fields are. Each part says why where it is missing."""

    kind: str
    n_analysed: int
    first_day: date | None
    last_day: date | None
    routes: tuple[Count, ...]
    other_kinds: tuple[Count, ...]
    ethics_number: str
    ethics_body: str
    gender: Answers | MissingResult
    country: Answers | MissingResult
    position: Answers | MissingResult
    age: Spread | MissingResult
    experience_years: Spread | MissingResult
    minutes: Spread | MissingResult
    trial_s: Spread | MissingResult
    n_small: int
    method: str

    @property
    def answers(self) -> Mapping[str, Answers]:
        """By characteristic, where there are any."""
        found = {"gender": self.gender, "position": self.position, "country": self.country}
        return {name: one for name, one in found.items() if isinstance(one, Answers)}


@dataclass(frozen=True)
class Participants:
    people: People | MissingResult


@dataclass(frozen=True)
class _Line:
    """A row of the tidy table."""

    characteristic: str
    answer: str
    n: int
    share: float


def build(data: SourceData) -> Built:
    """The results, and the table participants. Raises NotEnough where nobody of this kind took part."""
    own = data.taking_part
    if own is None or not _n_consented(data):
        raise NotEnough(*_nobody(own.other_kinds if own else {}))
    table = own.people
    found = People(
        kind=own.kind,
        n_analysed=len(table),
        first_day=own.first_day,
        last_day=own.last_day,
        routes=_counts(own.routes),
        other_kinds=_counts(own.other_kinds),
        ethics_number=own.ethics_number,
        ethics_body=own.ethics_body,
        gender=try_estimate(_answers, table["gender"]),
        country=try_estimate(_answers, table["country"]),
        position=try_estimate(_answers, table["career"]),
        age=try_estimate(_spread, table["age"]),
        experience_years=try_estimate(_spread, table["experience_years"]),
        minutes=try_estimate(_spread, table["minutes"], NOT_RECORDED),
        trial_s=try_estimate(_trial_seconds, own),
        n_small=SMALL,
        method=METHOD.format(small=SMALL),
    )
    return Built(Participants(found), {"participants": tidy_table(_lines(found), COLUMNS)})


def _n_consented(data: SourceData) -> int:
    counts = data.flow
    if counts is None:
        return 0
    return max(counts.recruited or 0, counts.consented or 0, counts.analysed)


def _nobody(others: Mapping[str, int]) -> tuple[str, str]:
    if not others:
        return NOBODY
    listed = ", ".join(f"{kind} ({n})" for kind, n in sorted(others.items()))
    return ONLY_OTHERS[0].format(others=listed), ONLY_OTHERS[1]


def _counts(found: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(Count(code, n) for code, n in sorted(found.items(), key=lambda x: (-x[1], x[0])))


def _answers(column: "pd.Series[str]") -> Answers:
    """Raises NotEnough with fewer than SMALL answers."""
    if column.empty:
        raise NotEnough(*NO_ANALYSED)
    given = column[column != ""].value_counts()
    _need_several(int(given.sum()), NOT_GIVEN)
    n = len(column)
    named = sorted(((str(a), int(k)) for a, k in given.items() if k >= SMALL), key=_most_first)
    return Answers(
        n=n,
        groups=tuple(Group(answer, k, k / n) for answer, k in named),
        n_rest=n - sum(k for _, k in named),
        n_different=len(given),
    )


def _most_first(group: tuple[str, int]) -> tuple[int, str]:
    return -group[1], group[0]


def _spread(values: "pd.Series[float]", none: tuple[str, str] = NOT_GIVEN) -> Spread:
    """Raises NotEnough with fewer than SMALL known values; `none`: what to say of none."""
    if values.empty:
        raise NotEnough(*NO_ANALYSED)
    known = values.dropna()
    _need_several(len(known), none)
    return spread_of(known)


def _need_several(n: int, none: tuple[str, str]) -> None:
    if n == 0:
        raise NotEnough(*none)
    if n < SMALL:
        raise NotEnough(*(text.format(small=SMALL) for text in FEW))


def _trial_seconds(own: TakingPart) -> Spread:
    known: Floats = own.rt_ms[np.isfinite(own.rt_ms)] / 1000
    if not len(known):
        raise NotEnough(*NOT_RECORDED)
    return spread_of(known)


def _lines(found: People) -> Sequence[_Line]:
    return [
        _Line(name, answer, n, share)
        for name, own in found.answers.items()
        for answer, n, share in (
            *((g.answer, g.n, g.share) for g in own.groups),
            *([("", own.n_rest, own.share_rest)] if own.n_rest else []),
        )
    ]
