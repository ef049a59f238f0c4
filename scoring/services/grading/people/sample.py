"""Which answers people grade, and how many people each: a sample that the plan's seed alone decides.

Whether an answer is in it depends on its number and the seed, not on how many others there are: it stays in it when more
come, and no list is kept. The database mixes the numbers, so that none of the other rows are read.
"""

import hashlib
from typing import Any

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    ExpressionWrapper,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from experiment.models import Item, Participant
from scoring.models import Answer, AnsweringRun, GradingPlan, PersonGrade
from scoring.services.answering.counted import counted
from scoring.services.grading.targets import GRADED, written

PRIME = 1_000_003
ROUNDS = 2
KINDS = (Participant.Kind.REAL, Participant.Kind.IMPORTED)


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


def answers(plan: GradingPlan) -> QuerySet[Any]:
    """Models' answers that people grade; `needed` people each, `given` grades so far.

    Of the runs that count: what another run has taken the place of, or is still under way, would be graded for nothing.
    """
    over = AnsweringRun.objects.filter(study=plan.study_id)
    runs = over.exclude(status__in=AnsweringRun.OPEN_STATUSES).defer("items", "instructions")
    questions = Item.objects.shown_by([plan.study]).filter(kind=Item.Kind.QUESTION)
    numbers = [run.pk for run in counted(list(runs), questions)]
    with_text = Answer.objects.filter(run__in=numbers, item__in=questions, finish__in=GRADED)
    return _sampled(with_text.exclude(text=""), plan, "answer")


def judgments(plan: GradingPlan) -> QuerySet[Any]:
    """As `answers`, of what participants wrote."""
    said = written(plan.study).filter(
        trial__participant__kind__in=KINDS, written_answer__abstained=False
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
