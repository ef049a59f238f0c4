"""The arms of a study: what differs between its participants. A study without arms gives everybody the same."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from experiment.domain.arms import MOST_SHARE
from experiment.domain.assignment import Stratum
from experiment.models.items import known
from experiment.models.studies import Study
from lib.name_fields import NameField

# Columns of an arm that stand in for those of the study, where they are not empty
COUNTS_OF_ARM = ("human_items", "machine_items", "question_items")
# What nobody changes once a real participant has entered
FIXED = (
    "share",
    "advice",
    "advised_items",
    *COUNTS_OF_ARM,
    "ratings_required",
    "subfields",
    "instructions",
    "debriefing",
)


class Arm(models.Model):
    """A group that participants are assigned to at consent; it differs from the study in what is not empty here."""

    class Advice(models.TextChoices):
        NONE = "none", "no advice"
        AFTER = "after", "after the participant's own choice, which may then be revised"
        BEFORE = "before", "next to the test case, before any choice"

    study = models.ForeignKey(Study, models.CASCADE, related_name="arms", db_index=False)
    number = models.PositiveSmallIntegerField(help_text="From 1, within the study.")
    name = NameField(max_length=60, help_text="Participants never see it.")
    share = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_SHARE)],
        help_text=(
            "Relative to the other arms: an arm with share 2 receives twice as many participants as an arm with share 1."
        ),
    )
    advice = models.CharField(max_length=6, choices=Advice, default=Advice.NONE)
    advised_items = models.PositiveSmallIntegerField(
        "test trials with advice",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="If empty, all of them.",
    )
    human_items = models.PositiveSmallIntegerField(
        "human-created test cases per participant", null=True, blank=True
    )
    machine_items = models.PositiveSmallIntegerField(
        "machine-created test cases per participant", null=True, blank=True
    )
    question_items = models.PositiveSmallIntegerField(
        "questions per participant", null=True, blank=True
    )
    ratings_required = models.BooleanField("both ratings must be given", null=True, blank=True)
    subfields = models.JSONField(
        default=list, blank=True, help_text="Of test cases; empty for all."
    )

    instructions = models.TextField(
        blank=True,
        help_text="Shown on the page before the first trial, after the built-in text.",
    )
    debriefing = models.TextField(
        "why this study exists",
        blank=True,
        help_text="Shown with the results. If empty, as in the study.",
    )

    class Meta:
        ordering = ("study", "number")
        constraints = (
            models.UniqueConstraint(fields=("study", "number"), name="arm_number_unique"),
            models.UniqueConstraint(
                fields=("study", "name"),
                name="arm_name_unique",
                violation_error_message="The study already has an arm with this name.",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="arm_number_from_1"),
            models.CheckConstraint(
                condition=Q(share__range=(1, MOST_SHARE)), name="arm_share_range"
            ),
            known("arm_advice_known", "advice", "none", "after", "before"),
            models.CheckConstraint(
                condition=Q(advised_items=None) | (Q(advised_items__gte=1) & ~Q(advice="none")),
                name="arm_advised_items_of_advice",
                violation_error_message="An arm without advice has no test trials with advice.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"

    def clean(self) -> None:
        super().clean()
        given = self.subfields
        if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
            raise ValidationError({"subfields": "This is not a list of names."})

    @property
    def is_advised(self) -> bool:
        return self.advice != self.Advice.NONE


def trial_counts(study: Study, arm: Arm | None) -> dict[Stratum, int]:
    """Trials per participant by stratum, in this arm of the study."""
    if arm is None:
        return study.trial_counts
    given = {name: getattr(arm, name) for name in COUNTS_OF_ARM}
    of_arm = Study(
        catch_items=study.catch_items,
        **{name: getattr(study, name) if n is None else n for name, n in given.items()},
    )
    return of_arm.trial_counts


def ratings_required(study: Study, arm: Arm | None) -> bool:
    """True if participants in this arm must give both ratings."""
    own = None if arm is None else arm.ratings_required
    return study.ratings_required if own is None else own
