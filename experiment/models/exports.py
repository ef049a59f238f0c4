from django.db import models

from experiment.models.participants import Participant
from experiment.models.studies import Study
from lib.jobs.models import Job


class TrialExport(Job):
    """An export of trials that a worker makes; its file is in the storage `results`.

    `key` names the data at the request, `state` those that the file holds: the data when the worker began. Files are a
    cache: they can be made again, and the oldest go.
    """

    runner = "experiment.services.export_jobs.run"

    study = models.ForeignKey(Study, models.CASCADE, related_name="exports")
    kind = models.CharField(max_length=10, choices=Participant.Kind)
    set_name = models.CharField(max_length=10)
    key = models.CharField(max_length=64)
    state = models.CharField(max_length=64, blank=True)
    rows = models.PositiveIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("study", "kind", "set_name", "key"), name="one_export_per_key"
            ),
            Job.status_constraint("export_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.set_name} trials of {self.kind} participants, {self.study_id}"

    @property
    def path(self) -> str:
        """Where the file lies in the storage; equal paths, equal bytes."""
        return f"exports/{self.study_id}/{self.kind}-{self.set_name}-{self.state}.csv"
