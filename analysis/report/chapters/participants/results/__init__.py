"""Participants: answers about themselves, when and how long, over the whole study. Small groups are not named."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd

from analysis import columns as c
from analysis.codec import MissingResult, try_estimate
from analysis.data.dataset import Floats, SourceData, TakingPart
from analysis.report.chapter import Built
from analysis.stats import NotEnough
from analysis.stats.distributions import Spread, spread_of

# What fewer people answered is not reported by itself: it could tell who they are
SMALL = 5
ANSWERS = c.data("characteristic=0", "answer=1", "n=2", "share=3")
PARTICIPANTS_NOBODY = ("Nobody has taken part yet.", "Open the study to participants.")
ONLY_OTHERS = (
    "Only participants of other kinds have taken part so far: {others}.",
    "Open the study to participants.",
)
NO_ANALYSED = (
    "No participant has an analysed trial yet.",
    "Let participants finish the study.",
)
NOT_GIVEN = (
    "No participant in the analysis gave this information.",
    "The study's settings decide whether it asks for this.",
)
NOT_RECORDED = ("This was not recorded.", "It is only known for people who take part on this site.")
FEW = (
    f"Fewer than {SMALL} participants in the analysis gave this information.",
    f"At least {SMALL} people are needed, so that nobody can be recognised.",
)
PARTICIPANTS_METHOD = (
    "Participants with at least one analysed trial, over the whole study, on test cases of every source and on questions. "
    "Answers given by fewer than {small} people are counted together with missing answers, and numbers given by "
    "fewer than {small} are left out. Dates are those of consent, in the server's time zone. Minutes run from "
    "consent to the end, including pauses. The time per trial ends with Continue; it is that of test cases, or of questions "
    "if nobody judged a test case. Quartiles by linear interpolation, SD with n-1."
)

OF_ANALYSED = (
    "The other chapters of this report have all judged trials, also those of excluded or unfinished participants, because it was asked for with "
    "--trials all. This chapter is about the trials that are analysed without this option."
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
    """People of one kind; TakingPart says what the fields are. Each part says why where it is missing."""

    kind: str
    n_analysed: int
    first_day: date | None
    last_day: date | None
    routes: tuple[Count, ...]
    other_kinds: tuple[Count, ...]
    ethics_number: str
    ethics_body: str
    payment: tuple[str, ...]
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


def build_participants(data: SourceData) -> Built:
    """The results, and the table participants. Raises NotEnough where nobody of this kind took part."""
    own, flow = data.taking_part, data.flow
    n_consented = max(flow.recruited or 0, flow.consented or 0, flow.analysed) if flow else 0
    if own is None or not n_consented:
        if not own or not own.other_kinds:
            raise NotEnough(*PARTICIPANTS_NOBODY)
        others = ", ".join(f"{kind} ({n})" for kind, n in sorted(own.other_kinds.items()))
        raise NotEnough(ONLY_OTHERS[0].format(others=others), ONLY_OTHERS[1])
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
        payment=own.payment,
        gender=try_estimate(_answers, table["gender"]),
        country=try_estimate(_answers, table["country"]),
        position=try_estimate(_answers, table["career"]),
        age=try_estimate(_spread, table["age"]),
        experience_years=try_estimate(_spread, table["experience_years"]),
        minutes=try_estimate(_spread, table["minutes"], NOT_RECORDED),
        trial_s=try_estimate(_trial_seconds, own),
        n_small=SMALL,
        method=PARTICIPANTS_METHOD.format(small=SMALL)
        + (f" {OF_ANALYSED}" if data.has_all_trials else ""),
    )
    rows = []
    for name, answers in found.answers.items():
        rows += [(name, group.answer, group.n, group.share) for group in answers.groups]
        if answers.n_rest:
            rows.append((name, "", answers.n_rest, answers.share_rest))
    return Built(Participants(found), {"participants": c.tidy(ANSWERS, rows)})


def _counts(found: Mapping[str, int]) -> tuple[Count, ...]:
    return tuple(Count(code, n) for code, n in sorted(found.items(), key=lambda x: (-x[1], x[0])))


def _answers(column: "pd.Series[str]") -> Answers:
    """Raises NotEnough with fewer than SMALL answers."""
    if column.empty:
        raise NotEnough(*NO_ANALYSED)
    given = column[column != ""].value_counts()
    need_several(int(given.sum()), NOT_GIVEN)
    n = len(column)
    several = ((str(a), int(k)) for a, k in given.items() if k >= SMALL)
    named = sorted(several, key=lambda group: (-group[1], group[0]))
    return Answers(
        n=n,
        groups=tuple(Group(answer, k, k / n) for answer, k in named),
        n_rest=n - sum(k for _, k in named),
        n_different=len(given),
    )


def _spread(values: "pd.Series[float]", none: tuple[str, str] = NOT_GIVEN) -> Spread:
    """Raises NotEnough with fewer than SMALL known values; `none`: what to say of none."""
    if values.empty:
        raise NotEnough(*NO_ANALYSED)
    known = values.dropna()
    need_several(len(known), none)
    return spread_of(known)


def need_several(n: int, none: tuple[str, str]) -> None:
    """Raises NotEnough with fewer than SMALL people; `none`: what to say of none."""
    if n == 0:
        raise NotEnough(*none)
    if n < SMALL:
        raise NotEnough(*FEW)


def _trial_seconds(own: TakingPart) -> Spread:
    known: Floats = own.rt_ms[np.isfinite(own.rt_ms)] / 1000
    if not len(known):
        raise NotEnough(*(NOT_RECORDED if len(own.rt_ms) else NO_ANALYSED))
    return spread_of(known)
