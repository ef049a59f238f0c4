import secrets
import uuid
from datetime import datetime

from django.db import models
from django.db.models import Q

from experiment.models.items import Item
from experiment.models.studies import ConsentVersion, Study
from experiment.querysets import JudgmentQuerySet, ParticipantQuerySet

SIDE_CHOICES = (("A", "A"), ("B", "B"))
# Without letters and digits that are mistaken for one another when copied by hand.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def new_seed() -> int:
    return secrets.randbits(62)


def new_withdrawal_code() -> str:
    """Twelve characters (59 bits) in groups of four: hard to guess, easy to copy."""
    code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(12))
    return "-".join(code[i : i + 4] for i in range(0, 12, 4))


class Participant(models.Model):
    """A person who agreed to take part in one study. Created at consent: before it nothing is stored."""

    class Kind(models.TextChoices):
        REAL = "real", "real"
        PILOT = "pilot", "pilot"
        SIMULATED = "simulated", "simulated"
        IMPORTED = "imported", "imported"

    class Stage(models.TextChoices):
        DEMOGRAPHICS = "demographics", "about you"
        PRACTICE = "practice", "practice"
        TRIAL = "trial", "trials"
        DEBRIEF = "debrief", "debrief"
        FINISHED = "finished", "finished"
        WITHDRAWN = "withdrawn", "withdrawn"

    ENDED = (Stage.FINISHED, Stage.WITHDRAWN)

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    enrollment_key = models.UUIDField(
        null=True,
        unique=True,
        editable=False,
        help_text="Makes copies of one consent form one participant; secret.",
    )
    study = models.ForeignKey(Study, models.PROTECT, related_name="participants")
    kind = models.CharField(max_length=10, choices=Kind)
    stage = models.CharField(max_length=12, choices=Stage, default=Stage.DEMOGRAPHICS)
    position = models.PositiveSmallIntegerField(
        default=1, help_text="The trial they are on, from 1."
    )
    page_reached = models.PositiveSmallIntegerField(default=0)
    policy = models.CharField(max_length=10, choices=Study.Policy, default=Study.Policy.BALANCED)
    seed = models.BigIntegerField(default=new_seed)
    plan = models.JSONField(default=list, help_text="[stratum, side of the original] per position.")
    demographics = models.JSONField(default=dict)
    external_source = models.CharField(max_length=20, blank=True)
    external_id = models.CharField(max_length=128, blank=True)
    external_study_id = models.CharField(max_length=128, blank=True)
    external_session_id = models.CharField(max_length=128, blank=True)
    consent_version = models.ForeignKey(ConsentVersion, models.PROTECT, null=True)
    consent_hash = models.CharField(max_length=64, blank=True)
    consented_at = models.DateTimeField(null=True)
    demographics_at = models.DateTimeField(null=True)
    practice_attempts = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True, help_text="When the first trial was shown.")
    debriefed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    cheated = models.BooleanField(null=True)
    comments = models.TextField(blank=True)
    withdrawal_code = models.CharField(max_length=20, default=new_withdrawal_code, unique=True)
    excluded_by = models.CharField(
        max_length=200, blank=True, help_text="Reason codes, joined by spaces."
    )
    flags = models.CharField(max_length=200, blank=True)

    objects = ParticipantQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(kind__in=("real", "pilot", "simulated", "imported")),
                name="participant_kind_known",
            ),
            models.CheckConstraint(
                condition=Q(
                    stage__in=(
                        "demographics",
                        "practice",
                        "trial",
                        "debrief",
                        "finished",
                        "withdrawn",
                    )
                ),
                name="participant_stage_known",
            ),
            models.CheckConstraint(
                condition=Q(kind="imported") | Q(consented_at__isnull=False),
                name="participant_consented",
            ),
        )
        indexes = (
            models.Index(
                fields=("study", "kind", "stage", "last_seen_at"), name="participant_live"
            ),
            models.Index(fields=("study", "external_id"), name="participant_external"),
        )

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def has_ended(self) -> bool:
        return self.stage in self.ENDED

    @property
    def n_trials(self) -> int:
        return len(self.plan)


class Trial(models.Model):
    """One item shown, or about to be shown, to one participant."""

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="trials")
    position = models.PositiveSmallIntegerField()
    stratum = models.CharField(max_length=10)
    item = models.ForeignKey(Item, models.PROTECT, related_name="trials")
    original_side = models.CharField(
        max_length=1,
        choices=SIDE_CHOICES,
        blank=True,
        help_text="Empty where an import does not say.",
    )
    token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    drawn_at = models.DateTimeField(null=True)
    shown_at = models.DateTimeField(null=True)
    draw = models.JSONField(
        default=dict, help_text="Scores and key of the draw: enough to replay it."
    )

    class Meta:
        ordering = ("participant", "position")
        constraints = (
            models.UniqueConstraint(
                fields=("participant", "position"), name="trial_position_unique"
            ),
            models.UniqueConstraint(fields=("participant", "item"), name="trial_item_unique"),
            models.CheckConstraint(condition=Q(position__gte=1), name="trial_position_from_1"),
            models.CheckConstraint(
                condition=Q(original_side__in=("", "A", "B")), name="trial_side_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.participant} #{self.position}"


class Judgment(models.Model):
    """A participant's answer to a trial. There is at most one; it never changes."""

    trial = models.OneToOneField(Trial, models.CASCADE, related_name="judgment")
    idempotency_key = models.UUIDField(null=True)
    side = models.CharField(max_length=1, choices=SIDE_CHOICES, blank=True)
    correct = models.BooleanField()
    confidence = models.PositiveSmallIntegerField(null=True)
    expertise = models.PositiveSmallIntegerField(null=True)
    confidence_moved = models.BooleanField()
    expertise_moved = models.BooleanField()
    recognised = models.BooleanField(null=True)
    rt_choice_ms = models.PositiveBigIntegerField(null=True)
    rt_ms = models.PositiveBigIntegerField(null=True)
    changes = models.PositiveIntegerField(null=True)
    blur_count = models.PositiveIntegerField(null=True)
    hidden_ms = models.PositiveBigIntegerField(null=True)
    reloads = models.PositiveIntegerField(null=True)
    viewport_width = models.PositiveIntegerField(null=True)
    viewport_height = models.PositiveIntegerField(null=True)
    received_at = models.DateTimeField(null=True)
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
            models.CheckConstraint(
                condition=Q(side__in=("", "A", "B")), name="judgment_side_known"
            ),
        )

    def __str__(self) -> str:
        return str(self.trial)

    @property
    def server_ms(self) -> int | None:
        """The server's own time from showing the trial to receiving the answer."""
        shown: datetime | None = self.trial.shown_at
        if shown is None or self.received_at is None:
            return None
        return max(0, round((self.received_at - shown).total_seconds() * 1000))

    @property
    def timed_ms(self) -> int | None:
        """`rt_ms`, or the server's time where the browser could not measure."""
        return self.server_ms if self.rt_ms is None else self.rt_ms
