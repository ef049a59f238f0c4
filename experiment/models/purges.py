from django.conf import settings
from django.db import models
from django.urls import reverse

from experiment.models.studies import Study
from lib.jobs.models import Job


class Purge(Job):
    """Past a study's day, a worker makes its participants' answers anonymous, some at a time; `done` counts participants."""

    runner = "experiment.services.retention.run"

    study = models.ForeignKey(Study, models.CASCADE, related_name="purges")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            Job.status_constraint("purge_status_known"),
            models.UniqueConstraint(
                fields=("study",),
                condition=models.Q(status__in=("waiting", "running")),
                name="one_open_purge",
            ),
        )

    def __str__(self) -> str:
        return "personal data past their day"

    def get_absolute_url(self) -> str:
        return reverse("lab:privacy", args=[self.study.slug])
