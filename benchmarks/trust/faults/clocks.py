"""Clocks that are wrong: the site's jumps by a day, its processes disagree by one; and the moments when summer time changes."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.db.models import F
from django.utils import timezone

from benchmarks.trust.check import POSTGRESQL_ALONE, SQLITE_ALONE, Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.people import Ledger
from benchmarks.trust.world import World
from benchmarks.web.database import using
from benchmarks.web.site import SLUG
from experiment.domain.exclusion import TOO_FAST
from experiment.models import Judgment, Participant, Study
from experiment.services.overview import page_by_page

CLOCK = Path(__file__).parent / "clock"
DAY_S = 24 * 3600
# In Europe, where an hour is left out then, or comes twice; the site itself counts in UTC
SUMMER, WINTER = datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC)
AROUND = timedelta(minutes=10)
THINK_S = 0.3  # so that somebody is on the way at the moment itself
HALF_A_DAY = timedelta(hours=12)


def clock_jumps(world: World, scale: Scale) -> Outcome:
    """The machine's clock a day ahead at a start, and back at the next: both within the hours in which people may return."""
    return _restarted_at(world, scale, (0, DAY_S, 0) if scale.is_full else (DAY_S, 0))


def clocks_disagree(world: World, scale: Scale) -> Outcome:
    """One web process lives a day ahead of the other; each request comes to one or the other."""
    shifts = f"0,{DAY_S}"
    changes = _clock(shifts) | {"KEEP_ALIVE": "0"}
    with world.site(**changes) as site, world.people(scale.of(6, 24), site.port) as ledger:
        ledger.wait_for(1)
    return world.settle(ledger, 1, problems=_wrong_times(world))


def summer_time(world: World, scale: Scale) -> Outcome:
    """People come from shortly before the change of a clock until after it; somebody must have answered on both sides of it."""
    moments = (SUMMER, WINTER) if scale.is_full else (WINTER,)
    before_s, ledger = scale.of(15, 20), Ledger()
    problems: list[str] = []
    for moment in moments:
        shift_s = (moment - datetime.now(UTC)).total_seconds() - before_s
        with (
            world.site(**_clock(shift_s)) as site,
            world.people(
                scale.of(6, 16),
                site.port,
                think_s=THINK_S,
                spread_s=1.5 * before_s,
                ledger=ledger,
            ),
        ):
            pass
        if not _was_lived_through(world, moment):
            problems.append(f"nobody answered both before and after {moment:%Y-%m-%d %H:%M} UTC")
    return world.settle(ledger, len(moments), problems=(*problems, *_wrong_times(world)))


def _was_lived_through(world: World, moment: datetime) -> bool:
    with using(world.url):
        answered = "trials__judgment__received_at__range"
        before = Participant.objects.filter(**{answered: (moment - AROUND, moment)})
        return before.filter(**{answered: (moment, moment + AROUND)}).exists()


def _restarted_at(world: World, scale: Scale, shifts_s: Iterable[float]) -> Outcome:
    """Each start has its clock shifted by so many seconds; people take part through all of them."""
    first, *others = shifts_s
    with world.site(**_clock(first)) as site, world.people(scale.of(6, 16), site.port) as ledger:
        for shift in others:
            ledger.wait_for(8)
            site.stop()
            site.changes |= _clock(shift)
            site.start()
        ledger.wait_for(1)
    return world.settle(ledger, 1 + len(others), problems=_wrong_times(world))


def _clock(shifts_s: float | str) -> dict[str, str]:
    return {"PYTHONPATH": str(CLOCK), "CLOCK_SHIFTS_S": str(shifts_s)}


def _wrong_times(world: World) -> tuple[str, ...]:
    """What a clock must not do: make people too fast, or durations negative."""
    with using(world.url):
        back = Judgment.objects.filter(received_at__lt=F("trial__shown_at"))
        timed = sum(j.server_ms is not None for j in back.select_related("trial"))
        fast = back.filter(rt_ms=None, excluded_by__contains=TOO_FAST.code).count()
        pages = page_by_page(Study.objects.get(slug=SLUG), Participant.Kind.REAL, timezone.now())
        was_wrong = Judgment.objects.filter(received_at__gt=timezone.now() + HALF_A_DAY).exists()
    rows = pages.rows if pages else ()
    negative = sum(row.time is not None and row.time.q1_s < 0 for row in rows)
    found = (
        (timed, "answers that came before their trial have a duration"),
        (fast, "answers are too fast for a clock that was set back"),
        (negative, "pages took less than no time"),
        (not was_wrong, "site, whose clock was never wrong"),
    )
    return tuple(f"{int(n)} {what}" for n, what in found if n)


_S = Part.SURROUNDINGS
CHECKS = (
    Check("clock-jumps", "Clock a day ahead, and set back", _S, clock_jumps, short_on=SQLITE_ALONE),
    Check(
        "clocks-disagree",
        "Web processes a day apart",
        _S,
        clocks_disagree,
        short_on=POSTGRESQL_ALONE,
    ),
    Check(
        "summer-time",
        "The moments when summer time begins and ends",
        _S,
        summer_time,
        short_on=(),  # it waits for the moment
    ),
)
