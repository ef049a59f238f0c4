"""Researchers set up their studies: texts, test cases and rules."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from experiment.admin.forms import StudyForm
from experiment.lab.access import user_of
from experiment.models import ConsentVersion, Study, StudyVersion
from experiment.models.studies import RULE_COLUMNS
from experiment.services import audit
from experiment.services.study_setup import readiness_problems
from experiment.services.study_versions import revise

REVISED = {"consent_text", "pinned_items", "reason", *RULE_COLUMNS.values()}  # events of their own


class ConsentInline(admin.TabularInline[ConsentVersion, Study]):
    """Every wording there was, to read."""

    model = ConsentVersion
    fields = ("number", "created_at", "text")
    readonly_fields = fields
    ordering = ("-number",)
    extra = 0
    can_delete = False
    verbose_name_plural = _("consent texts so far")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class VersionInline(admin.TabularInline[StudyVersion, Study]):
    """What changed since real participants entered, and why."""

    model = StudyVersion
    fields = ("number", "created_at", "made_by", "reason", "rules")
    readonly_fields = fields
    ordering = ("-number",)
    extra = 0
    can_delete = False
    verbose_name_plural = _("versions of rules, consent and test cases so far")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class StudyAdmin(admin.ModelAdmin[Study]):
    form = StudyForm
    list_display = ("slug", "title", "state", "target_valid", "lab_page", "is_demo")
    list_filter = ("recruitment", "is_demo")
    search_fields = ("slug", "title")
    view_on_site = False
    inlines = (ConsentInline, VersionInline)
    fieldsets = (
        (None, {"fields": ("title", "slug", "lab_page", "preview", "recruitment", "contact")}),
        (
            _("Texts"),
            {
                "fields": (
                    ("language", "abstract_language"),
                    "briefing",
                    "consent_text",
                    "debriefing",
                    "demographic_fields",
                    "field",
                )
            },
        ),
        (
            _("Ethics approval"),
            {"fields": (("ethics_number", "ethics_body"), "ethics_contact")},
        ),
        (
            _("What a participant gets"),
            {
                "fields": (
                    ("human_items", "machine_items", "catch_items"),
                    "policy",
                    "ratings_required",
                    "reading_aid",
                    "debrief_catch_trials",
                )
            },
        ),
        (_("Test cases"), {"fields": ("pinned_items",)}),
        (
            _("Who and what is left out"),
            {
                "description": _(
                    "After a change the rules are applied again to everyone who has finished."
                ),
                "fields": (
                    "exclude_missed_catch",
                    "exclude_untouched",
                    "exclude_cheating",
                    "exclude_recognised",
                    ("min_rt_ms", "min_rt_clock"),
                    ("fast_page_ms", "hidden_flag_ms"),
                ),
            },
        ),
        (
            _("Recruitment"),
            {
                "fields": (
                    "target_valid",
                    ("opens_at", "closes_at"),
                    "external_id_days",
                )
            },
        ),
        (
            _("Sessions"),
            {"fields": (("live_minutes", "resume_hours"), "is_demo")},
        ),
    )
    # Recruitment is switched on the lab's page, which says first what is missing.
    always_readonly = ("lab_page", "preview", "recruitment")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Study | None = None
    ) -> tuple[str, ...]:
        fields: tuple[str, ...] = self.always_readonly
        if obj is not None:
            fields += ("slug",)  # in the links that participants hold and in every export
        return fields

    @admin.display(description=_("recruitment"), ordering="recruitment")
    def state(self, study: Study) -> str:
        return study.recruitment

    @admin.display(description=_("lab page"))
    def lab_page(self, study: Study) -> str:
        if study.pk is None:
            return gettext("after saving")
        return format_html(
            '<a href="{}">{}</a>',
            reverse("lab:study", args=[study.slug]),
            gettext("counts and exports"),
        )

    @admin.display(description=_("participants' pages"))
    def preview(self, study: Study) -> str:
        if study.pk is None:
            return gettext("after saving")
        label = gettext("open them as a participant")
        return format_html('<a href="{}">{}</a>', study.get_absolute_url(), label)

    def get_fieldsets(self, request: HttpRequest, obj: Study | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        if obj is None or not obj.version:
            return fieldsets
        return [*fieldsets, (_("Why it changes"), {"fields": ("reason",)})]

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        if change:
            self._revise(request, obj, form)
            if fields := [name for name in form.changed_data if name not in REVISED]:
                audit.record(
                    audit.Action.STUDY_CHANGED, by=user_of(request), study=obj, fields=fields
                )
        super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        study, values = form.instance, form.cleaned_data
        if not change:
            study.members.add(request.user)
            audit.record(audit.Action.STUDY_CREATED, by=user_of(request), study=study)
            revise(
                study,
                consent=values["consent_text"],
                items=values["pinned_items"],
                by=user_of(request),
            )
        if study.recruitment in (Study.Recruitment.OPEN, Study.Recruitment.PILOT):
            for problem in readiness_problems(study):
                message = gettext("The study is recruiting, but: %(problem)s.")
                self.message_user(request, message % {"problem": problem}, messages.WARNING)

    def _revise(self, request: HttpRequest, study: Study, form: Any) -> None:
        values, before, rules = form.cleaned_data, study.consent, study.exclusion_rules
        made = revise(
            study,
            rules=rules,
            consent=values["consent_text"],
            items=values["pinned_items"],
            reason=values["reason"],
            by=user_of(request),
        )
        if made.version is not None:
            message = gettext("This is version %(number)d of the study's rules, consent and items.")
            self.message_user(request, message % {"number": made.version.number}, messages.INFO)
        consent = study.consent
        if before is not None and consent is not None and consent.pk != before.pk:
            message = gettext(
                "Version %(number)d of the consent text holds for whoever enters from now on."
            )
            self.message_user(request, message % {"number": consent.number}, messages.INFO)
        if made.excluded is not None:
            message = gettext(
                "The rules were applied again: the exclusion of %(n_participants)d participants "
                "and of %(n_trials)d trials changed."
            )
            counts = {
                "n_participants": made.excluded.participants,
                "n_trials": made.excluded.trials,
            }
            self.message_user(request, message % counts, messages.INFO)
