"""Django's admin, for site administrators: accounts to change; test cases, studies and who took part to look up."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import (
    AdminPasswordChangeForm,
    AdminUserCreationForm,
    UserChangeForm,
)
from django.contrib.auth.models import Group, User
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.db import connection
from django.db.models import Model, QuerySet
from django.forms.models import _get_foreign_key
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django_otp.plugins.otp_static.admin import StaticDeviceAdmin
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDeviceAdmin
from django_otp.plugins.otp_totp.models import TOTPDevice
from django_stubs_ext import StrOrPromise

from experiment.lab.access import user_of
from experiment.lab.members import OwnName
from experiment.lab.sign_in import OffersToEndTokens
from experiment.models import (
    ConsentVersion,
    Item,
    Judgment,
    Participant,
    ResearchField,
    Study,
    StudyVersion,
    Trial,
)
from experiment.models.items import ItemQuerySet
from experiment.services import audit
from lib.opened import Edit, OpenedForm

RowT = TypeVar("RowT", bound=Model)


# What the filters of a list ask for; "" is the field's own name
ASKED = ("", "__exact", "__isnull", "__in", "__id__exact")


class DeclaredLookups(admin.ModelAdmin[RowT], Generic[RowT]):
    """A list is narrowed by its filters alone: any other look-up would tell, letter by letter, what no list shows."""

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        own = [f.parameter_name for f in self.list_filter if isinstance(f, type) and issubclass(f, admin.SimpleListFilter)]  # fmt: skip
        paths = [f if isinstance(f, str) else f[0] for f in self.list_filter if isinstance(f, str | tuple | list)]  # fmt: skip
        return lookup in {*own, *(f"{path}{asked}" for path in paths for asked in ASKED)}

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        return to_field in {"id", self.opts.pk.name} and super().to_field_allowed(request, to_field)


class Merging(admin.ModelAdmin[RowT], Generic[RowT]):
    """Forms that know what they were opened with; rows that stand in the same page are one thing, which two do not change at once."""

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> RowT | None:
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST" or not connection.in_atomic_block:
            return found
        return self.model._default_manager.select_for_update(no_key=True).get(pk=found.pk)

    def get_form(self, request: Any, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        if obj is None or issubclass(form, OpenedForm):
            return form
        inlines = [inline.model for inline in self.get_inline_instances(request, obj)]
        return type(form.__name__, (_Opened, form), {"inlines": inlines})


class _Opened(OpenedForm):
    instance: Model
    inlines: Sequence[type[Model]] = ()

    def replaces(self) -> Mapping[str, tuple[str, str, str]]:
        found = {}
        for model in self.inlines:
            name = _get_foreign_key(type(self.instance), model).name
            rows = list(model._default_manager.filter(**{name: self.instance}).order_by("pk"))
            columns = [
                [str(getattr(row, f.attname)) for f in row._meta.concrete_fields] for row in rows
            ]
            said = ", ".join(map(str, rows)) or "-"
            found[str(model._meta.model_name)] = (
                str(model._meta.verbose_name_plural),
                said,
                str(columns),
            )
        return found

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        about = ContentType.objects.get_for_model(self.instance)
        logged = LogEntry.objects.filter(content_type=about, object_id=str(self.instance.pk))
        last = logged.select_related("user").order_by("-pk").first()
        edit = last and Edit(last.user.get_username(), last.action_time)
        return dict.fromkeys(names, edit) if edit else {}

    def _refuse(self) -> None:
        said = "Others have changed this since you opened it. Compare, and save again."
        self.add_error(None, ValidationError([said, *map(str, self.conflicts)]))


class ReadOnlyAdmin(DeclaredLookups[RowT], Generic[RowT]):
    """Rows are looked at here and changed nowhere."""

    actions = None

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


POWERS = ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")

for model in (User, Group, TOTPDevice, StaticDevice):
    admin.site.unregister(model)


@admin.register(Group)
class NarrowGroupAdmin(Merging[Group], DeclaredLookups[Group], GroupAdmin):
    """Django's, without look-ups."""


@admin.register(TOTPDevice)
class NarrowTOTPDeviceAdmin(Merging[Any], DeclaredLookups[Any], TOTPDeviceAdmin):  # type: ignore[misc]
    """The library's: its key is in no list, and in no look-up."""


@admin.register(StaticDevice)
class NarrowStaticDeviceAdmin(Merging[Any], DeclaredLookups[Any], StaticDeviceAdmin):  # type: ignore[misc]
    """The library's, likewise."""


class PasswordByAdministratorForm(OffersToEndTokens, AdminPasswordChangeForm):  # type: ignore[type-arg]
    """As by a link: somebody asked for it."""

    ENDS = True

    def save(self, commit: bool = True) -> Any:
        """The user, with the form by which `log_change` tells a new password from other changes."""
        user = super().save(commit)
        user.password_form = self
        return user


class NewAccountForm(OwnName, AdminUserCreationForm):  # type: ignore[type-arg]
    """Django's, for a name that looks like nobody else's."""


class AccountForm(OwnName, UserChangeForm):  # type: ignore[type-arg]
    """Django's, for a name that looks like nobody else's."""


@admin.register(User)
class AccountAdmin(Merging[User], DeclaredLookups[User], UserAdmin[User]):
    form, add_form = AccountForm, NewAccountForm
    change_password_form = PasswordByAdministratorForm
    change_user_password_template = "admin/password_and_tokens.html"  # noqa: S105 (a template)

    def log_change(self, request: HttpRequest, obj: User, message: Any) -> Any:
        form, by = getattr(obj, "password_form", None), user_of(request)
        if form is not None:
            told = {"user": obj.get_username(), "tokens_revoked": form.end_tokens(by)}
            audit.record(audit.Action.PASSWORD_CHANGED, by=by, **told)
        return super().log_change(request, obj, message)

    def save_related(self, request: Any, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        changed = {
            name: f"{_told(form.initial.get(name))} -> {_told(form.cleaned_data[name])}"
            for name in POWERS
            if name in form.changed_data
        }
        if changed:
            _record(request, form.instance, changed)

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        _record(request, obj, {"account": "deleted"})
        super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        for user in queryset:
            _record(request, user, {"account": "deleted"})
        super().delete_queryset(request, queryset)


def _record(request: HttpRequest, user: User, changed: dict[str, str]) -> None:
    by, name = user_of(request), user.get_username()
    audit.record(audit.Action.ROLE_CHANGED, by=by, member=name, changed=changed)


def _told(value: Any) -> str:
    if not isinstance(value, Iterable):
        return str(value)
    return ", ".join(sorted(getattr(each, "codename", str(each)) for each in value)) or "none"


class VersionFilter(admin.SimpleListFilter):
    title = "version"
    parameter_name = "versions"

    def lookups(
        self, request: HttpRequest, model_admin: admin.ModelAdmin[Item]
    ) -> list[tuple[str, StrOrPromise]]:
        return [("latest", "latest only")]

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

    @admin.display(description="page in the lab")
    def lab_page(self, item: Item) -> SafeString | str:
        research_field = ResearchField.objects.filter(name=item.field).first()
        if research_field is None:
            return "-"
        url = reverse("lab:item", args=[research_field.slug, item.pk])
        return format_html('<a href="{}">{}</a>', url, item)


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
    verbose_name_plural = "consent texts so far"


class VersionInline(_Versions):
    model = StudyVersion
    readonly_fields = fields = ("number", "created_at", "made_by", "reason", "rules")
    verbose_name_plural = "versions of rules, consent and test cases so far"


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin[Study]):
    list_display = ("slug", "title", "recruitment", "target_valid", "lab_page", "is_demo")
    list_filter = ("recruitment", "is_demo")
    search_fields = ("slug", "title")
    inlines = (ConsentInline, VersionInline)
    readonly_fields = ("lab_page", "is_demo")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_superuser

    @admin.display(description="page in the lab")
    def lab_page(self, study: Study) -> SafeString:
        url = reverse("lab:study", args=[study.slug])
        return format_html('<a href="{}">{}</a>', url, study.slug)
