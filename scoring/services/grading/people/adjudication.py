"""Use case: where two people's grades differ, a third, or who leads the study, settles it, not knowing who gave them."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from experiment.domain.roles import Right
from experiment.models import Study
from experiment.services.rights import may
from scoring.domain.grading.rubric import TOLERANCE
from scoring.models import Answer, GradingPlan, PersonGrade
from scoring.services.grading.people.grading import Given, GradeRefusedError, is_same, target_of
from scoring.services.grading.plans import held, plan_of, rubric_of
from scoring.services.grading.targets import Target, column, hold, written

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


def next_for(user: User, study: Study) -> Dispute | None:
    """What this person may settle next: what they did not grade themselves, unless they lead the study."""
    plan = plan_of(study)
    for rows, sign in zip(_open_to(user, study, _disputed(plan)), (1, -1), strict=True):
        pk = rows.order_by("pk").values_list("pk", flat=True).first()
        if pk is not None:
            return _dispute(plan, sign * pk)
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
    answers, judgments = _disputed(plan)
    is_open = (answers if row > 0 else judgments).filter(pk=abs(row)).exists()
    if not (is_open and hold(row)):
        raise GradeRefusedError("This answer is settled.")
    if PersonGrade.objects.filter(grader=user, **column(row)).exists() and not leads(user, study):
        raise GradeRefusedError("You gave one of these grades: somebody else settles it.")
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


def grades_of(row: int) -> tuple[PersonGrade, ...]:
    """What people gave an answer, in an order that does not say who came first."""
    found = PersonGrade.objects.filter(is_adjudication=False, **column(row))
    return tuple(found.order_by("points", "pk"))


def _dispute(plan: GradingPlan, row: int) -> Dispute | None:
    target = target_of(plan, row)
    return None if target is None else Dispute(target, grades_of(row))
