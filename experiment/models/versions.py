from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.domain.pay import Pay
from experiment.models.studies import ConsentVersion, Study


class StudyVersion(models.Model):
    """A study's rules, consent text, test cases and promised payment as they held from one moment on. It never changes.

    The first is made when the first real participant enters; before it, all of them may change freely. Rules and payment of the
    newest are those in the columns of the study: a trigger sees to it.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    reason = models.TextField(help_text="Empty in the first version.")
    rules = models.JSONField()
    pay = models.JSONField(default=dict, help_text="Amounts as texts. Empty: nothing was promised.")
    # Goes with the study only
    consent = models.ForeignKey(ConsentVersion, models.RESTRICT, null=True)
    items = models.JSONField(help_text="[key, version, SHA-256 of the text], by key.")
    items_sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ("study", "number")
        verbose_name = "version of the study"
        verbose_name_plural = "versions of the study"
        constraints = (
            models.UniqueConstraint(fields=("study", "number"), name="study_version_unique"),
            models.CheckConstraint(
                condition=models.Q(number=1) | (models.Q(number__gt=1) & ~models.Q(reason="")),
                name="study_version_has_reason",
            ),
        )

    def __str__(self) -> str:
        return f"{self.study} v{self.number}"

    @property
    def exclusion_rules(self) -> Rules:
        values: dict[str, Any] = self.rules
        return Rules(**values)

    @property
    def promised(self) -> Pay:
        """The promise to those who agreed under this version."""
        return Pay.from_dict(self.pay)
