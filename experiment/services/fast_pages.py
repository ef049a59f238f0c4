"""Finishers' trials under another time that counts as fast: read while people go on, and written in a moment.

Until then all count under the time before (`Study.fast_limit_ms`), so that the counters are right, of that one.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from experiment.models import Participant, PeopleCount, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.services.counting import hold_counters
from experiment.services.recount import fast_pages

Pages = dict[int, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FastPages:
    """Of each finisher, by primary key, how many; their answers change no more, but for who is made anonymous."""

    limit_ms: int
    of: Pages

    @classmethod
    def read(cls, study: Study) -> "FastPages":
        return cls(study.min_rt_ms, _pages(_lasting(study), study.min_rt_ms))

    def write(self, study: Study) -> None:
        """Count under this limit from now on; the study's row is held, so that nobody counts under another."""
        for (kind,) in study.participants.order_by().values_list("kind").distinct():
            self._write(study, kind)
        study.counted_min_rt_ms = None
        study.save(update_fields=["counted_min_rt_ms"])

    def _write(self, study: Study, kind: str) -> None:
        hold_counters(study, kind)
        finished = Participant.objects.of(study, kind).finished().order_by()
        rows = list(finished.values_list("pk", "page_reached", "excluded_by", "is_anonymous"))
        later = [pk for pk, *_, is_anonymous in rows if pk not in self.of and not is_anonymous]
        of = self.of | _pages(finished.filter(pk__in=later), self.limit_ms)
        of |= _pages(finished.filter(is_anonymous=True), self.limit_ms)
        sums: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
        for pk, page, excluded_by, _ in rows:
            n_page, n_choice = of[pk]
            sums[page, excluded_by].update(fast_page=n_page, fast_choice=n_choice)
        counters = PeopleCount.objects.filter(
            study=study, kind=kind, fate=PeopleCount.Fate.FINISHED
        )
        for row in counters:
            n = sums[row.page, row.excluded_by]
            row.fast_page, row.fast_choice = n["fast_page"], n["fast_choice"]
            row.save(update_fields=["fast_page", "fast_choice"])


def _lasting(study: Study) -> ParticipantQuerySet:
    return study.participants.finished().filter(is_anonymous=False).order_by()


def _pages(people: ParticipantQuerySet, limit_ms: int) -> Pages:
    # First, since who finishes in between is seen by the second
    found = dict.fromkeys(people.values_list("pk", flat=True), (0, 0))
    return found | {pk: (n_page, n_choice) for pk, n_page, n_choice in fast_pages(people, limit_ms)}
