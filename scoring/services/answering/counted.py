"""Of several runs of a model on the same questions one counts."""

from collections.abc import Collection
from typing import Any

from django.db.models import Count, QuerySet

from experiment.models import Item
from scoring.models import Answer, AnsweringRun


def counted(runs: Collection[AnsweringRun], questions: QuerySet[Item]) -> list[AnsweringRun]:
    """Of each model's runs with an answer one: no simulated one before a real one, most of the questions, the newest.

    Args:
        runs: that are over.
        questions: of the study.
    """
    rows = Answer.objects.filter(run__in=[run.pk for run in runs], item__in=questions.values("pk"))
    n: dict[Any, int] = dict(rows.order_by().values_list("run").annotate(n=Count("pk")))
    best: dict[int, AnsweringRun] = {}
    for run in sorted(runs, key=lambda run: (not run.is_simulated, n.get(run.pk, 0), run.pk)):
        if run.pk in n:
            best[run.language_model_id] = run
    return list(best.values())
