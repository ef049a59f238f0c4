"""An adviser of a study, what it says of each test case, and the trials in which participants saw it."""

from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from experiment.domain.advice import ADVISERS, PLANTED, percent, rating
from experiment.models.items import Item, known
from experiment.models.studies import Study
from experiment.models.trials import SIDE_CHOICES, Trial
from lib.name_fields import NameField


def kinds() -> list[tuple[str, str]]:
    """As choices of a column: a function, so that a new kind needs no migration."""
    return list(ADVISERS.items())


class Adviser(models.Model):
    """The source of the choices that participants of advised arms see. Once frozen, what it says of a test case never changes.

    source: names what is asked: a model as reports name it, several joined by " + ", or a kind of participants; empty for
    planted advice.
    version: what the frozen rows come from: runs, method, seed, fit and digest, as the service that froze them says.
    """

    JOINT = " + "

    class Shows(models.TextChoices):
        CHOICE = "choice", "its choice"
        # A scale that participants have: 1 to 100, as they rate their own confidence
        RATING = "rating", "its choice, and how sure it is from 1 to 100, as participants rate"
        # Of advisers that were set before RATING was there; the pages of studies under way do not change
        PERCENT = "percent", "its choice, and how sure it is in percent, 50 to 100"
        WORDS = "words", "its choice, and how sure it is in words"

    study = models.OneToOneField(Study, models.CASCADE, related_name="adviser")
    kind = models.CharField(max_length=20, choices=kinds)
    source = NameField(max_length=2_200, blank=True)
    shown_name = NameField(
        "name that participants see",
        max_length=80,
        help_text="As within a sentence, such as “a language model”.",
    )
    shows = models.CharField(
        "what participants see", max_length=10, choices=Shows, default=Shows.RATING
    )
    shows_passages = models.BooleanField("show the passages that counted most", default=False)
    planted_accuracy = models.FloatField(
        "share of test cases with correct advice",
        null=True,
        blank=True,
        validators=[MinValueValidator(0.5), MaxValueValidator(1)],
    )
    frozen_at = models.DateTimeField(null=True, editable=False)
    version: models.JSONField[Any, Any] = models.JSONField(default=dict, editable=False)

    class Meta:
        constraints = (
            known("adviser_shows_known", "shows", "choice", "rating", "percent", "words"),
            models.CheckConstraint(
                # Of an empty value a range says neither yes nor no, and a constraint would let it pass
                condition=Q(
                    kind="planted",
                    planted_accuracy__isnull=False,
                    planted_accuracy__range=(0.5, 1),
                )
                | (~Q(kind="planted") & Q(planted_accuracy=None)),
                name="adviser_planted_accuracy",
            ),
        )

    def __str__(self) -> str:
        return f"{self.study}: {self.source or self.kind}"

    @property
    def members(self) -> list[str]:
        """The models of a team."""
        return self.source.split(self.JOINT)

    @property
    def is_planted(self) -> bool:
        return self.kind == PLANTED

    @property
    def shows_confidence(self) -> bool:
        return self.shows != self.Shows.CHOICE

    @property
    def shows_rating(self) -> bool:
        return self.shows == self.Shows.RATING

    @property
    def shows_words(self) -> bool:
        return self.shows == self.Shows.WORDS


class Advice(models.Model):
    """The advice of an adviser about one test case.

    p_chosen: probability that this choice is right. passages: for each alternation, in order, its share of the evidence,
    from -1 (all of it against the choice) to 1; empty where it is not known.
    """

    adviser = models.ForeignKey(Adviser, models.CASCADE, related_name="advice", db_index=False)
    item = models.ForeignKey(Item, models.PROTECT, related_name="advice")
    picks_original = models.BooleanField()
    p_chosen = models.FloatField()
    passages: models.JSONField[Any, Any] = models.JSONField(default=list)

    class Meta:
        ordering = ("adviser", "item")
        constraints = (
            models.UniqueConstraint(fields=("adviser", "item"), name="advice_once"),
            models.CheckConstraint(
                condition=Q(p_chosen__range=(0.5, 1)), name="advice_p_chosen_range"
            ),
        )

    def __str__(self) -> str:
        return f"{self.adviser}: {self.item}"


class AdvisedTrial(models.Model):
    """The advice that a participant was given in a trial, and the own answer before it. The judgment is the answer after it.

    p_shown: how sure the adviser was said to be; empty where only its choice was shown. shown_at: when the page with the
    advice was first sent. viewed_ms: for how long the page with it was read, until Continue.
    token: of the page with the advice, procedure `after` alone. It exists once the first answer is stored, as all columns
    do whose names begin with first_, which are those of a judgment; first_more holds its other measures.
    """

    class Procedure(models.TextChoices):
        AFTER = "after", "after the participant's own answer"
        BEFORE = "before", "together with the abstract"

    trial = models.OneToOneField(Trial, models.CASCADE, related_name="advised")
    procedure = models.CharField(max_length=6, choices=Procedure)
    advice_side = models.CharField(max_length=1, choices=SIDE_CHOICES)
    p_shown = models.FloatField(null=True)
    shown_at = models.DateTimeField(null=True)
    viewed_ms = models.PositiveIntegerField(null=True)
    token = models.UUIDField(null=True, unique=True, editable=False)
    first_key = models.UUIDField(null=True, editable=False)
    first_side = models.CharField(max_length=1, choices=SIDE_CHOICES, blank=True)
    first_confidence = models.PositiveSmallIntegerField(null=True)
    first_confidence_moved = models.BooleanField(null=True)
    first_expertise = models.PositiveSmallIntegerField(null=True)
    first_recognised = models.BooleanField(null=True)
    first_rt_ms = models.PositiveIntegerField(null=True)
    first_rt_choice_ms = models.PositiveIntegerField(null=True)
    first_changes = models.PositiveIntegerField(null=True)
    first_more: models.JSONField[Any, Any] = models.JSONField(default=dict)
    first_received_at = models.DateTimeField(null=True)
    first_server_ms = models.PositiveIntegerField(null=True)

    class Meta:
        ordering = ("trial",)
        constraints = (
            known("advised_procedure_known", "procedure", "after", "before"),
            known("advised_side_known", "advice_side", "A", "B"),
            models.CheckConstraint(
                condition=Q(procedure="after", first_side__in=("A", "B"))
                | Q(procedure="before", first_side=""),
                name="advised_after_first_answer",
            ),
            models.CheckConstraint(
                condition=Q(p_shown=None) | Q(p_shown__range=(0.5, 1)), name="advised_p_shown_range"
            ),
            models.CheckConstraint(
                condition=Q(first_confidence=None) | Q(first_confidence__range=(1, 100)),
                name="advised_first_confidence_range",
            ),
            models.CheckConstraint(
                condition=Q(first_expertise=None) | Q(first_expertise__range=(1, 100)),
                name="advised_first_expertise_range",
            ),
            models.CheckConstraint(
                condition=Q(shown_at=None)
                | Q(first_received_at=None)
                | Q(shown_at__gte=F("first_received_at")),
                name="advised_shown_after_first_answer",
            ),
        )

    def __str__(self) -> str:
        return str(self.trial)

    @property
    def percent_shown(self) -> int | None:
        return None if self.p_shown is None else percent(self.p_shown)

    @property
    def rating_shown(self) -> int | None:
        return None if self.p_shown is None else rating(self.p_shown)

    @property
    def viewed_seconds(self) -> float | None:
        return None if self.viewed_ms is None else self.viewed_ms / 1000

    @property
    def advice_is_right(self) -> bool:
        return self.advice_side == self.trial.original_side

    @property
    def first_correct(self) -> bool | None:
        return self.first_side == self.trial.original_side if self.first_side else None
