"""Participants by pseudonym, and whom rules leave out. Recruitment ids, comments and codes are not here."""

from typing import Any

from django.db.models import Q
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.request import Request

from experiment.api.access import StudyTable
from experiment.domain.exclusion import NOT_FINISHED, PARTICIPANT_REASONS, WITHDRAWN
from experiment.domain.roles import Right
from experiment.models import Participant
from experiment.models.participants import ParticipantQuerySet
from experiment.services import audit
from experiment.services.counts import default_kind
from experiment.services.export.values import DEMOGRAPHICS, reasons_of
from lib.api import pages, parameters
from lib.api.views import TableQuery

KIND = "Kind of participants. Usually, the study has only one kind."
REASONS = [reason.code for reason in PARTICIPANT_REASONS if reason is not WITHDRAWN]
EXCLUDED = ~Q(excluded_by="") | ~Q(stage=Participant.Stage.FINISHED)


class PersonQuery(TableQuery):
    ordering = pages.Ordering(entered=("id",))
    kind = serializers.ChoiceField(choices=Participant.Kind.values, required=False, help_text=KIND)


class PersonTable(StudyTable):
    """`excluded_by` is what the trials' export says: rules are applied at the finish."""

    access = Right.EXPORT

    def people(self) -> ParticipantQuerySet:
        kind = self.query.get("kind") or default_kind(self.study)
        everyone = Participant.objects.of(self.study, kind).select_related("consent_version")
        return everyone.exclude(stage=Participant.Stage.WITHDRAWN)

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().get(request, *args, **kwargs)
        if "cursor" not in self.query:  # once for all its pages
            audit.record(
                audit.Action.EXPORTED,
                by=self.token.user,
                study=self.study,
                query=self.asked(),
                format=self.query["format"],
            )
        return response

    def serialise(self, rows: list[Any]) -> list[dict[str, Any]]:
        for person in rows:
            person.excluded_by = reasons_of(person.excluded_by, person.stage)
        return super().serialise(rows)


class ParticipantSerializer(serializers.ModelSerializer[Participant]):
    participant = serializers.UUIDField(source="public_id")
    recruitment_source = serializers.CharField(source="external_source")
    consent_version = serializers.IntegerField(
        source="consent_version.number", default=None, allow_null=True
    )

    class Meta:
        model = Participant
        fields = [
            "participant",
            "kind",
            "stage",
            "position",
            "recruitment_source",
            "published_id",
            "consent_version",
            "consented_at",
            "practice_attempts",
            "started_at",
            "finished_at",
            "cheated",
            "policy",
            "excluded_by",
            "flags",
        ]

    def get_fields(self) -> dict[str, Any]:
        told = {
            column: serializers.CharField(
                source=f"demographics.{name}",
                default=None,
                allow_null=True,
                help_text="Null if not asked or not answered.",
            )
            for column, name in DEMOGRAPHICS.items()
        }
        return super().get_fields() | told


class ParticipantsQuery(PersonQuery):
    stage = serializers.ChoiceField(
        choices=[s for s in Participant.Stage.values if s != Participant.Stage.WITHDRAWN],
        required=False,
    )
    valid = parameters.Flag(
        required=False, help_text="Whether the participant has finished and is not excluded."
    )


class Participants(PersonTable):
    """Participants, by pseudonym. A row joins trials by `participant`."""

    table = "participants"
    query_class = ParticipantsQuery
    result_class = ParticipantSerializer

    def rows(self) -> pages.Rows:
        people = self.people()
        if "stage" in self.query:
            people = people.filter(stage=self.query["stage"])
        if "valid" in self.query:
            people = people.filter(~EXCLUDED if self.query["valid"] else EXCLUDED)
        return people


class ExclusionSerializer(serializers.ModelSerializer[Participant]):
    participant = serializers.UUIDField(source="public_id")
    excluded_by = serializers.CharField(help_text="Codes of reasons, joined by spaces.")

    class Meta:
        model = Participant
        fields = ["participant", "kind", "stage", "excluded_by", "flags", "finished_at"]


class ExclusionsQuery(PersonQuery):
    reason = serializers.ChoiceField(choices=REASONS, required=False)


class Exclusions(PersonTable):
    """Participants whom a rule leaves out, and why. Single trials: `trials/?reason=...`."""

    table = "exclusions"
    query_class = ExclusionsQuery
    result_class = ExclusionSerializer

    def rows(self) -> pages.Rows:
        people = self.people().filter(EXCLUDED)
        match self.query.get("reason"):
            case None:
                return people
            case NOT_FINISHED.code:
                return people.exclude(stage=Participant.Stage.FINISHED)
            case code:
                return people.filter(excluded_by__contains=code)
