"""Which workers live, and what they take: so that a page can say at once that nobody would do what is asked of it."""

from datetime import timedelta
from time import monotonic

from django.db.models.functions import Now

from lib.jobs.models import Job, LivingWorker
from lib.jobs.queue import kinds
from lib.jobs.workers import Worker

BEAT_S = 10
SILENT_S = 40  # a busy machine misses a beat or two


class Presence:
    """A worker's own row: `beat` often, `leave` at the end."""

    def __init__(self) -> None:
        self.name = str(Worker.of_this_process())
        self.beaten_at: float | None = None

    def beat(self) -> None:
        """Say that it lives; asked again within some seconds, nothing is written."""
        if self.beaten_at is not None and monotonic() - self.beaten_at < BEAT_S:
            return
        if not LivingWorker.objects.filter(name=self.name).update(beat_at=Now()):
            LivingWorker.objects.filter(beat_at__lt=Now() - timedelta(days=1)).delete()
            taken = [kind._meta.label_lower for kind in kinds()]
            LivingWorker.objects.create(name=self.name, kinds=taken, beat_at=Now())
        self.beaten_at = monotonic()

    def leave(self) -> None:
        LivingWorker.objects.filter(name=self.name).delete()


def living() -> list[LivingWorker]:
    """The workers that live, the oldest first. One of this machine that was killed is missed at once."""
    recent = LivingWorker.objects.filter(beat_at__gte=Now() - timedelta(seconds=SILENT_S))
    return [row for row in recent.order_by("pk") if not _is_known_dead(row.name)]


def is_taken(kind: type[Job]) -> bool:
    """Whether a worker that lives takes jobs of this kind."""
    return any(kind._meta.label_lower in row.kinds for row in living())


def _is_known_dead(name: str) -> bool:
    worker = Worker.read(name)
    return worker is not None and worker.is_known_dead
