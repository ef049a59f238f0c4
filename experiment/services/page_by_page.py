"""The pages of a study one by one: how many came to each, how many left there for good, and how long finishers stay."""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Q

from experiment.domain.exclusion import believed_ms
from experiment.models import Judgment, Participant, PeopleCount, Study, SurveyAnswer
from experiment.models.arms import trial_counts
from experiment.models.participants import FIRST_TRIAL_PAGE
from experiment.models.trials import server_ms
from experiment.services.arms import arms_of
from experiment.services.stages import page_name
from experiment.services.survey import survey_questions
from lib.formatting import verb
from lib.templatetags.numbers import clock

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

    @property
    def name(self) -> str:
        return page_name(self.page, self.position)

    @property
    def median(self) -> str:
        return clock(self.time.median_s) if self.time else ""

    @property
    def middle_half(self) -> str:
        return f"{clock(self.time.q1_s)} to {clock(self.time.q3_s)}" if self.time else ""


@dataclass(frozen=True, slots=True)
class PageByPage:
    """`n_timed`: the valid finishers whose times these are, the latest."""

    rows: tuple[PageRow, ...]
    n_timed: int

    @property
    def told(self) -> str:
        """A sentence on the people whose times these are."""
        if not self.n_timed:
            return "Times appear here after the first valid participant has finished."
        one = "Times of the one valid finisher so far."
        many = f"Times of the latest {self.n_timed} valid finishers."
        together = "Practice and the page before the trials are timed together."
        return f"{verb(self.n_timed, one, many)} {together}"


def page_by_page(study: Study, kind: str, now: datetime) -> PageByPage | None:
    """Every page from consent on; None where nobody came, or nothing is known of pages, as of imported people."""
    if kind == Participant.Kind.IMPORTED:
        return None
    found = _by_furthest_page(study, kind, now)
    if not found:
        return None
    times, n_timed = _times(study, kind)
    arms = arms_of(study) if found.keys() - {0} else ()
    n_trials = {arm.number: sum(trial_counts(study, arm).values()) for arm in arms}
    came, left, here = Counter[Page](), Counter[Page](), Counter[Page]()
    pages: list[Page] = []
    for number, of_arm in found.items():
        names = _page_names(study, n_trials.get(number, study.n_trials), max(of_arm.came))
        pages = max(pages, [*names.values()], key=len)
        for n, page in names.items():
            came[page] += sum(k for furthest, k in of_arm.came.items() if furthest >= n)
            left[page] += of_arm.left[n]
            here[page] += of_arm.here[n]
    most = max(left.values(), default=0)
    rows = [
        PageRow(
            page=page[0],
            position=page[1],
            reached=came[page],
            left=left[page],
            now=here[page],
            percent_left=100 * left[page] / came[page] if came[page] else 0.0,
            bar=100 * left[page] / most if most else 0.0,
            time=Quartiles.of(times.get(page, ())),
        )
        for page in pages
    ]
    return PageByPage(tuple(rows), n_timed)


def _page_names(study: Study, n_trials: int, furthest: int) -> dict[int, Page]:
    """Page number -> what it is; as many trials as there are now, or somebody had before it was changed."""
    n_trials = max(n_trials, furthest - FIRST_TRIAL_PAGE - 1)
    before = [Stage.DEMOGRAPHICS, Stage.PRACTICE, Stage.START]
    names: dict[int, Page] = {n: (s.value, None) for n, s in enumerate(before)}
    if not study.demographic_fields:
        del names[0]
        if any(question.place == "before" for question in survey_questions(study)):
            names = {0: (Stage.SURVEY_BEFORE.value, None)} | names
    for position in range(1, n_trials + 1):
        names[FIRST_TRIAL_PAGE + position - 1] = (Stage.TRIAL.value, position)
    names[FIRST_TRIAL_PAGE + n_trials] = (Stage.DEBRIEF.value, None)
    return names


@dataclass(frozen=True, slots=True)
class Furthest:
    """People by the furthest page that they came to: all, those who left there, and those who are there."""

    came: Counter[int] = field(default_factory=Counter)
    left: Counter[int] = field(default_factory=Counter)
    here: Counter[int] = field(default_factory=Counter)


def _by_furthest_page(study: Study, kind: str, now: datetime) -> dict[int, Furthest]:
    """By number of the arm, since arms can have different pages; 0 where there are none.

    Who is silent has left, whether or not that is noted yet.
    """
    found: dict[int, Furthest] = defaultdict(Furthest)
    settled = PeopleCount.objects.filter(study=study, kind=kind, n__gt=0)
    for arm, fate, page, n in settled.values_list("arm_number", "fate", "page", "n"):
        found[arm].came[page] += n
        if fate in (Fate.LEFT, Fate.WITHDRAWN):
            found[arm].left[page] += n
    people = Participant.objects.of(study, kind).under_way().order_by()
    is_live = Q(last_seen_at__gte=study.live_since(now))
    under_way = people.values_list("arm__number", "page_reached").annotate(
        n=Count("pk"), live=Count("pk", filter=is_live)
    )
    for number, page, n, live in under_way:
        of_arm = found[number or 0]
        of_arm.came[page] += n
        of_arm.left[page] += n - live
        of_arm.here[page] += live
    return found


def _times(study: Study, kind: str) -> tuple[Mapping[Page, list[float]], int]:
    """Seconds of each of the latest valid finishers; and how many these are."""
    seconds: dict[Page, list[float]] = defaultdict(list)
    people = Participant.objects.of(study, kind).valid().filter(finished_at__isnull=False)
    newest = people.order_by("-finished_at").values_list(
        "pk", "consented_at", "demographics_at", "started_at", "debriefed_at", "finished_at"
    )[:TIMED]
    rows = list(newest)
    pks = [pk for pk, *_ in rows]
    # When they sent their answers to survey questions before the trials
    surveyed: dict[int, datetime] = {}
    if survey_questions(study):
        sent = SurveyAnswer.objects.filter(participant__in=pks, question__place="before")
        surveyed = dict(sent.order_by().values_list("participant", "received_at").distinct())
    for pk, consented, described, started, debriefed, finished in rows:
        _add(seconds[Stage.DEMOGRAPHICS.value, None], consented, described)
        before = surveyed.get(pk) or described or consented
        _add(seconds[Stage.PRACTICE.value, None], before, started)
        _add(seconds[Stage.DEBRIEF.value, None], debriefed, finished)
    judged = Judgment.objects.filter(trial__participant__in=pks).order_by()
    for position, rt_ms, passed_ms, shown, received in judged.values_list(
        "trial__position", "rt_ms", "server_ms", "trial__shown_at", "received_at"
    ):
        ms = server_ms(shown, received) if rt_ms is None else believed_ms(rt_ms, passed_ms)
        if ms is not None:
            seconds[Stage.TRIAL.value, position].append(ms / 1000)
    return seconds, len(pks)


def _add(to: list[float], start: datetime | None, end: datetime | None) -> None:
    # Not where the clock was set back meanwhile
    if start is not None and end is not None and start <= end:
        to.append((end - start).total_seconds())
