"""Django's administration as a whole: for site administrators alone, who sign in on the lab's page."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

from experiment.lab.access import for_site_admins


class AdministrationSite(admin.AdminSite):
    site_header = "BrainBench Live"
    site_title = "BrainBench Live"
    index_title = _("Administration")
    site_url = "/lab/"

    def has_permission(self, request: HttpRequest) -> bool:
        return request.user.is_active and request.user.is_superuser

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Any:
        return for_site_admins(super().admin_view(view, cacheable))

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one page to sign in, the lab's: whoever is not let in is led there."""
        return for_site_admins(_to_index)(request)  # type: ignore[return-value]


def _to_index(request: HttpRequest) -> HttpResponse:
    return redirect("admin:index")
