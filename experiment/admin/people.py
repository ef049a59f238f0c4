"""What participants did, to read."""

from django.contrib import admin

from experiment.admin.read_only import ReadOnlyAdmin
from experiment.models import Judgment, Participant, Trial


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin[Participant]):
    list_display = (
        "public_id",
        "study",
        "kind",
        "stage",
        "position",
        "excluded_by",
        "flags",
        "last_seen_at",
    )
    list_filter = (("study", admin.RelatedOnlyFieldListFilter), "kind", "stage", "excluded_by")
    list_select_related = ("study",)
    search_fields = ("public_id",)


@admin.register(Trial)
class TrialAdmin(ReadOnlyAdmin[Trial]):
    list_display = ("participant", "position", "stratum", "item", "original_side", "shown_at")
    list_filter = (
        ("participant__study", admin.RelatedOnlyFieldListFilter),
        "participant__kind",
        "stratum",
    )
    list_select_related = ("participant", "item")
    search_fields = ("participant__public_id", "item__key")


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin[Judgment]):
    list_display = (
        "trial",
        "side",
        "correct",
        "confidence",
        "expertise",
        "recognised",
        "rt_ms",
        "excluded_by",
        "flags",
        "received_at",
    )
    list_filter = (
        ("trial__participant__study", admin.RelatedOnlyFieldListFilter),
        "trial__participant__kind",
        "trial__stratum",
        "excluded_by",
    )
    list_select_related = ("trial__participant",)
    search_fields = ("trial__participant__public_id", "trial__item__key")
