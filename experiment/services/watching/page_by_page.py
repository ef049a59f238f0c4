"""How far a study's participants come, and how long they stay on each page."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Q

from experiment.models import Judgment, Participant, PeopleCount, Study
from experiment.models.trials import server_ms
from experiment.services.flow import FIRST_TRIAL_PAGE

Fate = PeopleCount.Fate
Stage = Participant.Stage
# Enough for quartiles, and few enough that no planner reads all judgments for them
TIMED = 50
# A stage, and the position of a trial
Page = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Seconds."""

    q1_s: float
    median_s: float
    q3_s: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Quartiles | None":
        """
        >>> Quartiles.of([4.0, 1.0, 2.0, 3.0, 5.0])
        Quartiles(q1_s=2.0, median_s=3.0, q3_s=4.0)
        """
        values = list(seconds)
        if not values:
            return None
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page of the study: who came to it, who left there for good, who is on it; `position` is of a trial.

    `percent_left` is of those who came; `bar` of the page that most left.
    """

    page: str
    position: int | None
    reached: int
    left: int
    now: int
    percent_left: float
    bar: float
    time: Quartiles | None


@dataclass(frozen=True, slots=True)
class PageByPage:
    """`n_timed`: the valid finishers whose times these are, the latest."""

    rows: tuple[PageRow, ...]
    n_timed: int


def page_by_page(study: Study, kind: str, now: datetime) -> PageByPage | None:
    """Every page from consent on; None where nobody came, or nothing is known of pages, as of imported people."""
    if kind == Participant.Kind.IMPORTED:
        return None
    came, left, here = _by_furthest_page(study, kind, now)
    if not came:
        return None
    times, n_timed = _times(study, kind)
    names = _page_names(study, max(came))
    most = max(left.values(), default=0)
    rows = []
    for page, (name, position) in names.items():
        reached = sum(n for furthest, n in came.items() if furthest >= page)
        gone = left.get(page, 0)
        rows.append(
            PageRow(
                page=name,
                position=position,
                reached=reached,
                left=gone,
                now=here.get(page, 0),
                percent_left=100 * gone / reached if reached else 0.0,
                bar=100 * gone / most if most else 0.0,
                time=Quartiles.of(times.get((name, position), ())),
            )
        )
    return PageByPage(tuple(rows), n_timed)


def _page_names(study: Study, furthest: int) -> dict[int, Page]:
    """Page number -> what it is; as many trials as the study has now, or somebody had before it was changed."""
    n_trials = max(study.n_trials, furthest - FIRST_TRIAL_PAGE - 1)
    before = [Stage.DEMOGRAPHICS, Stage.PRACTICE, Stage.START]
    names: dict[int, Page] = {n: (s.value, None) for n, s in enumerate(before)}
    if not study.demographic_fields:
        del names[0]
    for position in range(1, n_trials + 1):
        names[FIRST_TRIAL_PAGE + position - 1] = (Stage.TRIAL.value, position)
    names[FIRST_TRIAL_PAGE + n_trials] = (Stage.DEBRIEF.value, None)
    return names


def _by_furthest_page(
    study: Study, kind: str, now: datetime
) -> tuple[dict[int, int], dict[int, int], dict[int, int]]:
    """By furthest page: all, those who left there, and those who are there.

    Who is silent has left, whether or not that is noted yet.
    """
    came: dict[int, int] = defaultdict(int)
    left: dict[int, int] = defaultdict(int)
    here: dict[int, int] = {}
    settled = PeopleCount.objects.filter(study=study, kind=kind, n__gt=0)
    for fate, page, n in settled.values_list("fate", "page", "n"):
        came[page] += n
        if fate in (Fate.LEFT, Fate.WITHDRAWN):
            left[page] += n
    people = Participant.objects.of(study, kind).under_way().order_by()
    is_live = Q(last_seen_at__gte=study.live_since(now))
    under_way = people.values_list("page_reached").annotate(
        n=Count("pk"), live=Count("pk", filter=is_live)
    )
    for page, n, live in under_way:
        came[page] += n
        left[page] += n - live
        here[page] = live
    return came, left, here


def _times(study: Study, kind: str) -> tuple[Mapping[Page, list[float]], int]:
    """Seconds of each of the latest valid finishers; and how many these are."""
    seconds: dict[Page, list[float]] = defaultdict(list)
    people = Participant.objects.of(study, kind).valid().filter(finished_at__isnull=False)
    newest = people.order_by("-finished_at").values_list(
        "pk", "consented_at", "demographics_at", "started_at", "debriefed_at", "finished_at"
    )[:TIMED]
    pks = []
    for pk, consented, described, started, debriefed, finished in newest:
        pks.append(pk)
        _add(seconds[Stage.DEMOGRAPHICS.value, None], consented, described)
        _add(seconds[Stage.PRACTICE.value, None], described or consented, started)
        _add(seconds[Stage.DEBRIEF.value, None], debriefed, finished)
    judged = Judgment.objects.filter(trial__participant__in=pks).order_by()
    for position, rt_ms, shown, received in judged.values_list(
        "trial__position", "rt_ms", "trial__shown_at", "received_at"
    ):
        ms = server_ms(shown, received) if rt_ms is None else rt_ms
        if ms is not None:
            seconds[Stage.TRIAL.value, position].append(ms / 1000)
    return seconds, len(pks)


def _add(to: list[float], start: datetime | None, end: datetime | None) -> None:
    # Not where the clock was set back meanwhile
    if start is not None and end is not None and start <= end:
        to.append((end - start).total_seconds())
