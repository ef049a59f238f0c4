"""Use case: a person grades one answer after the other, sees how far all are, and takes back or changes their last grade."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Sum
from django.db.models.functions import Least

from experiment.models import Study
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import ABSTAINED, Rubric
from scoring.models import Answer, GradingPlan, PersonGrade
from scoring.services.grading.people import sample
from scoring.services.grading.plans import grades_of, held, plan_of, rubric_of
from scoring.services.grading.targets import Target, column, hold, row_of, written

TURN = 100  # of the order in which a person meets answers; their number is added
ONE_TOO_MANY = 1  # two who have the same answer before them may both give a grade


class GradeRefusedError(ScoringError):
    """A grade is not kept; the message is a sentence for who gave it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a person chose: a level or none (abstained), and deductions by name."""

    level: float | None
    deductions: Sequence[str] = ()
    note: str = ""
    seconds: float | None = None

    def columns(self, rubric: Rubric) -> dict[str, object]:
        """Raises GradeRefusedError where the rubric has no such level or deduction."""
        shared = {"note": self.note, "abstained": self.level is None}
        if self.level is None:
            if rubric.abstention is None:
                raise GradeRefusedError("The rubric has no abstention.")
            return shared | {"level": None, "deductions": [], "points": ABSTAINED}
        known = [deduction.name for deduction in rubric.deductions]
        if self.level not in [level.points for level in rubric.levels]:
            raise GradeRefusedError("The rubric has no such level.")
        if not set(self.deductions) <= set(known):
            raise GradeRefusedError("The rubric has no such deduction.")
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
    """What the person grades next: never one that they graded, each person in an order of their own."""
    plan = plan_of(study)
    found: list[tuple[int, int]] = []
    for rows, name in ((sample.answers(plan), "answer"), (sample.judgments(plan), "judgment")):
        mine = PersonGrade.objects.filter(**{name: OuterRef("pk")}, grader=user)
        waiting = rows.filter(~Exists(mine), given__lt=F("needed"))
        turns = waiting.annotate(turn=sample.mixed(plan.seed, TURN + user.pk)).order_by(
            "turn", "pk"
        )
        first = turns.values_list("turn", "pk").first()
        if first is not None:
            found.append((first[0], first[1] if name == "answer" else -first[1]))
    return None if not found else target_of(plan, min(found)[1])


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
    rows = sample.answers(plan) if row > 0 else sample.judgments(plan)
    needed = rows.filter(pk=abs(row)).values_list("needed", "given").first()
    if needed is None or not hold(row):
        raise GradeRefusedError("This answer is not to be graded any more.")
    columns = given.columns(rubric_of(plan))
    own = PersonGrade.objects.filter(grader=user, **column(row)).first()
    if own is not None and is_same(own, columns):
        return own
    if own is not None:
        raise GradeRefusedError("You have graded this answer before.")
    if needed[1] >= needed[0] + ONE_TOO_MANY:
        raise GradeRefusedError("Others have graded this answer meanwhile: no more is needed.")
    return PersonGrade.objects.create(grader=user, seconds=given.seconds, **column(row), **columns)


def is_same(grade: PersonGrade, columns: Mapping[str, object]) -> bool:
    """Whether a grade says what is given now: a form that was sent twice is one grade."""
    return all(getattr(grade, name) == value for name, value in columns.items())


def last_of(user: User, study: Study) -> PersonGrade | None:
    """The person's last grade, as long as nobody has settled the answer, and it is there to be read."""
    last = grades_of(study).filter(grader=user, is_adjudication=False).order_by("-pk").first()
    if last is None or _is_settled(last):
        return None
    return None if target_of(plan_of(study), row_of(last)) is None else last


@transaction.atomic
def change_last(user: User, study: Study, row: int, given: Given) -> PersonGrade:
    """Raises GradeRefusedError where it is not their last, or is settled."""
    plan = held(study)
    last = last_of(user, study)
    if last is None or row_of(last) != row:
        raise GradeRefusedError("Only your last grade can be changed, until it is settled.")
    if not hold(row):
        raise GradeRefusedError("This answer is not to be graded any more.")
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
        raise GradeRefusedError("Only your last grade can be taken back, until it is settled.")
    last.delete()


def progress(study: Study, user: User) -> Progress:
    plan = plan_of(study)
    needed = given = answers = 0
    for rows in (sample.answers(plan), sample.judgments(plan)):
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


def _is_settled(grade: PersonGrade) -> bool:
    of_answer = PersonGrade.objects.filter(**column(row_of(grade)))
    return of_answer.filter(is_adjudication=True).exists()
