"""What Prometheus reads of people, from counters and from the few who are under way (`METRICS` in the settings)."""

from django.db.models import Count, Sum
from prometheus_client.metrics_core import Metric

from experiment.models import ItemCount, Judgment, Participant, PeopleCount
from lib.monitoring.metrics import gauge


def of_people() -> list[Metric]:
    """Participants by where they are, and answers that were acknowledged; by kind, real and simulated."""
    people = gauge("brainbench_participants", "Participants by stage.", "kind", "stage")
    under_way = Participant.objects.filter(Participant.UNDER_WAY).order_by()
    for kind, stage, n in under_way.values_list("kind", "stage").annotate(Count("pk")):
        people.add_metric([kind, stage], n)
    settled = PeopleCount.objects.order_by().values_list("kind", "fate").annotate(Sum("n"))
    for kind, fate, n in settled:
        people.add_metric([kind, fate], n)
    answers = gauge("brainbench_answers", "Judgments of test cases.", "kind", "of")
    judged = ItemCount.objects.order_by().values_list("kind").annotate(Sum("judged"))
    for kind, n in judged:
        answers.add_metric([kind, "settled"], n)
    present = Judgment.objects.filter(trial__participant__in=under_way).order_by()
    for kind, n in present.values_list("trial__participant__kind").annotate(Count("pk")):
        answers.add_metric([kind, "under_way"], n)
    return [people, answers]
