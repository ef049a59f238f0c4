"""Survey questions: what a study team asks its participants before or after the trials, and what they answered."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from experiment.domain import survey
from experiment.domain.survey import COLUMN, LONGEST_TEXT
from experiment.models.arms import Arm
from experiment.models.items import known
from experiment.models.participants import Participant
from experiment.models.studies import Study

# What nobody changes once somebody has answered it, or a real participant has entered
FIXED = (
    "place",
    "arm_id",
    "advised_only",
    "kind",
    "name",
    "text",
    "parts",
    "required",
)


def kinds() -> list[tuple[str, str]]:
    """As choices of a column: a function, so that a new kind needs no migration."""
    return [(kind.name, kind.label) for kind in survey.KINDS.values()]


class SurveyQuestion(models.Model):
    """One question of a survey page; `parts` are those of its kind (`domain/survey.py`)."""

    class Place(models.TextChoices):
        BEFORE = "before", "before the trials"
        AFTER = "after", "after the trials"

    study = models.ForeignKey(
        Study, models.CASCADE, related_name="survey_questions", db_index=False
    )
    number = models.PositiveSmallIntegerField(help_text="Its position among the study's questions.")
    place = models.CharField(max_length=6, choices=Place, default=Place.BEFORE)
    arm = models.ForeignKey(
        Arm,
        models.CASCADE,
        related_name="survey_questions",
        null=True,
        blank=True,
        help_text="If empty, participants in all arms are asked.",
    )
    advised_only = models.BooleanField(
        default=False, help_text="Whether only participants in arms with advice are asked."
    )
    kind = models.CharField(max_length=20, choices=kinds)
    name = models.CharField(
        max_length=40,
        validators=[
            RegexValidator(
                rf"\A{survey.NAME.pattern}\Z",
                "Use lower-case letters, digits and underscores; begin with a letter.",
            )
        ],
        help_text="In exports, the column is named survey_ followed by this name.",
    )
    text = models.TextField("question", max_length=LONGEST_TEXT)
    parts: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    required = models.BooleanField("an answer is required", default=True)

    class Meta:
        ordering = ("study", "number", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study", "name"),
                name="survey_question_name_unique",
                violation_error_message="The study already has a question with this name.",
            ),
            known("survey_question_place_known", "place", "before", "after"),
            models.CheckConstraint(
                condition=Q(arm=None) | Q(advised_only=False), name="survey_question_one_scope"
            ),
        )

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"

    def clean(self) -> None:
        super().clean()
        if self.kind not in survey.KINDS:
            return
        parts = self.parts if isinstance(self.parts, dict) else {"": self.parts}
        if fault := survey.fault_of(self.kind, parts):
            raise ValidationError({"parts": fault.sentence})

    @property
    def column(self) -> str:
        return f"{COLUMN}{self.name}"

    @property
    def levels(self) -> tuple[str, ...]:
        return self.rules.levels(self.parts)

    @property
    def rules(self) -> survey.Kind:
        """The rules of its kind."""
        return survey.KINDS[self.kind]

    def is_for(self, arm: Arm | None) -> bool:
        """True if participants in this arm are asked."""
        if self.advised_only:
            return arm is not None and arm.is_advised
        return self.arm_id is None or (arm is not None and arm.pk == self.arm_id)


class SurveyAnswer(models.Model):
    """A participant's answer: a label, the point of a scale, a number or words, as text. Nothing without an answer."""

    participant = models.ForeignKey(
        Participant, models.CASCADE, related_name="survey_answers", db_index=False
    )
    question = models.ForeignKey(SurveyQuestion, models.CASCADE, related_name="answers")
    value = models.TextField()
    received_at = models.DateTimeField()

    class Meta:
        ordering = ("participant", "question")
        constraints = (
            models.UniqueConstraint(
                fields=("participant", "question"), name="survey_answered_once"
            ),
            models.CheckConstraint(condition=~Q(value=""), name="survey_answer_not_empty"),
        )

    def __str__(self) -> str:
        return f"{self.participant}: {self.question}"
