"""The first page of a study: the flow of its participants, by arm, what they wrote, and when its target will be reached."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from django.db.models import Count, Q, Sum
from django.utils.formats import date_format

from experiment.domain.exclusion import PARTICIPANT_REASONS, WITHDRAWN
from experiment.domain.forecast import wait_for
from experiment.models import Arm, Item, Participant, PeopleCount, Study
from experiment.models.items import ItemQuerySet
from experiment.models.participants import FIRST_TRIAL_PAGE, ParticipantQuerySet
from experiment.services.arms import arms_of, read
from lib.formatting import count, verb

Kind = Participant.Kind
Fate = PeopleCount.Fate
# The page that who passed a step has come to at least
STEPS = {
    "consented": "Consented",
    "demographics": "Answered about themselves",
    "practice": "Passed the practice",
    "started": "Started the trials",
    "finished": "Finished",
    "valid": "Valid",
}
REACHED = {"consented": 0, "demographics": 1, "practice": 2, "started": FIRST_TRIAL_PAGE}


@dataclass(frozen=True, slots=True)
class Step:
    """A line of the flow; `percent` is of those who consented.

    `reason` says why participants leave the flow here, in the words of the exclusion's rule.
    """

    code: str
    n: int
    percent: float
    reason: str = ""

    @property
    def label(self) -> str:
        return f"Excluded: {self.reason}" if self.reason else STEPS[self.code]

    @property
    def bar(self) -> str:
        """The style of its bar."""
        return "bar-loss" if self.reason else ""


@dataclass(frozen=True, slots=True)
class Flow:
    """`excluded`: finishers whom a rule leaves out; who withdrew is none of them."""

    steps: tuple[Step, ...]
    recruited: int
    live: int
    finished: int
    excluded: int
    withdrawn: int
    valid: int


def flow(study: Study, kind: str, now: datetime) -> Flow:
    """From consent to valid finishers, for one kind of participants."""
    settled = list(PeopleCount.objects.filter(study=study, kind=kind, n__gt=0))
    live = {
        "live": Count("pk", filter=Q(last_seen_at__gte=study.live_since(now), screened_out_at=None))
    }
    counted = {code: Count("pk", filter=Q(page_reached__gte=n)) for code, n in REACHED.items()}
    under_way = Participant.objects.of(study, kind).under_way().aggregate(**live, **counted)
    total = _n(settled) + under_way["consented"]

    def step(code: str, n: int, reason: str = "") -> Step:
        return Step(code, n, 100 * n / total if total else 0.0, reason)

    reached = dict(REACHED)
    if not study.demographic_fields:
        del reached["demographics"]
    if kind == Kind.IMPORTED:
        reached = {}  # nothing is known of the pages before
    # Who withdraws afterwards had finished all the same.
    finished = _of(settled, Fate.FINISHED, Fate.WITHDRAWN_FINISHED)
    valid = _n([row for row in _of(settled, Fate.FINISHED) if not row.excluded_by])
    # One person can have several reasons
    lost: Counter[str] = Counter()
    for row in _of(settled, Fate.FINISHED):
        lost.update(dict.fromkeys(row.excluded_by.split(), row.n))
    lost[WITHDRAWN.code] = _n(_of(settled, Fate.WITHDRAWN_FINISHED))
    labels = {reason.code: reason.label for reason in PARTICIPANT_REASONS}
    codes = (*labels, *(lost.keys() - labels))
    steps = [
        *(
            step(code, _n([row for row in settled if row.page >= page]) + under_way[code])
            for code, page in reached.items()
        ),
        step("finished", _n(finished)),
        *(step(code, lost[code], labels.get(code, code)) for code in codes if lost[code]),
        step("valid", valid),
    ]
    return Flow(
        steps=tuple(steps),
        recruited=total,
        live=under_way["live"],
        finished=_n(finished),
        excluded=_n(_of(settled, Fate.FINISHED)) - valid,
        withdrawn=_n(_of(settled, Fate.WITHDRAWN, Fate.WITHDRAWN_FINISHED)),
        valid=valid,
    )


def _of(settled: Sequence[PeopleCount], *fates: str) -> list[PeopleCount]:
    return [row for row in settled if row.fate in fates]


def _n(rows: Sequence[PeopleCount]) -> int:
    return sum(row.n for row in rows)


def retired(study: Study) -> ItemQuerySet:
    """Versions that the study holds and, unless it is over, would draw, had the people of their field not retired them."""
    held = Item.objects.filter(studies=study, status=Item.Status.RETIRED).order_by("key", "version")
    return held.none() if study.recruitment == Study.Recruitment.CLOSED else held


@dataclass(frozen=True, slots=True)
class ArmRow:
    """An arm, and how many of one kind of participants came to what; percentages are of all arms together."""

    arm: Arm
    recruited: int
    live: int
    finished: int
    valid: int
    percent_share: float
    percent_valid: float


def by_arm(study: Study, kind: str, now: datetime) -> list[ArmRow]:
    """Empty in a study without arms."""
    arms = arms_of(study)
    if not arms:
        return []
    settled = PeopleCount.objects.filter(study=study, kind=kind, n__gt=0)
    of_arm = {arm.number: [row for row in settled if row.arm_number == arm.number] for arm in arms}
    people = Participant.objects.of(study, kind).under_way().order_by().values_list("arm__number")
    is_live = Q(last_seen_at__gte=study.live_since(now), screened_out_at=None)
    here = people.annotate(n=Count("pk"), live=Count("pk", filter=is_live))
    under_way = {number: (n, live) for number, n, live in here}
    finished = {number: _of(rows, Fate.FINISHED) for number, rows in of_arm.items()}
    valid = {k: _n([row for row in rows if not row.excluded_by]) for k, rows in finished.items()}
    shares, n_valid = sum(arm.share for arm in arms), sum(valid.values())
    return [
        ArmRow(
            arm,
            recruited=_n(of_arm[arm.number]) + under_way.get(arm.number, (0, 0))[0],
            live=under_way.get(arm.number, (0, 0))[1],
            finished=_n(_of(of_arm[arm.number], Fate.FINISHED, Fate.WITHDRAWN_FINISHED)),
            valid=valid[arm.number],
            percent_share=100 * arm.share / shares,
            percent_valid=100 * valid[arm.number] / n_valid if n_valid else 0.0,
        )
        for arm in arms
    ]


@dataclass(frozen=True, slots=True)
class Places:
    """The places of an open study with a target that is not reached, and whether those under way fill it.

    n_waiting: who have not answered a trial and hold no place. turned_away_at: when it was last full for a visitor, if that
    was within a day.
    """

    is_full: bool
    n_waiting: int
    turned_away_at: datetime | None

    @property
    def told(self) -> str:
        """A sentence on a study that is full, or was."""
        if self.is_full:
            return (
                "The study is full at present: the participants under way are expected to fill the remaining places. It admits "
                "others again when some of them leave."
            )
        if self.turned_away_at is None:
            return ""
        at = date_format(self.turned_away_at, "j M Y, H:i")
        return (
            "The study was full until participants left, and admits participants again. The last visitor was turned away on "
            f"{at} UTC."
        )

    @property
    def waiting_told(self) -> str:
        if not (n := self.n_waiting):
            return ""
        have, do = verb(n, "has", "have"), verb(n, "does", "do")
        return f"{count(n, 'participant')} {have} agreed but not answered a trial yet, and {do} not take a place."


def places(study: Study, kind: str, n_valid: int, now: datetime) -> Places | None:
    """None where there is nothing to say."""
    wanted, is_open = study.target_valid, study.recruitment == Study.Recruitment.OPEN
    if kind != Kind.REAL or wanted is None or not is_open or not arms_of(study):
        return None
    is_full, at = read(study, kind, now).admits(study, wanted) is None, study.turned_away_at
    if is_full and n_valid >= wanted:
        return None
    turned_away_at = at if at is not None and now - at < timedelta(days=1) else None
    waiting = Participant.objects.of(study, kind).live(study, now).filter(place_until__lte=now)
    return Places(is_full, waiting.count(), turned_away_at)


def n_screened_out(study: Study, kind: str) -> int:
    """Participants who were not admitted because their group was complete."""
    if not study.cell_targets:
        return 0
    return Participant.objects.of(study, kind).filter(screened_out_at__isnull=False).count()


def readings(study: Study, kind: str) -> dict[str, int]:
    """How many finishers, and test trials of theirs, each reading of two rules (domain/exclusion.py) would leave out, whichever holds.

    untouched_neither: moved neither slider ever; untouched_either: never moved one of the two. fast_page: trials under
    the minimum time to Continue; fast_choice: to the first choice.
    """
    finished = PeopleCount.objects.filter(study=study, kind=kind, fate=Fate.FINISHED)
    names = ("untouched_neither", "untouched_either", "fast_page", "fast_choice")
    return dict(finished.aggregate(**{name: Sum(name, default=0) for name in names}))


def recent_comments(study: Study, kind: str, n: int = 5) -> ParticipantQuerySet:
    people = (
        Participant.objects.of(study, kind).exclude(comments="").filter(finished_at__isnull=False)
    )
    return people.only("public_id", "comments", "finished_at").order_by("-finished_at")[:n]


LATEST = 200
LATELY = timedelta(days=14)
SOON = timedelta(days=4)
FARTHEST = timedelta(days=365)


class Outlook(StrEnum):
    """The state of a forecast; the page words each."""

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
        """True if the hour matters."""
        if self.soonest is None or self.latest is None:
            return False
        return self.latest - self.soonest < SOON

    @property
    def told(self) -> str:
        match self.outlook:
            case Outlook.REACHED:
                return "The target is reached."
            case Outlook.CLOSED:
                needed = f"{count(self.n_missing, 'more valid participant')} {verb(self.n_missing, 'is', 'are')} needed"
                return f"{needed}. Recruitment is not open, so there is no forecast."
            case Outlook.FAR:
                return "At the present rate the target is not reached within a year."
            case Outlook.EXPECTED:
                return f"At the present rate the target is reached {self._when}."
            case Outlook.UNKNOWN:
                one = f"{self.n_lately} valid finisher in the last 14 days is too few"
                many = f"the {self.n_lately} valid finishers of the last 14 days are too few, or arrived too unevenly"
                return f"There is no forecast yet: {verb(self.n_lately, one, many)}."

    @property
    def _when(self) -> str:
        days = "j F, H:i" if self.is_soon else "j F Y"
        soonest, expected, latest = (
            "" if at is None else date_format(at, days)
            for at in (self.soonest, self.expected, self.latest)
        )
        if not latest:
            return f"on {soonest} at the earliest, and perhaps not within a year"
        return f"about {expected}{' UTC' if self.is_soon else ''}, between {soonest} and {latest}"

    @property
    def basis(self) -> str:
        """The basis of an expected time; empty where there is none."""
        if self.outlook != Outlook.EXPECTED or self.since is None:
            return ""
        since = date_format(self.since, "j F, H:i")
        return (
            f"19 of 20 such forecasts should be correct. This forecast uses the {self.n_lately} valid finishers since {since} "
            "UTC and how unevenly they arrived."
        )


def forecast(study: Study, kind: str, n_valid: int, now: datetime) -> Forecast | None:
    """A forecast of the study's target of valid real finishers; None where there is no target."""
    if study.target_valid is None or kind != Kind.REAL:
        return None
    n_missing = study.target_valid - n_valid
    if n_missing <= 0:
        return Forecast(Outlook.REACHED, 0)
    if study.recruitment != Study.Recruitment.OPEN:
        return Forecast(Outlook.CLOSED, n_missing)
    # In their order; by the index participant_valid
    valid = Participant.objects.of(study, Kind.REAL).valid()
    lately = valid.filter(finished_at__gte=now - LATELY, finished_at__lte=now)
    newest = lately.order_by("-finished_at").values_list("finished_at", flat=True)[:LATEST]
    times = sorted(time for time in newest if time is not None)
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
