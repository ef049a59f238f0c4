import secrets
import uuid
from datetime import datetime, timedelta
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from experiment.domain import withdrawal_code
from experiment.domain.assignment import QUESTION
from experiment.models.arms import Arm
from experiment.models.items import known
from experiment.models.studies import ConsentVersion, Study

FIRST_TRIAL_PAGE = 3


def new_seed() -> int:
    return secrets.randbits(62)


class ParticipantQuerySet(models.QuerySet["Participant"]):
    def of(self, study: Study, kind: str) -> Self:
        return self.filter(study=study, kind=kind)

    def under_way(self) -> Self:
        """Those who are neither at an end nor known to have left: few, however many took part before."""
        return self.filter(Participant.UNDER_WAY)

    def live(self, study: Study, now: datetime) -> Self:
        return self.under_way().filter(last_seen_at__gte=study.live_since(now))

    def silent(self, study: Study, now: datetime) -> Self:
        """Those who should be known to have left."""
        return self.under_way().filter(last_seen_at__lt=study.live_since(now))

    def finished(self) -> Self:
        return self.filter(stage=Participant.Stage.FINISHED)

    def with_code(self, code: str) -> Self:
        return self.filter(code_digest=withdrawal_code.digest(code, settings.WITHDRAWAL_KEY))

    def beginning(self, pseudonym: str) -> Self:
        """Those whose pseudonym begins with these hexadecimal digits, with or without hyphens."""
        begin = pseudonym.replace("-", "")
        low, high = uuid.UUID(begin.ljust(32, "0")), uuid.UUID(begin.ljust(32, "f"))
        return self.filter(public_id__range=(low, high))

    def valid(self) -> Self:
        return self.finished().filter(excluded_by="")


class Participant(models.Model):
    """A person who agreed to take part in one study. Created at consent: before it nothing is stored."""

    class Kind(models.TextChoices):
        REAL = "real", "real"
        PILOT = "pilot", "pilot"
        SIMULATED = "simulated", "simulated"
        IMPORTED = "imported", "imported"

    class Stage(models.TextChoices):
        DEMOGRAPHICS = "demographics", "about you"
        SURVEY_BEFORE = "asked_before", "survey questions before the trials"
        PRACTICE = "practice", "practice"
        START = "start", "before the trials"
        TRIAL = "trial", "trials"
        SURVEY_AFTER = "asked_after", "survey questions after the trials"
        DEBRIEF = "debrief", "debrief"
        FINISHED = "finished", "finished"
        WITHDRAWN = "withdrawn", "withdrawn"

    ENDED = (Stage.FINISHED, Stage.WITHDRAWN)
    # Its first two are the condition of an index, and hold no value that only the query's parameters say: SQLite, and a plan
    # that PostgreSQL keeps for other values too, can use it
    UNDER_WAY = Q(
        left_at__isnull=True,
        finished_at__isnull=True,
        stage__in=(
            Stage.DEMOGRAPHICS,
            Stage.SURVEY_BEFORE,
            Stage.PRACTICE,
            Stage.START,
            Stage.TRIAL,
            Stage.SURVEY_AFTER,
            Stage.DEBRIEF,
        ),
    )

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
    position = models.PositiveSmallIntegerField(default=1, help_text="The current trial, from 1.")
    page_reached = models.PositiveSmallIntegerField(default=0)
    policy = models.CharField(max_length=10, choices=Study.Policy, default=Study.Policy.BALANCED)
    seed = models.BigIntegerField(default=new_seed)
    plan = models.JSONField(default=list, help_text="[stratum, side of the original] per position.")
    arm = models.ForeignKey(
        Arm,
        models.PROTECT,
        related_name="participants",
        null=True,
        db_index=False,
        help_text="Empty in a study without arms.",
    )
    arm_draw = models.JSONField(
        null=True,
        help_text="Reproduces the assignment to the arm, with the seed.",
    )
    cell = models.CharField(
        max_length=40,
        blank=True,
        help_text="The group of their answer, in a study that forms groups.",
    )
    screened_out_at = models.DateTimeField(
        null=True, help_text="When they were not admitted because their group was complete."
    )
    demographics = models.JSONField(default=dict)
    external_source = models.CharField(
        max_length=20,
        blank=True,
        help_text="The recruitment site; it does not identify a person.",
    )
    published_id = models.CharField(
        max_length=128, blank=True, help_text="An imported person's name in the published data."
    )
    consent_version = models.ForeignKey(ConsentVersion, models.PROTECT, null=True)
    consent_hash = models.CharField(max_length=64, blank=True)
    consented_at = models.DateTimeField(null=True)
    demographics_at = models.DateTimeField(null=True)
    place_until = models.DateTimeField(
        null=True,
        editable=False,
        help_text=(
            "Until when they hold a place without having answered a trial. Empty once they have, and where no address was known."
        ),
    )
    practice_attempts = models.PositiveIntegerField(default=0)
    # The answer before the practice's example of advice, until the practice is passed; of no analysis and no export
    practice_first: models.JSONField[Any, Any] = models.JSONField(null=True, editable=False)
    started_at = models.DateTimeField(null=True, help_text="When the first trial was shown.")
    debriefed_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(null=True)
    left_at = models.DateTimeField(
        null=True,
        help_text=(
            "When an inactive participant counted as having left; empty again after a return."
        ),
    )
    cheated = models.BooleanField(null=True)
    comments = models.TextField(blank=True)
    # docs/decisions/0019-withdrawal-codes.md
    code_digest = models.CharField(max_length=64, null=True, unique=True, editable=False)
    sealed_code = models.CharField(max_length=20, blank=True, editable=False)
    is_anonymous = models.BooleanField(
        default=False, help_text="Whether everything that could identify the person was removed."
    )
    excluded_by = models.CharField(
        max_length=200, blank=True, help_text="Reason codes, joined by spaces."
    )
    flags = models.CharField(max_length=200, blank=True)

    objects = ParticipantQuerySet.as_manager()

    class Meta:
        ordering = ("id",)
        constraints = (
            known("participant_kind_known", "kind", "real", "pilot", "simulated", "imported"),
            known(
                "participant_stage_known",
                "stage",
                "demographics",
                "asked_before",
                "practice",
                "start",
                "trial",
                "asked_after",
                "debrief",
                "finished",
                "withdrawn",
            ),
            models.CheckConstraint(
                condition=Q(kind="imported") | Q(consented_at__isnull=False),
                name="participant_consented",
            ),
        )
        indexes = (
            models.Index(
                fields=("study", "kind"),
                name="participant_under_way",
                condition=Q(left_at__isnull=True, finished_at__isnull=True),
            ),
            # services/watching/people.py: a page of them, of those who left, and of those whom a rule leaves out
            models.Index(fields=("study", "kind", "id"), name="participant_list"),
            models.Index(
                fields=("study", "kind", "id"),
                name="participant_left",
                condition=Q(left_at__isnull=False),
            ),
            models.Index(
                fields=("study", "kind", "id"),
                name="participant_excluded",
                condition=~Q(excluded_by=""),
            ),
            # services/participant_kinds.py, published_elsewhere
            models.Index(
                fields=("published_id",), name="participant_published", condition=Q(kind="imported")
            ),
            # services/overview.py, recent_comments
            models.Index(
                fields=("study", "kind", "finished_at"),
                name="participant_comments",
                condition=~Q(comments="") & Q(finished_at__isnull=False),
            ),
            # services/duration.py, study_duration
            models.Index(
                fields=("study", "kind", "finished_at"),
                name="participant_valid",
                condition=Q(stage="finished", excluded_by=""),
            ),
        )

    def __str__(self) -> str:
        return str(self.public_id)

    def give_code(self, code: str) -> None:
        """Have this as the participant's own code; it cannot be read without the site's key."""
        key = settings.WITHDRAWAL_KEY
        self.code_digest = withdrawal_code.digest(code, key)
        self.sealed_code = withdrawal_code.seal(code, key, self.public_id.hex)

    @property
    def withdrawal_code(self) -> str:
        """The participant's own code, for their pages alone; empty where none was given, or the key is another."""
        key = settings.WITHDRAWAL_KEY
        code = withdrawal_code.unseal(self.sealed_code, key, self.public_id.hex)
        return code if withdrawal_code.digest(code, key) == self.code_digest else ""

    @property
    def arm_number(self) -> int:
        """The number of their arm, as the counters name it; 0 where they have none."""
        return 0 if self.arm is None else self.arm.number

    @property
    def pseudonym(self) -> str:
        """As pages call the participant: how the public id begins."""
        return str(self.public_id)[:8]

    @property
    def time_unit(self) -> str:
        """The unit to which services/withdrawal.py cut their times; empty where they are whole."""
        if self.is_anonymous:
            return "month"
        return "day" if self.stage == self.Stage.WITHDRAWN else ""

    @property
    def has_ended(self) -> bool:
        return self.stage in self.ENDED

    @property
    def n_trials(self) -> int:
        return len(self.plan)

    @property
    def n_questions(self) -> int:
        return sum(stratum == QUESTION for stratum, _ in self.plan)

    @property
    def judges_abstracts(self) -> bool:
        return self.n_questions < self.n_trials

    @property
    def trial_position(self) -> int | None:
        """The position of the trial whose page they are on; None on any other page."""
        return self.position if self.stage == self.Stage.TRIAL else None

    @property
    def page_number(self) -> int:
        """The page they are on, in order from 0: demographics, practice, start, the trials, debrief, the end.

        A page of survey questions counts with the one beside it: drop-out and balance read numbers that studies share.
        """
        return {
            self.Stage.DEMOGRAPHICS: 0,
            self.Stage.SURVEY_BEFORE: 0,
            self.Stage.PRACTICE: 1,
            self.Stage.START: 2,
            self.Stage.TRIAL: FIRST_TRIAL_PAGE + self.position - 1,
            self.Stage.SURVEY_AFTER: FIRST_TRIAL_PAGE + self.n_trials,
            self.Stage.DEBRIEF: FIRST_TRIAL_PAGE + self.n_trials,
            self.Stage.FINISHED: FIRST_TRIAL_PAGE + self.n_trials + 1,
        }[self.Stage(self.stage)]

    @property
    def n_pages(self) -> int:
        """Pages they can be on without having finished."""
        return FIRST_TRIAL_PAGE + self.n_trials + 1

    def may_resume(self, now: datetime) -> bool:
        """True if a return now goes on where they were."""
        seen = self.last_seen_at
        return seen is not None and now - seen <= timedelta(hours=self.study.resume_hours)

    def is_asked(self, position: int) -> bool:
        """True if a question stands at this place of their plan."""
        return 0 < position <= self.n_trials and self.plan[position - 1][0] == QUESTION
