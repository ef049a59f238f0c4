from django.conf import settings
from django.db import models
from django.urls import reverse

from experiment.models.research_fields import ResearchField
from lib.jobs.models import Job
from lib.name_fields import NameField


class ItemImport(Job):
    """A file of test cases that a worker brings into a field, as the person who sent it has seen it."""

    runner = "experiment.imports.store.job.run"

    research_field = models.ForeignKey(ResearchField, models.CASCADE, related_name="imports")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    upload = models.CharField(max_length=32, help_text="As kept_uploads names it.")
    shown = models.CharField(max_length=64, help_text="The fingerprint of the plan that was shown.")
    source = models.CharField(max_length=10)
    generator = NameField(max_length=80, blank=True)
    new_subfields = models.BooleanField(default=False)
    accepted_before = models.TextField(blank=True)
    n_created = models.PositiveIntegerField(default=0)
    n_updated = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name = "import of test cases"
        constraints = (Job.status_constraint("item_import_status_known"),)

    def __str__(self) -> str:
        return f"import {self.pk}"

    def get_absolute_url(self) -> str:
        return reverse("lab:import_job", args=[self.research_field.slug, self.pk])
