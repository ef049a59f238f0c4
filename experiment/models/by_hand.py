"""Participants whom a person excluded, and why."""

from django.conf import settings
from django.db import models

from experiment.domain.exclusion import HAND_REASONS
from experiment.models.participants import Participant


def hand_reasons() -> list[tuple[str, str]]:
    return list(HAND_REASONS.items())


class ExcludedByHand(models.Model):
    """Says why a person excluded a finished participant; deleted once that is taken back.

    The participant's `excluded_by` holds the code as long as there is such a row. The words can say who somebody is: no export has
    them, and they go where the participant's own words go.
    """

    participant = models.OneToOneField(Participant, models.CASCADE, related_name="excluded_by_hand")
    reason = models.CharField(max_length=20, choices=hand_reasons)
    words = models.TextField(blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name = "exclusion by hand"
        verbose_name_plural = "exclusions by hand"

    def __str__(self) -> str:
        return f"{self.participant}: {self.reason}"

    @property
    def why(self) -> str:
        """The reason in words; its code, where this version does not know it."""
        return HAND_REASONS.get(self.reason, self.reason)
