from typing import Any, Generic, TypeVar

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

RowT = TypeVar("RowT", bound=Model)


class ReadOnlyAdmin(admin.ModelAdmin[RowT], Generic[RowT]):
    """Rows are looked at here and changed nowhere."""

    actions = None

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
