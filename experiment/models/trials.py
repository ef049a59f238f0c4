import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Self

from django.db import models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Coalesce

from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import believed_ms
from experiment.domain.export_columns import TRANSLATED
from experiment.models.items import Item, known
from experiment.models.participants import Participant
from experiment.models.studies import Study

if TYPE_CHECKING:
    from experiment.models.advice import AdvisedTrial

SIDE_CHOICES = (("A", "A"), ("B", "B"))


class Trial(models.Model):
    """One item shown, or about to be shown, to one participant."""

    # The first column of trial_position_unique
    participant = models.ForeignKey(
        Participant, models.CASCADE, related_name="trials", db_index=False
    )
    position = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=10)
    item = models.ForeignKey(Item, models.PROTECT, related_name="trials")
    original_side = models.CharField(
        max_length=1,
        choices=SIDE_CHOICES,
        blank=True,
        help_text="Empty if an import does not contain it.",
    )
    token = models.UUIDField(default=uuid.uuid4, editable=False)
    drawn_at = models.DateTimeField(null=True)
    shown_at = models.DateTimeField(null=True)
    draw = models.BinaryField(default=b"", help_text="A packed DrawRecord; empty for imports.")

    class Meta:
        ordering = ("participant", "position")
        constraints = (
            models.UniqueConstraint(
                fields=("participant", "position"), name="trial_position_unique"
            ),
            models.UniqueConstraint(fields=("participant", "item"), name="trial_item_unique"),
            models.CheckConstraint(condition=Q(position__gte=1), name="trial_position_from_1"),
            known("trial_side_known", "original_side", "", "A", "B"),
        )

    def __str__(self) -> str:
        return f"{self.participant} #{self.position}"

    @property
    def is_question(self) -> bool:
        return self.stratum == QUESTION

    @property
    def given_advice(self) -> "AdvisedTrial | None":
        """The advice that was given in it, where `advised.note_shown` has read it; None for all who are in no arm."""
        if self.participant.arm_id is None:
            return None
        return getattr(self, "advised", None)


# Of a time that is longer than 24 days, a column holds so much
MOST_STORED_MS = 2**31 - 1


def server_ms(shown_at: datetime | None, received_at: datetime | None) -> int | None:
    """The server's own time from showing a trial to receiving its answer, in milliseconds.

    None where its clock was set back meanwhile: nothing was measured then, and nobody is too fast for it.
    """
    if shown_at is None or received_at is None or received_at < shown_at:
        return None
    return min(round((received_at - shown_at).total_seconds() * 1000), MOST_STORED_MS)


# In queries, `Judgment.own_time` and `Judgment.own_server_ms`
OWN_RECEIVED_AT = Coalesce("trial__advised__first_received_at", "received_at")
OWN_RT_MS = Coalesce("trial__advised__first_rt_ms", "rt_ms")
OWN_SERVER_MS = Coalesce("trial__advised__first_server_ms", "server_ms")


def believed(browser_ms: str, server_ms: str) -> Case:
    """In queries, `exclusion.believed_ms` of these columns."""
    is_less = Q(**{f"{server_ms}__lt": F(browser_ms)})
    return Case(When(is_less, F(server_ms)), default=F(browser_ms))


class JudgmentQuerySet(models.QuerySet["Judgment"]):
    def of(self, study: Study, kind: str) -> Self:
        return self.filter(trial__participant__study=study, trial__participant__kind=kind)

    def valid(self) -> Self:
        """Judgments that count as exposures: not excluded, of a finished participant who is not excluded."""
        return self.filter(
            excluded_by="",
            trial__participant__excluded_by="",
            trial__participant__stage=Participant.Stage.FINISHED,
        )


class Judgment(models.Model):
    """A participant's answer to a trial. There is at most one; it never changes."""

    trial = models.OneToOneField(Trial, models.CASCADE, related_name="judgment")
    idempotency_key = models.UUIDField(null=True)
    side = models.CharField(max_length=1, choices=SIDE_CHOICES, blank=True)
    correct = models.BooleanField(
        null=True, help_text="Empty for a question: its answer is graded."
    )
    confidence = models.PositiveSmallIntegerField(null=True)
    expertise = models.PositiveSmallIntegerField(null=True)
    confidence_moved = models.BooleanField()
    expertise_moved = models.BooleanField()
    recognised = models.BooleanField(null=True)
    rt_choice_ms = models.PositiveIntegerField(null=True)
    rt_final_choice_ms = models.PositiveIntegerField(null=True)
    rt_ms = models.PositiveIntegerField(null=True)
    confidence_first_ms = models.PositiveIntegerField(null=True)
    confidence_last_ms = models.PositiveIntegerField(null=True)
    expertise_first_ms = models.PositiveIntegerField(null=True)
    expertise_last_ms = models.PositiveIntegerField(null=True)
    changes = models.PositiveIntegerField(null=True)
    aid_switches = models.PositiveIntegerField(null=True)
    blur_count = models.PositiveIntegerField(null=True)
    hidden_ms = models.PositiveIntegerField(null=True)
    reloads = models.PositiveIntegerField(null=True)
    viewport_width = models.PositiveIntegerField(null=True)
    viewport_height = models.PositiveIntegerField(null=True)
    translated = models.CharField(
        max_length=4, blank=True, help_text="Empty if the browser did not measure it."
    )
    received_at = models.DateTimeField(null=True)
    server_ms = models.PositiveIntegerField(
        null=True,
        help_text=(
            "From showing the trial to receiving the answer. Empty if unknown: rules then go by the browser's times."
        ),
    )
    excluded_by = models.CharField(max_length=200, blank=True)
    flags = models.CharField(max_length=200, blank=True)
    source_record = models.JSONField(default=dict, help_text="An import's row as it was found.")

    objects = JudgmentQuerySet.as_manager()

    class Meta:
        ordering = ("trial",)
        constraints = (
            models.CheckConstraint(
                condition=Q(confidence__isnull=True) | Q(confidence__range=(1, 100)),
                name="judgment_confidence_range",
            ),
            models.CheckConstraint(
                condition=Q(expertise__isnull=True) | Q(expertise__range=(1, 100)),
                name="judgment_expertise_range",
            ),
            known("judgment_side_known", "side", "", "A", "B"),
            known("judgment_translated_known", "translated", "", *TRANSLATED),
        )

    def __str__(self) -> str:
        return str(self.trial)

    @property
    def elapsed_ms(self) -> int | None:
        return server_ms(self.trial.shown_at, self.received_at)

    @property
    def timed_ms(self) -> int | None:
        """`rt_ms`, or the server's time where the browser could not measure, or reports more."""
        return self.elapsed_ms if self.rt_ms is None else believed_ms(self.rt_ms, self.server_ms)

    @property
    def own_time(self) -> tuple[int | None, datetime | None]:
        """Until the participant's own answer, before advice where some followed: the browser's time, and when it came."""
        advised = getattr(self.trial, "advised", None)
        if advised is None or not advised.first_side:
            return self.rt_ms, self.received_at
        ms = self.rt_ms if advised.first_rt_ms is None else advised.first_rt_ms
        return ms, advised.first_received_at or self.received_at

    @property
    def own_ms(self) -> int | None:
        ms, received_at = self.own_time
        return server_ms(self.trial.shown_at, received_at) if ms is None else ms

    @property
    def own_server_ms(self) -> int | None:
        """The time on the server until the participant's own answer, as `own_time`."""
        advised = getattr(self.trial, "advised", None)
        first_ms = None if advised is None else advised.first_server_ms
        return self.server_ms if first_ms is None else first_ms
