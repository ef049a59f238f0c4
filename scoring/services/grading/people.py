"""Use case: people grade a sample of the answers, not knowing whose they are; where two differ, a third settles it.

A person grades one answer after the other, sees how far all are, and takes back or changes their last grade. Which answers
these are, and how many people grade each, the plan's seed alone decides: it depends on an answer's number and the seed, not
on how many others there are. So an answer stays in the sample when more come, and no list is kept. The database mixes the
numbers, so that none of the other rows are read.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, Least

from experiment.domain.roles import Right
from experiment.models import Item, Participant, Study
from experiment.services.rights import may
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import ABSTAINED, TOLERANCE, Rubric
from scoring.models import Answer, AnsweringRun, GradingPlan, PersonGrade
from scoring.services.answering import counted
from scoring.services.grading.plans import grades_of, held, plan_of, rubric_of
from scoring.services.grading.targets import GRADED, Target, column, hold, row_of, written

PRIME = 1_000_003
ROUNDS = 2
SAMPLED_KINDS = (Participant.Kind.REAL, Participant.Kind.IMPORTED)


def mixed(seed: int, salt: int, column: str = "pk") -> Any:
    """A number from 0 to PRIME - 1 for each row, as if drawn: x -> (x + a)(x + b) modulo PRIME, twice.

    A polynomial of degree 4 in the row's number, with coefficients that the seed draws. Each product is below 2^43.
    """
    value: Any = F(column) % PRIME
    for n in range(ROUNDS):
        drawn = hashlib.sha256(f"{seed}/{salt}/{n}".encode()).digest()
        a, b = (int.from_bytes(part) % PRIME for part in (drawn[:8], drawn[8:16]))
        product = ExpressionWrapper((value + a) * (value + b), output_field=BigIntegerField())
        value = ExpressionWrapper(product % PRIME, output_field=BigIntegerField())
    return value


def sampled_answers(plan: GradingPlan) -> QuerySet[Any]:
    """Models' answers that people grade; `needed` people each, `given` grades so far.

    Of the runs that count: what another run has taken the place of, or is still under way, would be graded for nothing.
    """
    over = AnsweringRun.objects.filter(study=plan.study_id)
    runs = over.exclude(status__in=AnsweringRun.OPEN_STATUSES).defer("items", "instructions")
    questions = Item.objects.shown_by([plan.study]).filter(kind=Item.Kind.QUESTION)
    numbers = [run.pk for run in counted(list(runs), questions)]
    with_text = Answer.objects.filter(run__in=numbers, item__in=questions, finish__in=GRADED)
    return _sampled(with_text.exclude(text=""), plan, "answer")


def sampled_judgments(plan: GradingPlan) -> QuerySet[Any]:
    """As `answers`, of what participants wrote."""
    said = written(plan.study).filter(
        trial__participant__kind__in=SAMPLED_KINDS, written_answer__abstained=False
    )
    return _sampled(said, plan, "judgment")


def _sampled(rows: QuerySet[Any], plan: GradingPlan, column: str) -> QuerySet[Any]:
    salt = 0 if column == "answer" else 10
    of_row = PersonGrade.objects.filter(**{column: OuterRef("pk")}, is_adjudication=False)
    counted = of_row.order_by().values(column).annotate(n=Count("pk")).values("n")
    two = When(drawn_twice__lt=_threshold(plan.double_share), then=Value(2))
    sampled: QuerySet[Any] = (
        rows.annotate(drawn=mixed(plan.seed, salt + 1), drawn_twice=mixed(plan.seed, salt + 2))
        .filter(drawn__lt=_threshold(plan.people_share))
        .annotate(
            needed=Case(two, default=Value(1), output_field=IntegerField()),
            given=Coalesce(Subquery(counted), 0, output_field=IntegerField()),
        )
    )
    return sampled


def _threshold(share: float) -> int:
    return round(share * PRIME)


TURN = 100  # of the order in which a person meets answers; their number is added
ONE_TOO_MANY = 1  # two who have the same answer before them may both give a grade


class GradeRefusedError(ScoringError):
    """A grade is not kept; the message is a sentence for who gave it."""


@dataclass(frozen=True, slots=True)
class Given:
    """A person's choice: a level or none (abstained), and deductions by name."""

    level: float | None
    deductions: Sequence[str] = ()
    note: str = ""
    seconds: float | None = None

    def columns(self, rubric: Rubric) -> dict[str, object]:
        """Raises GradeRefusedError where the rubric has no such level or deduction."""
        shared = {"note": self.note, "abstained": self.level is None}
        if self.level is None:
            if rubric.abstention is None:
                raise GradeRefusedError("The rubric does not have an abstention.")
            return shared | {"level": None, "deductions": [], "points": ABSTAINED}
        known = [deduction.name for deduction in rubric.deductions]
        if self.level not in [level.points for level in rubric.levels]:
            raise GradeRefusedError("The rubric does not have this level.")
        if not set(self.deductions) <= set(known):
            raise GradeRefusedError("The rubric does not have this deduction.")
        chosen = [name for name in known if name in self.deductions]
        points = rubric.total(self.level, chosen)
        return shared | {"level": self.level, "deductions": chosen, "points": points}


@dataclass(frozen=True, slots=True)
class Progress:
    """Grades that the plan asks for and that there are, of all people; those that one person gave.

    answers: how many the sample has. simulated: grades that were made up, of whatever answers; those of the sample count as given.
    """

    needed: int
    given: int
    mine: int
    answers: int
    simulated: int


def next_for(user: User, study: Study) -> Target | None:
    """The next answer for the person to grade: never one that they graded, each person in an order of their own."""
    plan = plan_of(study)
    found: list[tuple[int, int]] = []
    for waiting, name in _waiting_for(user, plan):
        turns = waiting.annotate(turn=mixed(plan.seed, TURN + user.pk)).order_by("turn", "pk")
        first = turns.values_list("turn", "pk").first()
        if first is not None:
            found.append((first[0], first[1] if name == "answer" else -first[1]))
    return None if not found else target_of(plan, min(found)[1])


def n_waiting_for(user: User, plan: GradingPlan) -> int:
    """How many answers the person could still grade."""
    return sum(rows.count() for rows, _name in _waiting_for(user, plan))


def _waiting_for(user: User, plan: GradingPlan) -> Iterator[tuple[QuerySet[Any], str]]:
    for rows, name in ((sampled_answers(plan), "answer"), (sampled_judgments(plan), "judgment")):
        mine = PersonGrade.objects.filter(**{name: OuterRef("pk")}, grader=user)
        yield rows.filter(~Exists(mine), given__lt=F("needed")), name


def target_of(plan: GradingPlan, row: int) -> Target | None:
    """An answer of the study's, with nothing that says whose it is; None where there is none of this number."""
    if row > 0:
        of_study = Answer.objects.filter(run__study=plan.study_id, pk=row)
        found = of_study.values_list("item__markup", "item__expert_answer", "text").first()
    else:
        of_people = written(plan.study).filter(pk=-row)
        found = of_people.values_list(
            "trial__item__markup", "trial__item__expert_answer", "written_answer__text"
        ).first()
    return None if found is None else Target(row, *found, Finish.STOP.value, False)


@transaction.atomic
def give(user: User, study: Study, row: int, given: Given) -> PersonGrade:
    """Keep a person's grade.

    Raises:
        GradeRefusedError: they graded it otherwise before, or others did meanwhile and no more grades are needed.
    """
    plan = held(study)
    rows = sampled_answers(plan) if row > 0 else sampled_judgments(plan)
    needed = rows.filter(pk=abs(row)).values_list("needed", "given").first()
    if needed is None or not hold(row):
        raise GradeRefusedError("This answer can no longer be graded.")
    columns = given.columns(rubric_of(plan))
    own = PersonGrade.objects.filter(grader=user, **column(row)).first()
    if own is not None and is_same(own, columns):
        return own
    if own is not None:
        raise GradeRefusedError("You have already graded this answer.")
    if needed[1] >= needed[0] + ONE_TOO_MANY:
        raise GradeRefusedError(
            "Others have graded this answer in the meantime, so no more grades are needed."
        )
    return PersonGrade.objects.create(grader=user, seconds=given.seconds, **column(row), **columns)


def is_same(grade: PersonGrade, columns: Mapping[str, object]) -> bool:
    """True if a grade says what is given now: a form that was sent twice is one grade."""
    return all(getattr(grade, name) == value for name, value in columns.items())


def last_of(user: User, study: Study) -> PersonGrade | None:
    """The person's last grade, as long as nobody has settled the answer, and it is there to be read."""
    last = grades_of(study).filter(grader=user, is_adjudication=False).order_by("-pk").first()
    if last is None:
        return None
    of_answer = PersonGrade.objects.filter(**column(row_of(last)))
    if of_answer.filter(is_adjudication=True).exists():
        return None
    return None if target_of(plan_of(study), row_of(last)) is None else last


@transaction.atomic
def change_last(user: User, study: Study, row: int, given: Given) -> PersonGrade:
    """Raises GradeRefusedError where it is not their last, or is settled."""
    plan = held(study)
    last = last_of(user, study)
    if last is None or row_of(last) != row:
        raise GradeRefusedError("You can only change your last grade, until it is settled.")
    if not hold(row):
        raise GradeRefusedError("This answer can no longer be graded.")
    for name, value in given.columns(rubric_of(plan)).items():
        setattr(last, name, value)
    last.save()
    return last


@transaction.atomic
def take_back(user: User, study: Study, number: int) -> None:
    """Remove the person's last grade, which has this number; the answer waits for one again.

    Where they have no grade of this number it was taken back before, and nothing is done.

    Raises:
        GradeRefusedError: it is not their last, or is settled.
    """
    held(study)
    mine = grades_of(study).filter(grader=user, is_adjudication=False)
    if not mine.filter(pk=number).exists():
        return
    last = last_of(user, study)
    if last is None or last.pk != number:
        raise GradeRefusedError("You can only withdraw your last grade, until it is settled.")
    last.delete()


def progress(study: Study, user: User) -> Progress:
    plan = plan_of(study)
    needed = given = answers = 0
    for rows in (sampled_answers(plan), sampled_judgments(plan)):
        found = rows.aggregate(
            all=Sum("needed", default=0),
            done=Sum(Least("given", "needed"), default=0),
            n=Count("pk"),
        )
        needed, given = needed + found["all"], given + found["done"]
        answers += found["n"]
    own = grades_of(study).filter(is_adjudication=False)
    mine, made_up = own.filter(grader=user).count(), own.filter(is_simulated=True).count()
    return Progress(needed, given, mine, answers, made_up)


OWN = Q(person_grades__is_adjudication=False)


@dataclass(frozen=True, slots=True)
class Dispute:
    """An answer, and the grades that differ."""

    target: Target
    grades: tuple[PersonGrade, ...]


def n_open(study: Study, user: User | None = None) -> int:
    """How many answers are to be settled: in all, or by this person."""
    rows = _disputed(plan_of(study))
    return sum(each.count() for each in (rows if user is None else _open_to(user, study, rows)))


def next_dispute(user: User, study: Study) -> Dispute | None:
    """The next answer for this person to settle: one that they did not grade themselves, unless they lead the study."""
    plan = plan_of(study)
    for rows, sign in zip(_open_to(user, study, _disputed(plan)), (1, -1), strict=True):
        pk = rows.order_by("pk").values_list("pk", flat=True).first()
        if pk is not None:
            target = target_of(plan, sign * pk)
            return None if target is None else Dispute(target, differing_grades(sign * pk))
    return None


def _open_to(
    user: User, study: Study, disputed: tuple[QuerySet[Any], QuerySet[Any]]
) -> tuple[QuerySet[Any], ...]:
    if leads(user, study):
        return disputed
    graded = PersonGrade.objects.filter(grader=user)
    return tuple(
        rows.filter(~Exists(graded.filter(**{name: OuterRef("pk")})))
        for rows, name in zip(disputed, ("answer", "judgment"), strict=True)
    )


def leads(user: User, study: Study) -> bool:
    return may(user, Right.SET_UP, study)


@transaction.atomic
def settle(user: User, study: Study, row: int, given: Given) -> PersonGrade:
    """Keep the grade that counts.

    Raises:
        GradeRefusedError: it is settled already, nothing is to be settled, or the person gave one of the grades.
    """
    plan = held(study)
    columns = given.columns(rubric_of(plan))
    own = PersonGrade.objects.filter(grader=user, is_adjudication=True, **column(row)).first()
    if own is not None and is_same(own, columns):
        return own
    disputed = _disputed(plan)[0 if row > 0 else 1]
    if not (disputed.filter(pk=abs(row)).exists() and hold(row)):
        raise GradeRefusedError("This answer is settled.")
    if PersonGrade.objects.filter(grader=user, **column(row)).exists() and not leads(user, study):
        raise GradeRefusedError(
            "You gave one of these grades, so somebody else must settle the difference."
        )
    return PersonGrade.objects.create(
        grader=user, seconds=given.seconds, is_adjudication=True, **column(row), **columns
    )


def _disputed(plan: GradingPlan) -> tuple[QuerySet[Any], QuerySet[Any]]:
    """By more points than the plan lets pass, or in whether the answer abstains; not settled yet, and there to be read."""
    answers = Answer.objects.filter(run__study=plan.study_id)
    return _differing(answers, "answer", plan), _differing(written(plan.study), "judgment", plan)


def _differing(rows: QuerySet[Any], name: str, plan: GradingPlan) -> QuerySet[Any]:
    settled = PersonGrade.objects.filter(**{name: OuterRef("pk")}, is_adjudication=True)
    graded = PersonGrade.objects.filter(**{f"{name}__isnull": False}).values(name)
    found: QuerySet[Any] = (
        rows.filter(~Exists(settled), pk__in=graded)
        .annotate(
            n_grades=Count("person_grades", filter=OWN),
            n_abstained=Count("person_grades", filter=OWN & Q(person_grades__abstained=True)),
            low=Min("person_grades__points", filter=OWN),
            high=Max("person_grades__points", filter=OWN),
        )
        .filter(n_grades__gte=2)
        .filter(
            Q(high__gt=F("low") + plan.tolerance + TOLERANCE)
            | Q(n_abstained__gt=0, n_abstained__lt=F("n_grades"))
        )
    )
    return found


def differing_grades(row: int) -> tuple[PersonGrade, ...]:
    """The grades that people gave an answer, in an order that does not say who came first."""
    found = PersonGrade.objects.filter(is_adjudication=False, **column(row))
    return tuple(found.order_by("points", "pk"))
