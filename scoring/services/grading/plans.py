"""How a study's answers are graded: its rubric and what people grade, and what a judge's grades come to."""

from collections import Counter, defaultdict

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Q, QuerySet

from experiment.models import Study
from experiment.services.audit import Action, record
from scoring.domain.backend import ScoringError
from scoring.domain.grading.rubric import ABSTAINED, BIOSCORE, TOLERANCE, Fate, Rubric
from scoring.models import GradingPlan, GradingRun, LanguageModel, PersonGrade
from scoring.services.grading.targets import PEOPLE
from scoring.services.model_facts import told_apart


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
    """The grades that people gave answers of the study, adjudications included."""
    of_people = Q(judgment__trial__participant__study=study)
    return PersonGrade.objects.filter(Q(answer__run__study=study) | of_people)


@transaction.atomic
def change(study: Study, *, rubric: Rubric, by: User | None = None, **values: float) -> GradingPlan:
    """Change the plan.

    Args:
        values: of its shares, tolerance and seed.
    Raises:
        ScoringError: people have graded by the rubric that is to be changed.
    """
    plan = held(study)
    if rubric != rubric_of(plan) and grades_of(study).exists():
        raise ScoringError("People have graded by this rubric, so it cannot change any more.")
    after = {"rubric_text": rubric.to_json(), **values}
    before = {"rubric_text": plan.rubric} | {name: getattr(plan, name) for name in values}
    changed = [name for name in after if before[name] != after[name]]
    plan.rubric = rubric.to_json()
    for name, value in values.items():
        setattr(plan, name, value)
    plan.save()
    record(Action.STUDY_CHANGED, by=by, study=study, grading=rubric.name, changed=changed)
    return plan


def summary(run: GradingRun) -> dict[str, dict[str, int]]:
    """Answers (`n`) and those of each fate, of each model by its name in tables, and of "people"."""
    rubric, found = Rubric.from_json(run.rubric), defaultdict[int | None, Counter[str]](Counter)
    rows = run.grades.order_by().values_list("answer__run__language_model", "points")
    for model, points, n in rows.annotate(n=Count("pk")):
        found[model] += Counter({"n": n, rubric.fate(points).value: n})
    models = LanguageModel.objects.filter(pk__in=[pk for pk in found if pk is not None])
    told = told_apart(models, PEOPLE)
    names = {model: PEOPLE if model is None else told[model] for model in found}
    return {
        names[model]: {key: found[model][key] for key in ("n", *Fate)}
        for model in sorted(found, key=lambda model: names[model])
    }


def with_fate(rubric: Rubric, fate: Fate) -> Q:
    """Grades of this fate: `Rubric.fate`, as the database tells it."""
    is_good = Q(points__gte=rubric.good_from * rubric.top - TOLERANCE)
    abstained = Q(points=ABSTAINED) if rubric.abstention is not None else Q(pk__in=[])
    unparsed = Q(points__isnull=True)
    known = {Fate.GOOD: is_good, Fate.ABSTAINED: abstained, Fate.UNPARSED: unparsed}
    return known.get(fate, ~is_good & ~abstained & ~unparsed)
