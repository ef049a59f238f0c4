from urllib.parse import parse_qs

from django.db import models

from experiment.domain.export_form import Form
from experiment.domain.export_form import parse as parse_form
from experiment.models.studies import Study
from lib.jobs.models import Job


class TrialExport(Job):
    """An export of trials that a worker makes; its file is in the storage `results`.

    `query` and what `format` says ask for it. `key` names the data at the request, `state` those that the file holds: the
    data when the worker began. Files are a cache: they can be made again, and the oldest go.
    """

    runner = "experiment.services.export.jobs.run"

    study = models.ForeignKey(Study, models.CASCADE, related_name="exports")
    query = models.TextField(help_text="As TrialQuery.encode writes it.")
    format = models.CharField(max_length=40, help_text="As Form.encode writes it.")
    key = models.CharField(max_length=64)
    state = models.CharField(max_length=64, blank=True)
    rows = models.PositiveIntegerField(default=0)
    manifest = models.JSONField(default=dict)
    used_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("study", "format", "key"), name="one_export_per_key"),
            Job.status_constraint("export_status_known"),
        )

    def __str__(self) -> str:
        return f"{self.query} {self.format}"

    @property
    def path(self) -> str:
        """Where the file lies in the storage; equal paths, equal bytes."""
        return f"exports/{self.study_id}/{self.state}{self.form.suffix}"

    @property
    def form(self) -> Form:
        return parse_form(parse_qs(self.format))
