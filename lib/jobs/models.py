from typing import ClassVar

from django.db import models

NOBODY = 0  # in place of an account's number: a command asked, or nobody did


class Job(models.Model):
    """Work in the background; this row is the truth about it. `leases` changes its state, and nothing else does."""

    class Status(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        FINISHED = "finished", "finished"
        FAILED = "failed", "failed"
        CANCELLED = "cancelled", "cancelled"

    OPEN_STATUSES = (Status.WAITING, Status.RUNNING)

    # Dotted path of the function that does the work of such a row: runner(job) -> None, through `running.run_job`
    runner: ClassVar[str]
    # Of work that takes hours: a name by which `JOB_APPS` takes it or leaves it, apart from the app's other jobs
    queue: ClassVar[str] = ""
    # Of a function undo(job) -> None, called in the transaction in which such a row is stopped or fails; empty for none
    undo: ClassVar[str] = ""
    # Of a function may(user, job) -> bool: whether who asked for such a row may ask for it still, as a worker wants to know
    # whenever it looks whether to go on. Empty where what comes of it is nobody's, and whoever opens it is asked
    may_ask: ClassVar[str]
    # Name of a key, of what such rows belong to where nobody's name is on them: they take turns by it, as others do by person
    owner: ClassVar[str] = ""

    created_at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.WAITING)
    total = models.PositiveIntegerField("steps in all", default=0)
    done = models.PositiveIntegerField("steps done", default=0)
    cancel_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True)
    # Not a key: who is deleted has asked all the same, and may no longer
    asked_by = models.BigIntegerField(
        default=NOBODY,
        editable=False,
        help_text="Number of the account that asked for it last; 0 for a command.",
    )
    attempts = models.PositiveSmallIntegerField(
        default=0, editable=False, help_text="Workers that started it since its last progress."
    )
    worker = models.CharField(max_length=200, blank=True, editable=False)
    heartbeat_at = models.DateTimeField(null=True, blank=True, editable=False)
    started_at = models.DateTimeField(null=True, blank=True, editable=False)
    finished_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        abstract = True

    @property
    def label(self) -> str:
        """For logs; unlike `str` of a subclass, it asks nothing of the database."""
        return f"{self._meta.verbose_name} {self.pk}"

    @classmethod
    def queue_name(cls) -> str:
        return cls.queue or cls._meta.app_label

    @property
    def is_open(self) -> bool:
        return self.status in self.OPEN_STATUSES

    @property
    def is_waiting(self) -> bool:
        return self.status == self.Status.WAITING

    @property
    def is_finished(self) -> bool:
        return self.status == self.Status.FINISHED

    @classmethod
    def whose_turn(cls) -> models.expressions.Combinable:
        """The owner whose turn a row uses: an account by its number, another owner by its number below zero."""
        asked_by = models.F("asked_by")
        if not cls.owner:
            return asked_by
        of_owner = models.When(asked_by=NOBODY, then=-models.F(cls.owner))
        return models.Case(of_owner, default=asked_by, output_field=models.BigIntegerField())

    @classmethod
    def status_constraint(cls, name: str) -> models.CheckConstraint:
        """For a subclass' `Meta.constraints`."""
        return models.CheckConstraint(
            condition=models.Q(status__in=list(cls.Status.values)), name=name
        )


class LivingWorker(models.Model):
    """A worker that takes jobs, for as long as it beats: `presence` writes and reads it."""

    name = models.CharField(max_length=200, unique=True)  # as `workers.Worker` writes it
    kinds = models.JSONField(help_text="Labels of the kinds of jobs that it takes.")
    started_at = models.DateTimeField(auto_now_add=True)
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Turn(models.Model):
    """The last turn of an owner: the higher the row's number, the more recently a worker took one of their jobs. No clock is asked."""

    person = models.BigIntegerField(
        db_index=True,
        help_text="Number of the account that asked for the job, or below zero of what nobody's job belongs to; 0 for none.",
    )

    def __str__(self) -> str:
        return f"{self.pk}: {self.person}"


class Chore(models.Model):
    """When a worker last did, and next does, something that is done once a day: `chores`."""

    name = models.CharField(max_length=200, unique=True)
    next_at = models.DateTimeField()
    done_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
