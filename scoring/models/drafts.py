"""Test cases that a language model was asked to draft, and everything that it answered."""

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from experiment.domain.item_checks.findings import Finding, Level
from experiment.models import Item
from lib.name_fields import NameField
from scoring.models.generating import ModelAnswer, WritingJob


class DraftingRun(WritingJob):
    """A model alters abstracts of one field; what it makes of them are drafts, which people decide on."""

    runner = "scoring.services.drafting.runs.run"

    repairs = models.PositiveSmallIntegerField(
        default=3, help_text=_("How often the model is told what is wrong with its text.")
    )

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("drafting run")
        constraints = (WritingJob.status_constraint("drafting_run_status_known"),)

    def __str__(self) -> str:
        return f"drafts for {self.field} by {self.model_name}"

    def get_absolute_url(self) -> str:
        return reverse("lab:drafting_run", args=[self.field.slug, self.pk])


class GeneratedDraft(models.Model):
    """An abstract of a run, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DRAFTED = "drafted", _("drafted")
        UNREPAIRED = "unrepaired", _("not repaired")
        DECLINED = "declined", _("no answer")
        TAKEN = "taken", _("taken over by a person")
        DISMISSED = "dismissed", _("refused by a person")

    run = models.ForeignKey(DraftingRun, models.CASCADE, related_name="drafts")
    row = models.PositiveIntegerField(help_text=_("In the source, from 1."))
    abstract = models.TextField()
    subfield = NameField(max_length=80, blank=True)
    doi = NameField(max_length=200, blank=True)
    publication_date = models.DateField(null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    markup = models.TextField(blank=True, help_text=_("The best text that the model made."))
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
        """What the checks said of it; places in a text that is not kept alone are not kept either."""
        return [Finding(**{**found, "level": Level(found["level"])}) for found in self.problems]
