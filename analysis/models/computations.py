from django.db import models

from experiment.models import Study
from lib.jobs.models import Job

MAX_STEP = 200


class Computation(Job):
    """A report or a trial of teams: computed in the background, and stored in the storage `results` once it is finished.

    `key` names study, options, data and code that it is computed from: equal keys, equal results. The stored result is a
    cache; it can be computed again, and the oldest go.
    """

    runner = "analysis.services.compute.run"
    may_ask = ""
    owner = "study_id"

    class Kind(models.TextChoices):
        REPORT = "report", "report"
        TEAMS = "teams", "teams"

    study = models.ForeignKey(Study, models.CASCADE, related_name="computations")
    kind = models.CharField(max_length=10, choices=Kind)
    key = models.CharField(max_length=64)
    options = models.JSONField()
    step = models.CharField(max_length=MAX_STEP, blank=True)  # what is being computed
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "key"], name="one_computation_per_key"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=list(Job.Status.values)),
                name="computation_status_known",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}, {self.key[:8]}"

    @property
    def folder(self) -> str:
        """Where the result lies in the storage."""
        return f"{self.kind}/{self.study_id}/{self.key}"
