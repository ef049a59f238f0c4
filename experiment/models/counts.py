"""Counters of what would else be counted from all of a study's rows, at every draw and on every page of the lab.

`services/counting.py` changes these in the transaction that changes the rows, and can count them anew.
"""

from django.db import models
from django.db.models import Q

from experiment.models.items import Item
from experiment.models.participants import Participant
from experiment.models.studies import Study


def _arm_number() -> models.PositiveSmallIntegerField[int, int]:
    return models.PositiveSmallIntegerField(
        default=0, help_text="Of the participants' arm; 0 where they have none."
    )


class ItemCount(models.Model):
    """How often people of one kind, in one arm, were given, and judged, one of a study's items.

    `assigned` counts everybody's trials; `judged` and `valid` those of participants who are settled.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="item_counts", db_index=False)
    kind = models.CharField(max_length=10, choices=Participant.Kind)
    item = models.ForeignKey(Item, models.CASCADE, related_name="counts")
    stratum = models.CharField(max_length=10)
    arm_number = _arm_number()
    assigned = models.PositiveIntegerField(default=0)
    judged = models.PositiveIntegerField(default=0)
    valid = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("study", "kind", "item", "arm_number"), name="item_count_unique"
            ),
        )

    def __str__(self) -> str:
        return f"{self.study} {self.kind} {self.item}"


class PeopleCount(models.Model):
    """How many of a study's settled participants of one kind and arm ended in the same way, after the same page.

    untouched_..., fast_...: of finishers, what other readings of two rules would leave out (services/overview.py).
    """

    class Fate(models.TextChoices):
        LEFT = "left", "left"
        FINISHED = "finished", "finished"
        WITHDRAWN = "withdrawn", "withdrawn before the end"
        WITHDRAWN_FINISHED = "finished_withdrawn", "withdrawn after the end"

    study = models.ForeignKey(Study, models.CASCADE, related_name="people_counts", db_index=False)
    kind = models.CharField(max_length=10, choices=Participant.Kind)
    fate = models.CharField(max_length=20, choices=Fate)
    page = models.PositiveSmallIntegerField(help_text="The furthest page, from 0.")
    excluded_by = models.CharField(max_length=200, blank=True)
    arm_number = _arm_number()
    n = models.PositiveIntegerField(default=0)
    untouched_neither = models.PositiveIntegerField(default=0)
    untouched_either = models.PositiveIntegerField(default=0)
    fast_page = models.PositiveIntegerField(default=0, help_text="Trials.")
    fast_choice = models.PositiveIntegerField(default=0, help_text="Trials.")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("study", "kind", "fate", "page", "excluded_by", "arm_number"),
                name="people_count_unique",
            ),
        )

    def __str__(self) -> str:
        return f"{self.study} {self.kind} {self.fate} {self.page}"


class DataRevision(models.Model):
    """Raised whenever a settled participant's data change: what was computed under the same number still holds.

    Its row is also what changes of the counters wait for, so that they happen one after the other.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="revisions", db_index=False)
    kind = models.CharField(max_length=10, choices=Participant.Kind)
    number = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("study", "kind"), name="data_revision_unique"),
            models.CheckConstraint(condition=Q(number__gte=1), name="data_revision_from_1"),
        )

    def __str__(self) -> str:
        return f"{self.study} {self.kind} {self.number}"
