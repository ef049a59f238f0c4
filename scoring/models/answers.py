"""What language models answer to a study's questions."""

from typing import Any

from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from experiment.models import Item, Study
from scoring.models.generating import GeneratingJob, ModelAnswer
from scoring.models.language_models import LanguageModel


class AnsweringRun(GeneratingJob):
    """A model answers a study's questions; `instructions` is the system prompt, `items` are the questions, in order.

    Its answers belong to the questions, as scores do to test cases.
    """

    runner = "scoring.services.answering.run"

    study = models.ForeignKey(Study, models.CASCADE, related_name="answering_runs")
    language_model = models.ForeignKey(LanguageModel, models.PROTECT, related_name="answering_runs")
    items = models.JSONField(default=list)
    is_simulated = models.BooleanField(
        _("simulated"), default=False, help_text=_("Made up, to show what results look like.")
    )

    class Meta:
        ordering = ("-pk",)
        verbose_name = _("answering run")
        constraints = (GeneratingJob.status_constraint("answering_run_status_known"),)

    def __str__(self) -> str:
        return f"answers of {self.language_model} to {self.study}"

    def get_absolute_url(self) -> str:
        return reverse("lab:answering_run", args=[self.study.slug, self.pk])


class Answer(ModelAnswer):
    """A model's answer to a question, in whatever state it came."""

    run = models.ForeignKey(AnsweringRun, models.CASCADE, related_name="answers")
    item = models.ForeignKey(Item, models.PROTECT, related_name="answers")
    # As the server sent it; empty for a model in this process and an import
    raw: models.JSONField[Any, Any] = models.JSONField(default=dict, blank=True)
    # 0 to 100, as people's; of answers made elsewhere, where the file says it
    confidence = models.FloatField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("run", "pk")
        constraints = (models.UniqueConstraint(fields=("run", "item"), name="answer_unique"),)

    def __str__(self) -> str:
        return f"{self.run.language_model}: {self.item}"
