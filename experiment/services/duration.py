"""How long a study takes, as its pages say it."""

import time

from django.db.models import F

from experiment.domain.duration import MIN_FINISHERS, Duration, expected_duration
from experiment.models import Participant, Study

# Enough to know the middle half, and the newest: a study's length can change
LATEST = 500
KEPT_S = 60
# (study, its abstracts, its questions) -> when it was found, by the process's clock in seconds, and what; as often asked as a study is opened
_kept: dict[tuple[int, int, int], tuple[float, Duration]] = {}


def study_duration(study: Study) -> Duration:
    """Minutes from consent to the end, of real valid finishers; of the number of trials where they are few.

    Each process finds it anew once a minute.
    """
    key, now = (study.pk, study.n_abstracts, study.question_items), time.monotonic()
    if key not in _kept or now - _kept[key][0] >= KEPT_S:
        _kept[key] = (now, _duration(study))
    return _kept[key][1]


def _duration(study: Study) -> Duration:
    people = Participant.objects.of(study, Participant.Kind.REAL).valid()
    times = people.filter(consented_at__isnull=False, finished_at__gte=F("consented_at"))
    newest = times.order_by("-finished_at").values_list("consented_at", "finished_at")[:LATEST]
    minutes = [(end - start).total_seconds() / 60 for start, end in newest if start and end]
    known = minutes if len(minutes) >= MIN_FINISHERS else ()
    return expected_duration(study.n_abstracts, known, study.question_items)


def forget() -> None:
    """Keep nothing; for tests, which use the ids of earlier ones again."""
    _kept.clear()
