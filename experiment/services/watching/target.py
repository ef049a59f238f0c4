"""When a study's target will be reached, if people go on coming as they do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from experiment.domain.forecast import wait_for
from experiment.models import Participant, Study

Kind = Participant.Kind
LATEST = 200
LATELY = timedelta(days=14)
SOON = timedelta(days=4)
FARTHEST = timedelta(days=365)


class Outlook(StrEnum):
    """What can be said; the page words each."""

    REACHED = "reached"
    EXPECTED = "expected"
    FAR = "far"  # not within a year
    CLOSED = "closed"  # nobody is let in
    UNKNOWN = "unknown"  # too few came lately, or too unevenly


@dataclass(frozen=True, slots=True)
class Forecast:
    """`soonest` and `latest` hold 95% of such forecasts; `latest` is None where it lies beyond a year.

    `n_lately`: valid finishers of the last 14 days, of whom no more than 200 are looked at; `since`: the first of them.
    """

    outlook: Outlook
    n_missing: int
    n_lately: int = 0
    since: datetime | None = None
    soonest: datetime | None = None
    expected: datetime | None = None
    latest: datetime | None = None

    @property
    def is_soon(self) -> bool:
        """Whether the hour matters."""
        if self.soonest is None or self.latest is None:
            return False
        return self.latest - self.soonest < SOON


def forecast(study: Study, kind: str, n_valid: int, now: datetime) -> Forecast | None:
    """Of the study's target of valid real finishers; None where there is no target."""
    if study.target_valid is None or kind != Kind.REAL:
        return None
    n_missing = study.target_valid - n_valid
    if n_missing <= 0:
        return Forecast(Outlook.REACHED, 0)
    if study.recruitment != Study.Recruitment.OPEN:
        return Forecast(Outlook.CLOSED, n_missing)
    times = _finished_lately(study, now)
    since = times[0] if times else None
    gaps = [(b - a).total_seconds() for a, b in pairwise([*times, now])]
    wait = wait_for(n_missing, gaps)
    if wait is None:
        return Forecast(Outlook.UNKNOWN, n_missing, len(times), since)
    if wait.low_s > FARTHEST.total_seconds():
        return Forecast(Outlook.FAR, n_missing, len(times), since)
    soonest, expected, latest = (
        now + timedelta(seconds=s) if s <= FARTHEST.total_seconds() else None
        for s in (wait.low_s, wait.expected_s, wait.high_s)
    )
    return Forecast(Outlook.EXPECTED, n_missing, len(times), since, soonest, expected, latest)


def _finished_lately(study: Study, now: datetime) -> list[datetime]:
    """In their order; by the index participant_valid."""
    people = Participant.objects.of(study, Kind.REAL).valid()
    lately = people.filter(finished_at__gte=now - LATELY, finished_at__lte=now)
    newest = lately.order_by("-finished_at").values_list("finished_at", flat=True)[:LATEST]
    return sorted(time for time in newest if time is not None)
