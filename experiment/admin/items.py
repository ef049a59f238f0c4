"""Curators write, check, review, accept, revise and retire test cases."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import QuerySet
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from django_stubs_ext import StrOrPromise

from experiment.admin.forms import ItemForm
from experiment.domain import markup
from experiment.domain.item_checks import check_item
from experiment.domain.presentation import by_side
from experiment.models import Item
from experiment.models.items import ItemQuerySet
from experiment.services.curation import lifecycle
from lib.newlines import with_unix_newlines

Status = Item.Status
# What the buttons and actions are called that move an item to a status.
MOVES: dict[str, StrOrPromise] = {
    Status.IN_REVIEW: _("Send to review"),
    Status.DRAFT: _("Back to draft"),
    Status.ACCEPTED: _("Accept"),
    Status.RETIRED: _("Retire"),
}
REVISE = _("Start a new version")


def preview_context(text: str) -> dict[str, Any]:
    """A text as participants would see it, in both orders, or what keeps it from being read."""
    try:
        abstract = markup.parse(with_unix_newlines(text).strip())
    except markup.MarkupError as error:
        return {"error": str(error)}
    return {
        "orders": [(side, by_side(abstract.segments, side)) for side in ("A", "B")],
        "warnings": check_item(abstract),
        "n_words": len(abstract.original.split()),
        "n_alternations": len(abstract.alternations),
    }


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


def signed_in(request: HttpRequest) -> User:
    """Only signed-in users reach the administration."""
    assert isinstance(request.user, User)
    return request.user


def _move_action(status: str) -> Any:
    @admin.action(
        description=format_lazy(_("{move}: the chosen test cases"), move=MOVES[status]),
        permissions=["change"],
    )
    def move(model_admin: "ItemAdmin", request: HttpRequest, queryset: QuerySet[Item]) -> None:
        moved = sum(model_admin.move(request, item, status) for item in queryset)
        if moved:
            message = ngettext(
                "%(n)d test case now %(status)s.", "%(n)d test cases now %(status)s.", moved
            )
            values = {"n": moved, "status": Status(status).label}
            model_admin.message_user(request, message % values, messages.SUCCESS)

    move.__name__ = f"move_to_{status}"
    return move


@admin.action(description=_("Start a new version of the chosen test cases"), permissions=["add"])
def revise(
    model_admin: "ItemAdmin", request: HttpRequest, queryset: QuerySet[Item]
) -> HttpResponse | None:
    drafts = model_admin.revise(request, queryset)
    return redirect("admin:experiment_item_change", drafts[0].pk) if len(drafts) == 1 else None


# What identifies the item, and what was shown; subfield, date and note may still be corrected.
FROZEN_FIELDS = ("key", "markup", "kind", "source", "generator", "doi", "texts", "is_demo")
IMPORTED_FIELDS = ("is_damaged", "collection", "collection_row")


class ItemAdmin(admin.ModelAdmin[Item]):
    form = ItemForm
    list_display = (
        "key",
        "version",
        "kind",
        "source",
        "subfield",
        "status",
        "to_look_at",
        "is_demo",
    )
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
    actions = (*(_move_action(status) for status in MOVES), revise)
    fieldsets = (
        (None, {"fields": (("key", "version", "status"), "markup", "preview")}),
        (_("What it is"), {"fields": (("kind", "source"), "generator", ("field", "subfield"))}),
        (
            "Where it is from",
            {"fields": ("doi", "publication_date", "texts", IMPORTED_FIELDS, "is_demo")},
        ),
        (_("For curators"), {"fields": ("note", "created_at", "created_by", "sha256")}),
    )
    always_readonly = (
        *("version", "status", "preview", "created_at", "created_by", "sha256"),
        *IMPORTED_FIELDS,
    )

    class Media:
        css = {"all": ("css/abstract.css",)}
        js = (Script("js/item_preview.js", type="module"),)

    def get_readonly_fields(self, request: HttpRequest, obj: Item | None = None) -> tuple[str, ...]:
        if obj is None:
            return self.always_readonly
        if obj.is_frozen:
            # People may have judged it as what it is: text, kind and source stay.
            return (*self.always_readonly, *FROZEN_FIELDS)
        return self.always_readonly if obj.version == 1 else (*self.always_readonly, "key")

    def has_delete_permission(self, request: HttpRequest, obj: Item | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not (
            obj is not None and obj.is_frozen
        )

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Of several items, too, those that were ever accepted are protected."""
        to_delete, counts, missing, protected = super().get_deleted_objects(objs, request)
        return (
            to_delete,
            counts,
            missing,
            [*protected, *(str(item) for item in objs if item.is_frozen)],
        )

    def save_model(self, request: HttpRequest, obj: Item, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = signed_in(request)
        super().save_model(request, obj, form, change)

    @admin.display(description=_("to look at"))
    def to_look_at(self, item: Item) -> str:
        return ", ".join(dict.fromkeys(warning.code.replace("_", " ") for warning in item.warnings))

    @admin.display(description=_("as participants see it"))
    def preview(self, item: Item) -> SafeString:
        shown = preview_context(item.markup) if item.markup else {}
        return render_to_string(
            "admin/experiment/item/preview.html",
            {**shown, "url": reverse("admin:experiment_item_preview")},
        )

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.preview_view))
        return [path("preview/", view, name="experiment_item_preview"), *super().get_urls()]

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """The preview of a text while it is being written."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        context = preview_context(request.POST.get("markup", ""))
        return render(request, "admin/experiment/item/_preview.html", context)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        item = kwargs.get("obj")
        if item is not None and self.has_change_permission(request, item):
            context["moves"] = [
                (status, MOVES[Status(status)]) for status in lifecycle.NEXT_STATUSES[item.status]
            ]
            context["revise"] = (
                REVISE if item.is_frozen and self.has_add_permission(request) else ""
            )
        return super().render_change_form(request, context, *args, **kwargs)

    def response_change(self, request: HttpRequest, obj: Item) -> HttpResponse:
        if "_revise" in request.POST and self.has_add_permission(request):
            [draft] = self.revise(request, Item.objects.filter(pk=obj.pk))
            return redirect("admin:experiment_item_change", draft.pk)
        status = request.POST.get("_move", "")
        if status in MOVES:
            if self.move(request, obj, status):
                message = gettext("%(item)s is now %(status)s.")
                values = {"item": obj, "status": Status(status).label}
                self.message_user(request, message % values, messages.SUCCESS)
            return redirect("admin:experiment_item_change", obj.pk)
        return super().response_change(request, obj)

    def move(self, request: HttpRequest, item: Item, status: str) -> bool:
        """Move an item on; False, with a message, where that is not the way."""
        try:
            lifecycle.set_status(item, status)
        except ValidationError as error:
            self.message_user(request, " ".join(error.messages), messages.ERROR)
            return False
        return True

    def revise(self, request: HttpRequest, items: QuerySet[Item]) -> list[Item]:
        drafts = [lifecycle.revise(item, user=signed_in(request)) for item in items]
        message = gettext("New drafts: %(items)s.") % {"items": ", ".join(map(str, drafts))}
        self.message_user(request, message, messages.SUCCESS)
        return drafts
