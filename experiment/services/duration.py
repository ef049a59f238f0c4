"""How long a study takes, as its pages say it."""

from experiment.domain.duration import MIN_FINISHERS, Duration, expected_duration
from experiment.models import Participant, Study

# Enough to know the middle half, and the newest: a study's length can change
LATEST = 500


def study_duration(study: Study) -> Duration:
    """Minutes from consent to the end, of real valid finishers; of the number of trials where they are few."""
    people = Participant.objects.of(study, Participant.Kind.REAL).valid()
    times = people.filter(consented_at__isnull=False, finished_at__isnull=False)
    newest = times.order_by("-finished_at").values_list("consented_at", "finished_at")[:LATEST]
    minutes = [(end - start).total_seconds() / 60 for start, end in newest if start and end]
    return expected_duration(study.n_trials, minutes if len(minutes) >= MIN_FINISHERS else ())
