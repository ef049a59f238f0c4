"""Answers to grade, in pieces, for a study may have tens of thousands: models' answers and what participants wrote."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from experiment.models import Item, Judgment, Participant, Study
from scoring.domain.generating import Finish
from scoring.models import Answer, GradingRun, JudgeGrade, PersonGrade

PEOPLE = "people"  # among the runs of a grading run: what participants wrote
CHUNK = 200
# A whole answer, and one that was cut off: it is graded as it stands
GRADED = (Finish.STOP, Finish.LENGTH)
# Nobody else's text is graded
KINDS = (Participant.Kind.REAL, Participant.Kind.IMPORTED, Participant.Kind.SIMULATED)


@dataclass(frozen=True, slots=True)
class Target:
    """An answer with what it is compared with.

    row: number of the answer; of a judgment, its number with a minus. finish: how a model's answer ended. abstained: a
    participant chose "I do not know".
    """

    row: int
    question: str
    expert_answer: str
    text: str
    finish: str
    abstained: bool

    @property
    def has_text(self) -> bool:
        return self.finish in GRADED and not self.abstained and bool(self.text.strip())


def column(row: int) -> dict[str, int]:
    """The target of this number, as a grade's column.

    >>> column(7), column(-7)
    ({'answer_id': 7}, {'judgment_id': 7})
    """
    return {"answer_id": row} if row > 0 else {"judgment_id": -row}


def row_of(grade: JudgeGrade | PersonGrade) -> int:
    """The number of the target that a grade is of."""
    return grade.answer_id if grade.answer_id is not None else -(grade.judgment_id or 0)


def answers_of(run: GradingRun) -> QuerySet[Answer]:
    return Answer.objects.filter(run__in=[number for number in run.runs if number != PEOPLE])


def written(study: Study) -> QuerySet[Judgment]:
    """Valid participants' answers to questions.

    None of who is anonymous: of their answers only "I do not know" is left, which alone would be no fair sample.
    """
    return Judgment.objects.valid().filter(
        trial__participant__study=study,
        trial__participant__is_anonymous=False,
        trial__participant__kind__in=KINDS,
        trial__item__kind=Item.Kind.QUESTION,
        written_answer__isnull=False,
    )


def judgments_of(run: GradingRun) -> QuerySet[Judgment]:
    return written(run.study) if PEOPLE in run.runs else Judgment.objects.none()


def hold(row: int) -> bool:
    """True if the answer is still there; until the transaction ends nobody takes its words away."""
    if row > 0:
        return True
    people = Participant.objects.select_for_update(of=("self",), no_key=True)
    return people.filter(trials__judgment=-row, is_anonymous=False).first() is not None


def count(run: GradingRun) -> int:
    """With what was graded before its participant became anonymous."""
    graded = JudgeGrade.objects.filter(is_settled(), run=run.pk)
    gone = graded.filter(judgment__trial__participant__is_anonymous=True)
    return answers_of(run).count() + judgments_of(run).count() + gone.count()


# Asked in the same words, they would end in the same way
NOT_RETRIED = (Finish.FILTERED, Finish.TOO_LONG)


def is_settled() -> Q:
    """The condition that a judge's grade is settled: nothing is asked about it again.

    A server that failed may answer when it is asked anew. A model's answer that had failed, about which no judge is asked,
    is settled until the model has answered after all.
    """
    is_grade = Q(points__isnull=False) | Q(tries__gt=1) | Q(finish__in=NOT_RETRIED)
    asked = Q(tries__gt=0) & is_grade & ~Q(finish=Finish.FAILED)
    still_failed = Q(answer__finish=Finish.FAILED)
    return asked | (Q(tries=0) & (~Q(finish=Finish.FAILED) | still_failed))


def open_answers(run: GradingRun) -> QuerySet[Answer]:
    """Models' answers that have no grade yet that stands."""
    settled = JudgeGrade.objects.filter(is_settled(), run=run, answer=OuterRef("pk"))
    return answers_of(run).filter(~Exists(settled))


def open_judgments(run: GradingRun) -> QuerySet[Judgment]:
    """As `open_answers`, of what participants wrote."""
    settled = JudgeGrade.objects.filter(is_settled(), run=run, judgment=OuterRef("pk"))
    return judgments_of(run).filter(~Exists(settled))


def n_open(run: GradingRun) -> int:
    return open_answers(run).count() + open_judgments(run).count()


def has_open(run: GradingRun) -> bool:
    return open_answers(run).exists() or open_judgments(run).exists()


def unsettled(run: GradingRun) -> Iterator[list[Target]]:
    """Answers that have no grade yet that stands, in pieces, in the order of the rows."""
    rows = (
        open_answers(run)
        .order_by("pk")
        .values_list("pk", "item__markup", "item__expert_answer", "text", "finish")
    )
    for chunk in _pieces(rows):
        yield [Target(pk, q, e, t, finish, False) for pk, q, e, t, finish in chunk]
    said = (
        open_judgments(run)
        .order_by("pk")
        .annotate(question=F("trial__item__markup"), expert=F("trial__item__expert_answer"))
    )
    texts = said.values_list(
        "pk", "question", "expert", "written_answer__text", "written_answer__abstained"
    )
    for chunk in _pieces(texts):
        yield [Target(-pk, q, e, t, Finish.STOP.value, a) for pk, q, e, t, a in chunk]


def _pieces(rows: QuerySet[Any, Any]) -> Iterator[list[tuple[Any, ...]]]:
    last = 0
    while chunk := list(rows.filter(pk__gt=last)[:CHUNK]):
        last = chunk[-1][0]
        yield chunk


def forget_words(study: Study, **_: Any) -> None:
    """Empty what was written beside the grades of a study's anonymous participants, in the transaction that made them so."""
    of_anonymous = {
        "judgment__trial__participant__study": study,
        "judgment__trial__participant__is_anonymous": True,
    }
    judged = JudgeGrade.objects.filter(**of_anonymous)
    # What would be asked for once more: there is nothing left to ask about
    judged.exclude(is_settled()).delete()
    judged.update(text="", thought="", first_text="", messages=[], detail="")
    PersonGrade.objects.filter(**of_anonymous).exclude(note="").update(note="")
