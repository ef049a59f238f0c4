"""What the jobs share that have a language model write, and what their answers share."""

from decimal import Decimal
from pathlib import PurePosixPath

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.models import ResearchField
from lib.jobs.models import Job
from scoring.domain.generating import Finish, Prices, Usage


class Kind(models.TextChoices):
    CHAT = "chat", _("chat server")
    HF = "hf", _("model in this process")
    EMBEDDED = "embedded", _("demonstration model (shows that all is in place)")
    EXACT = "exact", _("exact match (a judge that shows that all is in place)")
    IMPORTED = "imported", _("imported")


class GeneratingJob(Job):
    """A language model is asked, one message after the other; `model_args` are those of the generator."""

    generator = models.CharField(max_length=10, choices=Kind)
    model_args = models.JSONField(default=dict, blank=True)
    instructions = models.TextField(
        help_text=_("What the model is told, before places are filled in.")
    )
    prompt_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    completion_price = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    budget_tokens = models.PositiveBigIntegerField(null=True, blank=True)
    budget_money = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)
    fingerprint = models.CharField(max_length=64, db_index=True, editable=False)
    identity = models.JSONField(default=dict, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )

    class Meta:
        abstract = True

    @property
    def model_name(self) -> str:
        """On the server; of a folder, its last two parts."""
        folder = PurePosixPath(self.model_args.get("pretrained", ""))
        parts = "/".join(folder.parts[-2:]).lstrip("/")
        return str(self.model_args.get("model") or parts or self.generator)

    @property
    def prices(self) -> Prices | None:
        """Of a million tokens read and written; None where they were not given."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return Prices(Decimal(self.prompt_price), Decimal(self.completion_price))


class WritingJob(GeneratingJob):
    """About one field of research."""

    field = models.ForeignKey(ResearchField, models.CASCADE, related_name="+")

    class Meta:
        abstract = True


class ModelAnswer(models.Model):
    """What a model answered, as it came, and what it took. It stays as it is, unless it failed and is asked for again."""

    # The turns before this answer that are not those of an earlier one
    messages = models.JSONField(default=list)
    text = models.TextField(blank=True)
    finish = models.CharField(max_length=10, choices=[(f.value, f.value) for f in Finish])
    detail = models.TextField(blank=True, help_text=_("Why there is no whole answer."))
    model = models.CharField(max_length=200, blank=True, help_text=_("As the server calls it."))
    request = models.JSONField(default=dict)
    prompt_tokens = models.PositiveBigIntegerField(null=True)
    completion_tokens = models.PositiveBigIntegerField(null=True)
    seconds = models.FloatField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

    @property
    def usage(self) -> Usage | None:
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return Usage(self.prompt_tokens, self.completion_tokens)
