from django.conf import settings
from django.db import models

from lib.jobs.models import Job


class PublishedImport(Job):
    """An import of published data that an administrator asked for; `lines` say what it did."""

    runner = "scoring.imports.work.run"

    folder = models.CharField(max_length=200, help_text="Its name below IMPORTS_DIR.")
    slug = models.CharField("study", max_length=60)
    texts = models.CharField(max_length=20)
    lines = models.JSONField(default=list, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)

    class Meta:
        verbose_name = "import"
        ordering = ("-pk",)
        constraints = (Job.status_constraint("import_status_known"),)

    def __str__(self) -> str:
        return f"{self.folder} for {self.slug}"
