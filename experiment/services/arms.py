"""Which arm of a study a participant gets into, and by what it was chosen."""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum, Value

from experiment.domain.arms import ArmDraw, ArmLoad
from experiment.models import Arm, Participant, PeopleCount, Study
from lib.fast.prepared import Prepared
from lib.locks import hold

Fate = PeopleCount.Fate


def assign(participant: Participant, now: datetime) -> None:
    """Give a newcomer, who is not stored yet, an arm of the study, if it has any.

    One newcomer after the other is assigned, until the end of the transaction: each sees those before.
    """
    arms = arms_of(participant.study)
    if not arms:
        return
    hold("arms", participant.study.pk)
    draw = read(participant.study, participant.kind, now)
    chosen = draw.number(participant.seed)
    participant.arm_draw = draw.as_json()
    participant.arm = next(arm for arm in arms_of(participant.study) if arm.number == chosen)


def arms_of(study: Study) -> list[Arm]:
    """In their order; most studies have none."""
    arms: list[Arm] = _arms(study.pk)
    return arms


_arms = Prepared(lambda study: Arm.objects.filter(study=study).order_by("number"), (1, 2))


def replay(participant: Participant) -> int:
    """The number of the arm that the kept record and the participant's seed give: always theirs."""
    assert participant.arm_draw is not None
    return ArmDraw.from_json(participant.arm_draw).number(participant.seed)


def read(study: Study, kind: str, now: datetime) -> ArmDraw:
    """What an assignment would go by now."""
    live: dict[int, Counter[int]] = defaultdict(Counter)
    valid: Counter[int] = Counter()
    left_at: Counter[int] = Counter()
    shares: dict[int, int] = {}
    finished = 0
    for what, arm, page, n, reason in _read(study.pk, kind, study.live_since(now)):
        if what == "arm":
            shares[arm] = n
        elif what == "live":
            live[arm][page] += n
        elif what == Fate.LEFT:
            left_at[page] += n
        else:
            finished += n
            valid[arm] += 0 if reason else n
    return ArmDraw(
        tuple(
            ArmLoad(arm, share, valid[arm], tuple(sorted(live[arm].items())))
            for arm, share in sorted(shares.items())
        ),
        tuple(sorted(left_at.items())),
        finished,
    )


def _query(study: int, kind: str, since: datetime) -> QuerySet[Any, Any]:
    """In one query, so that nobody is seen to have finished and still to be under way, or neither."""
    zero, none = Value(0), Value("")
    arms = Arm.objects.filter(study=study).order_by()
    live = Participant.objects.filter(study=study, kind=kind, arm__isnull=False).under_way()
    present = live.filter(last_seen_at__gte=since).order_by()
    settled = PeopleCount.objects.filter(
        study=study, kind=kind, fate__in=(Fate.LEFT, Fate.FINISHED)
    )
    of_page = present.values("arm__number", "page_reached").annotate(n=Count("pk"))
    of_way = settled.order_by().values("fate", "arm_number", "page", "excluded_by")
    return arms.values_list(Value("arm"), "number", zero, "share", none).union(
        of_page.values_list(Value("live"), "arm__number", "page_reached", "n", none),
        of_way.annotate(total=Sum("n")).values_list(
            "fate", "arm_number", "page", "total", "excluded_by"
        ),
        all=True,
    )


_read = Prepared(
    _query,
    (1, 2),
    ("real", "pilot"),
    (datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC)),
)
