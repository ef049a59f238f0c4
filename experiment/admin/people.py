"""The administration: curators' test cases, studies, and what participants did, to read."""

from typing import Any, Generic, TypeVar

from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from experiment.admin.items import ItemAdmin
from experiment.admin.studies import StudyAdmin
from experiment.lab.forms import AdminSignInForm
from experiment.models import Item, Judgment, Participant, Study, Trial

RowT = TypeVar("RowT", bound=Model)

admin.site.site_header = "BrainBench Live"
admin.site.site_title = "BrainBench Live"
admin.site.index_title = _("Administration")
admin.site.site_url = "/lab/"
# One page to sign in, the lab's; the admin's own is for those signed in without being staff.
admin.site.login_form = AdminSignInForm
admin.site.login = login_required(admin.site.login)  # type: ignore[method-assign]

admin.site.register(Item, ItemAdmin)
admin.site.register(Study, StudyAdmin)


class ReadOnlyAdmin(admin.ModelAdmin[RowT], Generic[RowT]):
    """What participants did is looked at here and changed nowhere; rows of a researcher's own studies only."""

    actions = None
    study_path = ""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[RowT]:
        visible = Study.objects.visible_to(request.user)
        return super().get_queryset(request).filter(**{f"{self.study_path}__in": visible})


@admin.register(Participant)
class ParticipantAdmin(ReadOnlyAdmin[Participant]):
    study_path = "study"
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
    search_fields = ("public_id", "external_id", "=withdrawal_code")
    # Whoever holds the code may erase the answers: it is for the participant alone.
    exclude = ("withdrawal_code",)


@admin.register(Trial)
class TrialAdmin(ReadOnlyAdmin[Trial]):
    study_path = "participant__study"
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
    study_path = "trial__participant__study"
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
