from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from experiment.models.participants import Participant
from experiment.models.studies import Study

MAX_EXTERNAL_ID = 128


class RecruitmentRecordQuerySet(models.QuerySet["RecruitmentRecord"]):
    def of(self, study: Study, kind: str) -> Self:
        return self.filter(study=study, participant__kind=kind)

    def of_same(self, record: "RecruitmentRecord") -> Self:
        """Those of the person whom this one names, in the same study."""
        return self.filter(
            study=record.study_id, source=record.source, external_id=record.external_id
        )


class RecruitmentRecord(models.Model):
    """Who a participant is at the place that recruited them: apart from what they answered, and for a time.

    Who came by a plain link has none; the row goes when its day is past, or when the participant withdraws.
    """

    participant = models.OneToOneField(Participant, models.CASCADE, related_name="recruitment")
    # The participant's; the first column of recruitment_who
    study = models.ForeignKey(Study, models.CASCADE, related_name="+", db_index=False)
    source = models.CharField(max_length=20)
    external_id = models.CharField(max_length=MAX_EXTERNAL_ID)
    external_study_id = models.CharField(max_length=MAX_EXTERNAL_ID, blank=True)
    external_session_id = models.CharField(max_length=MAX_EXTERNAL_ID, blank=True)
    until = models.DateField(
        null=True, help_text=_("The last day on which it is kept, as consent said.")
    )

    objects = RecruitmentRecordQuerySet.as_manager()

    class Meta:
        ordering = ("participant",)
        indexes = (
            models.Index(fields=("study", "source", "external_id"), name="recruitment_who"),
            models.Index(fields=("until",), name="recruitment_until"),
        )

    def __str__(self) -> str:
        return f"recruitment of {self.participant_id}"
