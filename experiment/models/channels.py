from typing import Self

from django.core.validators import RegexValidator
from django.db import models

from experiment.models.items import known
from experiment.models.participants import Participant
from experiment.models.studies import Study
from lib.name_fields import NameField

# The channel of links that name none
PLAIN = "plain"
is_code = RegexValidator(
    r"\A[a-z0-9][a-z0-9-]*\Z",
    "Use only small letters, digits and hyphens, because this is part of the link.",
)
is_parameter = RegexValidator(
    r"\A[A-Za-z][A-Za-z0-9_.-]*\Z",
    "Use only letters, digits, _, . and -, because this is part of the link.",
)
is_https = RegexValidator(
    r"\Ahttps://[^\x00-\x1f\x7f]*\Z", "The address must start with https:// and be one line."
)


def _address(label: object, help_text: object = "") -> models.CharField[str, str]:
    return models.CharField(
        label,  # type: ignore[arg-type]
        max_length=500,
        blank=True,
        validators=[is_https],
        help_text=help_text,  # type: ignore[arg-type]
    )


def _parameter(label: object) -> models.CharField[str, str]:
    return models.CharField(label, max_length=40, blank=True, validators=[is_parameter])  # type: ignore[arg-type]


class Channel(models.Model):
    """A way in which participants come to a study, and what they meet at its ends."""

    class Platform(models.TextChoices):
        PLAIN = "plain", "a plain link without IDs"
        PROLIFIC = "prolific", "Prolific"
        SONA = "sona", "SONA"
        MTURK = "mturk", "Mechanical Turk"
        OTHER = "other", "another panel"

    class Returns(models.TextChoices):
        RESUME = "resume", "continue where they left off, if the link names the same session"
        REFUSE = "refuse", "continue only with their own code"
        AGAIN = "again", "take part again; their trials are flagged"

    study = models.ForeignKey(Study, models.CASCADE, related_name="channels")
    code = NameField(
        "short name",
        max_length=20,
        validators=[is_code],
        help_text="Part of the link and of exports. Links without a channel belong to “plain”.",
    )
    label = NameField(
        "name", max_length=80, help_text="The consent page shows this name with the IDs."
    )
    platform = models.CharField(
        "they come from", max_length=10, choices=Platform, default=Platform.PLAIN
    )
    id_parameter = _parameter("parameter with the participant's ID")
    study_parameter = _parameter("parameter with the study's ID on that site")
    session_parameter = _parameter("parameter with the session's ID")
    completion_url = _address(
        "address after finishing",
        "{external_id} is replaced by the participant's ID on that site.",
    )
    completion_code = NameField("code after finishing", max_length=60, blank=True)
    screen_out_url = _address("address for participants who do not agree or are not admitted")
    screen_out_code = NameField(
        "code for participants who do not agree or are not admitted", max_length=60, blank=True
    )
    full_url = _address(
        "address after the target is reached",
        "If empty, the address for participants who are not admitted is used.",
    )
    full_code = NameField("code after the target is reached", max_length=60, blank=True)
    returns = models.CharField(
        "participants who return with a known ID may",
        max_length=10,
        choices=Returns,
        default=Returns.RESUME,
    )
    is_open = models.BooleanField("admits participants while the study is open", default=True)

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("study", "code"),
                name="channel_code_unique",
                violation_error_message="The study already has a channel with this short name.",
            ),
            known(
                "channel_platform_known", "platform", "plain", "prolific", "sona", "mturk", "other"
            ),
            known("channel_returns_known", "returns", "resume", "refuse", "again"),
            models.CheckConstraint(
                condition=~models.Q(platform="other") | ~models.Q(id_parameter=""),
                name="channel_of_panel_names_its_id",
                violation_error_message=(
                    "The link of another panel needs a parameter with the ID."
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.code} of {self.study_id}"


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
    """The id of a participant at the place that recruited them: apart from what they answered, and for a time.

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
        null=True, help_text="The last date on which it is kept, according to the consent text."
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
