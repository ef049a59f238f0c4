"""Test cases, to look up; they are written, reviewed and retired on the lab's pages."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from experiment.admin.read_only import ReadOnlyAdmin
from experiment.models import Item, ResearchField
from experiment.models.items import ItemQuerySet


class VersionFilter(admin.SimpleListFilter):
    title = _("version")
    parameter_name = "versions"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Item]
    ) -> list[tuple[str, StrOrPromise]]:
        return [("latest", _("latest only"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        assert isinstance(queryset, ItemQuerySet)
        return queryset.latest_versions() if self.value() == "latest" else queryset


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin[Item]):
    list_display = ("key", "version", "kind", "source", "field", "subfield", "status", "is_demo")
    list_filter = (
        "status",
        "kind",
        "source",
        "field",
        "subfield",
        VersionFilter,
        "texts",
        "is_demo",
    )
    list_per_page = 50
    search_fields = ("key", "doi", "original", "altered")
    readonly_fields = ("lab_page",)

    @admin.display(description=_("page in the lab"))
    def lab_page(self, item: Item) -> SafeString | str:
        research_field = ResearchField.objects.filter(name=item.field).first()
        if research_field is None:
            return "-"
        url = reverse("lab:item", args=[research_field.slug, item.pk])
        return format_html('<a href="{}">{}</a>', url, item)
