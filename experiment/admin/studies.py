"""Studies, to look up, and to delete; they are made and set up on the lab's pages."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from experiment.admin.read_only import ReadOnlyAdmin
from experiment.models import ConsentVersion, Study, StudyVersion


class _Versions(admin.TabularInline[Any, Study]):
    """Every version that there was, to read."""

    ordering = ("-number",)
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ConsentInline(_Versions):
    model = ConsentVersion
    readonly_fields = fields = ("number", "created_at", "text")
    verbose_name_plural = _("consent texts so far")


class VersionInline(_Versions):
    model = StudyVersion
    readonly_fields = fields = ("number", "created_at", "made_by", "reason", "rules")
    verbose_name_plural = _("versions of rules, consent and test cases so far")


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin[Study]):
    list_display = ("slug", "title", "recruitment", "target_valid", "lab_page", "is_demo")
    list_filter = ("recruitment", "is_demo")
    search_fields = ("slug", "title")
    inlines = (ConsentInline, VersionInline)
    readonly_fields = ("lab_page",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_superuser

    @admin.display(description=_("page in the lab"))
    def lab_page(self, study: Study) -> SafeString:
        url = reverse("lab:study", args=[study.slug])
        return format_html('<a href="{}">{}</a>', url, study.slug)
