from django.conf import settings
from django.db import models
from django.db.models import Q

from experiment.domain.paying import Reason
from experiment.models.channels import MAX_EXTERNAL_ID, Channel
from experiment.models.items import known
from experiment.models.participants import Participant
from experiment.models.studies import Study

REASONS = tuple(reason.value for reason in Reason)


class PaymentBatch(models.Model):
    """A list of payments of one channel, as a researcher gave it to the recruitment site. It can be downloaded again, unchanged."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="payment_batches")
    number = models.PositiveIntegerField()
    channel = models.CharField(max_length=20, help_text="Its short name, as participants have it.")
    platform = models.CharField(max_length=10, choices=Channel.Platform)
    reason = models.CharField(max_length=20)  # of Reason
    made_at = models.DateTimeField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)

    class Meta:
        ordering = ("study", "-number")
        verbose_name = "list of payments"
        verbose_name_plural = "lists of payments"
        constraints = (
            models.UniqueConstraint(fields=("study", "number"), name="payment_batch_unique"),
            known("payment_batch_reason_known", "reason", *REASONS),
        )

    def __str__(self) -> str:
        return f"payments {self.number} of {self.study_id}"


class PaymentLine(models.Model):
    """A payment to one person for one reason: in a batch, or owed to somebody who withdrew and not in one yet.

    It keeps the ID as long as consent said, apart from the answers: `participant` is empty once they withdrew. Two constraints see
    to it that nobody is paid twice for one reason, also under an ID with which they came again.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="payment_lines", db_index=False)
    batch = models.ForeignKey(PaymentBatch, models.CASCADE, null=True, related_name="lines")
    participant = models.ForeignKey(
        Participant, models.SET_NULL, null=True, related_name="payment_lines", db_index=False
    )
    channel = models.CharField(max_length=20)
    source = models.CharField(max_length=20)
    external_id = models.CharField(
        max_length=MAX_EXTERNAL_ID, blank=True, help_text="Empty once its day is past."
    )
    external_study_id = models.CharField(max_length=MAX_EXTERNAL_ID, blank=True)
    external_session_id = models.CharField(max_length=MAX_EXTERNAL_ID, blank=True)
    until = models.DateField(null=True, help_text="The last date on which the IDs are kept.")
    reason = models.CharField(max_length=20)  # of Reason
    amount = models.DecimalField(max_digits=11, decimal_places=2)
    unit = models.CharField(max_length=10, blank=True, help_text="A currency, or credits.")
    note = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ("pk",)
        verbose_name = "payment"
        constraints = (
            models.UniqueConstraint(
                fields=("study", "source", "external_id", "reason"),
                condition=~Q(external_id=""),
                name="payment_once_by_id",
            ),
            models.UniqueConstraint(
                fields=("participant", "reason"),
                condition=Q(participant__isnull=False),
                name="payment_once_by_participant",
            ),
            known("payment_reason_known", "reason", *REASONS),
            models.CheckConstraint(condition=Q(amount__gte=0), name="payment_not_negative"),
        )
        indexes = (
            models.Index(fields=("study", "channel"), name="payment_of_study"),
            models.Index(fields=("until",), name="payment_until"),
        )

    def __str__(self) -> str:
        return f"payment {self.pk}"
