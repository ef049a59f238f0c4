"""Test cases that a language model was asked to draft or to review, and everything that it answered."""

from django.conf import settings
from django.db import models
from django.urls import reverse

from experiment.domain.item_checks.findings import Finding, Level
from experiment.models import Item, Review
from lib.name_fields import NameField
from scoring.models.answers import ModelAnswer, WritingJob


class DraftingRun(WritingJob):
    """A model alters abstracts of one field; what it makes of them are drafts, which people decide on."""

    runner = "scoring.services.drafting.runs.run"

    repairs = models.PositiveSmallIntegerField(
        default=3, help_text="Maximum number of corrections by the model."
    )

    class Meta:
        ordering = ("-pk",)
        verbose_name = "drafting run"
        constraints = (WritingJob.status_constraint("drafting_run_status_known"),)

    def __str__(self) -> str:
        return f"drafts for {self.field} by {self.model_name}"

    def get_absolute_url(self) -> str:
        return reverse("lab:drafting_run", args=[self.field.slug, self.pk])


class GeneratedDraft(models.Model):
    """An abstract of a run, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DRAFTED = "drafted", "drafted"
        UNREPAIRED = "unrepaired", "not repaired"
        DECLINED = "declined", "no answer"
        TAKEN = "taken", "taken over by a person"
        DISMISSED = "dismissed", "rejected by a person"

    run = models.ForeignKey(DraftingRun, models.CASCADE, related_name="drafts")
    row = models.PositiveIntegerField(help_text="Row in the source, from 1.")
    abstract = models.TextField()
    subfield = NameField(max_length=80, blank=True)
    doi = NameField(max_length=200, blank=True)
    publication_date = models.DateField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    markup = models.TextField(blank=True, help_text="The best text of the model.")
    item = models.ForeignKey(
        Item, models.SET_NULL, related_name="generated_drafts", null=True, blank=True
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        ordering = ("run", "row")
        constraints = (
            models.UniqueConstraint(fields=("run", "row"), name="generated_draft_row_unique"),
            models.CheckConstraint(
                condition=models.Q(
                    state__in=("waiting", "drafted", "unrepaired", "declined", "taken", "dismissed")
                ),
                name="generated_draft_state_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.run}, row {self.row}: {self.state}"


class DraftAttempt(ModelAnswer):
    """An answer to an abstract, or to what was wrong with the answer before; `problems` are the checks' findings."""

    draft = models.ForeignKey(GeneratedDraft, models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    problems = models.JSONField(default=list)

    class Meta:
        ordering = ("draft", "number")
        constraints = (
            models.UniqueConstraint(fields=("draft", "number"), name="draft_attempt_unique"),
        )

    def __str__(self) -> str:
        return f"{self.draft}, attempt {self.number}"

    @property
    def findings(self) -> list[Finding]:
        """The findings of the checks; places in a text that is not kept alone are not kept either."""
        return [Finding(**{**found, "level": Level(found["level"])}) for found in self.problems]


class ReviewingRun(WritingJob):
    """A model reviews test cases of one field that are in review; `items` are their rows, in order."""

    runner = "scoring.services.model_reviews.run"

    items = models.JSONField(default=list)

    class Meta:
        ordering = ("-pk",)
        verbose_name = "review by a model"
        constraints = (WritingJob.status_constraint("reviewing_run_status_known"),)

    def __str__(self) -> str:
        return f"review of {self.field} by {self.model_name}"

    def get_absolute_url(self) -> str:
        return reverse("lab:drafting", args=[self.field.slug])


class ModelReview(ModelAnswer):
    """A model's verdict on a version's text, for the text with this hash only; no verdict where it gave none."""

    run = models.ForeignKey(ReviewingRun, models.CASCADE, related_name="reviews")
    item = models.ForeignKey(Item, models.CASCADE, related_name="model_reviews")
    sha256 = models.CharField(max_length=64)
    verdict = models.CharField(max_length=10, choices=Review.Verdict, blank=True)
    reasons = models.TextField(blank=True)

    class Meta:
        ordering = ("item", "pk")
        constraints = (
            models.UniqueConstraint(fields=("run", "item"), name="model_review_unique"),
            models.CheckConstraint(
                condition=models.Q(verdict__in=("", "accept", "revise", "refuse")),
                name="model_review_verdict_known",
            ),
        )

    def __str__(self) -> str:
        return f"{self.item} by {self.run.model_name}: {self.verdict}"


class ItemScreening(models.Model):
    """How hard a language model finds a text that is not in use yet; for leads, never for reviewers before their verdict."""

    item = models.ForeignKey(Item, models.CASCADE, related_name="screenings")
    sha256 = models.CharField(max_length=64)
    model = models.CharField(max_length=200)
    prompt = models.CharField(max_length=10)
    ppl_original = models.FloatField()
    ppl_altered = models.FloatField()
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("item", "model")
        constraints = (
            models.UniqueConstraint(
                fields=("item", "sha256", "model", "prompt"), name="item_screening_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.item} by {self.model}"

    @property
    def difficulty(self) -> float:
        """PPL(altered) - PPL(original): below 0 where the model prefers the altered text."""
        return self.ppl_altered - self.ppl_original
