"""The arms of a study: which a participant gets into, by what it was chosen, and how the study team sets them up."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction
from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, QuerySet, Sum, Value, When

from experiment.domain.arms import MOST_ARMS, ArmDraw, ArmLoad
from experiment.domain.assignment import participant_rng, plan_trials
from experiment.models import Arm, Participant, PeopleCount, Study, Trial
from experiment.models.arms import COUNTS_OF_ARM, FIXED, trial_counts
from experiment.services import audit
from lib.fast.prepared import Prepared
from lib.locks import hold

Fate = PeopleCount.Fate
# A page that was left open says for ever that somebody is there; hardly anybody reads one for so long
LONGEST_PAGE = timedelta(hours=1)


@transaction.atomic
def save_arm(arm: Arm, by: User | None = None) -> Arm:
    """Add an arm, after the others, or change one.

    Raises:
        ValidationError: it fits neither the others nor the study, or participants can enter, or real ones have, and more
            than its name would change.
    """
    study = _locked(arm)
    before = Arm.objects.filter(pk=arm.pk).first()
    names = [n for n in ("name", *FIXED) if before and getattr(before, n) != getattr(arm, n)]
    if study.has_begun and (before is None or not {*names}.isdisjoint(FIXED)):
        raise _fixed(study)
    if before is None:
        others = study.arms.aggregate(n=Count("pk"), last=Max("number", default=0))
        if others["n"] >= MOST_ARMS:
            raise ValidationError(f"A study can have {MOST_ARMS} arms.")
        arm.number = others["last"] + 1
    arm.full_clean()
    if problems := arm_problems(study, arm):
        raise ValidationError(problems)
    arm.save()
    change = "added" if before is None else "changed"
    told: dict[str, audit.Detail] = {"arm": arm.name, "change": change, "changed": names}
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, reason="", **told)
    return arm


@transaction.atomic
def remove_arm(arm: Arm, by: User | None = None) -> None:
    """Take an arm away that nobody is in.

    Raises:
        ValidationError: somebody is in it, survey questions are asked in it alone, or participants can enter the study, or
            real ones have.
    """
    study = _locked(arm)
    if study.has_begun:
        raise _fixed(study)
    if arm.participants.exists():
        raise ValidationError(
            "Participants are in this arm, so it cannot be removed. If they are simulated, remove them first. If "
            "they are pilots, copy the study."
        )
    if arm.survey_questions.exists():
        raise ValidationError("Survey questions are asked in this arm only. Remove them first.")
    arm.delete()
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, arm=arm.name, change="removed")


def _locked(arm: Arm) -> Study:
    """In the order of `consenting.enroll`: the study's row, then its assignments."""
    study = Study.objects.select_for_update(no_key=True).get(pk=arm.study_id)
    hold("arms", study.pk)
    return study


def _fixed(study: Study) -> ValidationError:
    if not study.version:
        return ValidationError("Close recruitment before you change the arms.", code="arms_fixed")
    return ValidationError(
        (
            "Real participants have entered this study, so only the names of its arms can change. Copy the study to "
            "begin again with other arms."
        ),
        code="arms_fixed",
    )


def arm_problems(study: Study, arm: Arm) -> dict[str, str]:
    """By column, why participants in this arm could not take the study as it is set up."""
    counts, found = trial_counts(study, arm), {}
    for name in COUNTS_OF_ARM:
        if getattr(arm, name) and not getattr(study, name):
            found[name] = "The study itself gives none. Set a number under “Trials and ratings”."
    n_tests = counts["human"] + counts["machine"]
    if not n_tests and not counts.get("question"):
        found[NON_FIELD_ERRORS] = "Participants in this arm would get catch trials only."
    if arm.is_advised and not n_tests:
        found["advice"] = "Advice is given on test cases only, and this arm has no test cases."
    elif arm.advised_items is not None and arm.advised_items > n_tests:
        found["advised_items"] = f"This arm has {n_tests} test trials."
    return found


def assign(participant: Participant, now: datetime) -> bool:
    """Plan the trials of a participant who has seen none, in an arm of the study, if it has any. The caller saves.

    One after the other is assigned, until the end of the transaction: each sees those before. Who is in a cell is
    balanced with those in the same one. False where there is no place for them; nothing is planned then.
    """
    study, cell = participant.study, participant.cell
    wanted = study.cell_targets.get(cell) if cell else study.target_valid
    if participant.kind != Participant.Kind.REAL:
        wanted = None
    if arms_of(study):
        hold("arms", study.pk)
        found = read(study, participant.kind, now, cell)
        draw = found.admits(study, wanted, cell)
        if draw is None:
            return False
        # Newcomers hold no more places than valid finishers are missing; one of whom no address is known has none to lose
        are_enough = wanted is not None and found.n_waiting >= wanted - found.n_valid
        if participant.place_until is not None and are_enough:
            participant.place_until = now
        chosen = draw.number(participant.seed)
        participant.arm_draw = draw.as_json()
        participant.arm = next(arm for arm in arms_of(study) if arm.number == chosen)
    elif cell and wanted is not None:
        valid = Participant.objects.of(study, participant.kind).valid()
        if valid.filter(cell=cell).count() >= wanted:
            return False
    rng = participant_rng(participant.seed, "plan")
    plan = plan_trials(trial_counts(study, participant.arm), rng)
    participant.plan = [[trial.stratum, trial.original_side] for trial in plan]
    return True


# What `assign` changes
ASSIGNED = ("arm", "arm_draw", "plan")


def arms_of(study: Study) -> list[Arm]:
    """In their order; most studies have none."""
    arms: list[Arm] = _arms(study.pk)
    return arms


def groups_of(study: Study) -> list[Arm | None]:
    """Its arms; of a study without any, None for the one group that all participants are in."""
    return [*arms_of(study)] or [None]


_arms = Prepared(lambda study: Arm.objects.filter(study=study).order_by("number"), (1, 2))


def replay(participant: Participant) -> int:
    """The number of the arm that the kept record and the participant's seed give: always theirs."""
    assert participant.arm_draw is not None
    return ArmDraw.from_json(participant.arm_draw).number(participant.seed)


@dataclass(frozen=True, slots=True)
class Present:
    """The participants that an assignment can go by: all who are there, or those alone who hold a place."""

    everybody: ArmDraw
    holders: ArmDraw
    n_waiting: int  # hold a place without having answered a trial

    @property
    def n_valid(self) -> int:
        return sum(arm.valid for arm in self.everybody.arms)

    def admits(self, study: Study, wanted: int | None, cell: str = "") -> ArmDraw | None:
        """The draw by which the next participant is assigned; None where there is no place.

        Everybody who is there is balanced. Where the study were full with them, those who have not answered a trial hold no
        place (`services/arrivals.py`), and are left out of the assignment that they would prevent.
        """
        # Over all cells, an arm that catches up would get people whose cell has no place for them
        catches_up = bool(cell) or not study.forms_cells
        for draw in (self.everybody, self.holders):
            if wanted is None or not draw.is_full(wanted, catches_up=catches_up):
                return draw
        return None


def read(study: Study, kind: str, now: datetime, cell: str = "") -> Present:
    """The participants that an assignment would go by now, in a cell those in it. A study without arms is as one, with nobody under way."""
    held: dict[int, Counter[int]] = defaultdict(Counter)
    live: dict[int, Counter[int]] = defaultdict(Counter)
    valid: Counter[int] = Counter()
    left_at: Counter[int] = Counter()
    shares: dict[int, int] = {}
    finished = awaited = 0
    given = (study.pk, kind, study.live_since(now), now - LONGEST_PAGE, now)
    for what, arm, page, n in _read_in_cell(*given, cell) if cell else _read(*given):
        if what == "arm":
            shares[arm] = n
        elif what in (HOLDS, AWAITED, WAITS):
            live[arm][page] += n
            if what != WAITS:
                held[arm][page] += n
            awaited += n if what == AWAITED else 0
        elif what == "valid":
            valid[arm] += n
        elif what == Fate.LEFT:
            left_at[page] += n
        else:
            finished += n

    def draw(on_page: Mapping[int, Counter[int]]) -> ArmDraw:
        loads = tuple(
            ArmLoad(arm, share, valid[arm], tuple(sorted(on_page[arm].items())))
            for arm, share in sorted(shares.items() or {0: 1}.items())
        )
        return ArmDraw(loads, tuple(sorted(left_at.items())), finished)

    return Present(draw(live), draw(held), awaited)


# A place: of somebody who has answered a trial, of one who has not yet, and none
HOLDS, AWAITED, WAITS = "holds", "awaited", "waits"


def _query(
    study: int, kind: str, since: datetime, came_since: datetime, now: datetime, cell: str = ""
) -> QuerySet[Any, Any]:
    """In one query, so that nobody is seen to have finished and still to be under way, or neither."""
    zero = Value(0)
    arms = Arm.objects.filter(study=study).order_by()
    people = Participant.objects.filter(study=study, kind=kind, arm__isnull=False)
    if cell:
        people = people.filter(cell=cell)
    trials = Trial.objects.filter(participant=OuterRef("pk"), shown_at__gte=came_since)
    came = Q(consented_at__gte=came_since) | Q(Exists(trials))
    admitted = people.under_way().filter(screened_out_at=None)
    present = admitted.filter(came, last_seen_at__gte=since).order_by()
    settled = PeopleCount.objects.filter(
        study=study, kind=kind, fate__in=(Fate.LEFT, Fate.FINISHED)
    )
    what = Case(
        When(place_until=None, then=Value(HOLDS)),
        When(place_until__gt=now, then=Value(AWAITED)),
        default=Value(WAITS),
    )
    of_page = present.values(what=what, arm_of=F("arm__number"), page=F("page_reached"))
    of_way = settled.order_by().values("fate", "page").annotate(total=Sum("n"))
    valid: QuerySet[Any, Any]
    if cell:
        finished = people.valid().order_by().values("arm__number").annotate(total=Count("pk"))
        valid = finished.values_list(Value("valid"), "arm__number", zero, "total")
    else:
        counted = settled.filter(fate=Fate.FINISHED, excluded_by="")
        by_arm = counted.order_by().values("arm_number").annotate(total=Sum("n"))
        valid = by_arm.values_list(Value("valid"), "arm_number", zero, "total")
    return arms.values_list(Value("arm"), "number", zero, "share").union(
        of_page.annotate(total=Count("pk")).values_list("what", "arm_of", "page", "total"),
        of_way.values_list("fate", zero, "page", "total"),
        valid,
        all=True,
    )


_EXAMPLES = (
    (1, 2),
    ("real", "pilot"),
    *[(datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC))] * 3,
)
_read = Prepared(_query, *_EXAMPLES)
_read_in_cell = Prepared(_query, *_EXAMPLES, ("female", "male"))
