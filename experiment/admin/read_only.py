from typing import Any, Generic, TypeVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

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


class ReadOnlyAdmin(DeclaredLookups[RowT], Generic[RowT]):
    """Rows are looked at here and changed nowhere."""

    actions = None

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
