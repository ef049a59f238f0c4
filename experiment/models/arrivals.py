"""How many began from one address; services/arrivals.py says what for."""

from django.db import models

from experiment.models.studies import Study


class Arrivals(models.Model):
    """How many participants began from one address in ten minutes of the clock, from `since` on; deleted a day later.

    The address cannot be read from the key, and no participant's row names it.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="arrivals", db_index=False)
    key = models.CharField(max_length=64)
    since = models.DateTimeField(db_index=True)
    n = models.PositiveIntegerField()
    n_links = models.PositiveIntegerField(
        default=0, help_text="Those who came by a link with an ID of a recruitment site."
    )

    class Meta:
        verbose_name_plural = "arrivals"
        constraints = (
            models.UniqueConstraint(fields=("study", "key", "since"), name="arrivals_unique"),
        )

    def __str__(self) -> str:
        return f"{self.study} {self.since:%Y-%m-%d %H:%M}"
