from django.db import models

from experiment.models.studies import Study
from lib.jobs.models import Job


class RuleApplication(Job):
    """A study's present rules are applied again to all who finished, in the order of their keys."""

    runner = "experiment.services.reapplying.run"

    study = models.ForeignKey(Study, models.CASCADE, related_name="rule_applications")
    reached = models.BigIntegerField(default=0, help_text="The last participant who was decided.")
    participants = models.PositiveIntegerField("whose exclusion changed", default=0)
    trials = models.PositiveIntegerField("trials whose exclusion changed", default=0)

    class Meta:
        verbose_name = "application of rules"
        constraints = (
            Job.status_constraint("rule_application_status_known"),
            models.UniqueConstraint(
                fields=("study",),
                condition=models.Q(status__in=("waiting", "running")),
                name="one_open_rule_application",
            ),
        )

    @property
    def kind(self) -> str:
        """As addresses of work name it."""
        return self._meta.label_lower

    def __str__(self) -> str:
        return f"rules of {self.study}"
