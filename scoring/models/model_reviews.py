"""What language models say of test cases that are in review: a second opinion, which decides nothing."""

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from experiment.models import Item, Review
from scoring.models.generating import ModelAnswer, WritingJob


class ReviewingRun(WritingJob):
    """A model reviews test cases of one field that are in review; `items` are their rows, in order."""

    runner = "scoring.services.model_reviews.run"

    items = models.JSONField(default=list)

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("review by a model")
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
