"""How a study's answers are graded: its rubric, and what people grade."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from experiment.models import Study
from experiment.services.audit import Action, record
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import BIOSCORE, Rubric
from scoring.models import GradingPlan, PersonGrade


def plan_of(study: Study) -> GradingPlan:
    """The study's plan; one that is not stored where it has none yet."""
    found = GradingPlan.objects.filter(study=study).first()
    return found or GradingPlan(study=study, rubric=BIOSCORE.to_json())


def rubric_of(plan: GradingPlan) -> Rubric:
    return Rubric.from_json(plan.rubric)


def held(study: Study) -> GradingPlan:
    """The stored plan, until the transaction ends for this transaction alone: people's grades come one after the other."""
    GradingPlan.objects.get_or_create(study=study, defaults={"rubric": BIOSCORE.to_json()})
    return GradingPlan.objects.select_for_update().get(study=study)


def grades_of(study: Study) -> QuerySet[PersonGrade]:
    """What people gave answers of the study, adjudications included."""
    of_people = Q(judgment__trial__participant__study=study)
    return PersonGrade.objects.filter(Q(answer__run__study=study) | of_people)


@transaction.atomic
def change(
    study: Study,
    *,
    rubric: Rubric,
    people_share: float,
    double_share: float,
    tolerance: float,
    seed: int,
    by: User | None = None,
) -> GradingPlan:
    """Change the plan.

    Raises:
        ScoringError: people have graded by the rubric that is to be changed.
    """
    plan = held(study)
    if rubric != rubric_of(plan) and grades_of(study).exists():
        raise ScoringError("People have graded by this rubric: it cannot change any more.")
    plan.rubric = rubric.to_json()
    plan.people_share, plan.double_share = people_share, double_share
    plan.tolerance, plan.seed = tolerance, seed
    plan.save()
    record(Action.STUDY_CHANGED, by=by, study=study, grading=rubric.name)
    return plan
