"""Access to the pages of the lab. Every view of it goes through one of these; tests find none that does not."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from experiment.domain.roles import FieldRight, Right
from experiment.models import ResearchField, Study
from experiment.services.rights import (
    field_rights_of,
    may_ask_models,
    may_create_studies,
    rights_of,
)
from experiment.services.sign_in import is_verified, keep_or_end
from lib.confined import for_account

View = Callable[..., HttpResponseBase]


class LabRequest(HttpRequest):
    """With what who asks may do: in the study behind `for_study`, in the field behind `for_field`."""

    rights: frozenset[Right]
    field_rights: frozenset[FieldRight]
    about: dict[str, Any]  # what templates are given of the address


# What a view says in `access` that asks for no right in a study
SIGNED_IN = "signed_in"
CREATOR = "creator"
ASKER = "asker"  # of work of models, in any study or field
SITE_ADMIN = "site_admin"
STARTER = "starter"  # of the work that the address names, or a site administrator


def user_of(request: HttpRequest) -> User:
    """The user who is signed in, behind any of the three."""
    assert isinstance(request.user, User)
    return request.user


def _in_two_steps(view: View) -> View:
    """Ask who has not signed in to do so, and where the site asks for a second step, for that too."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if settings.REQUIRE_TOTP and not is_verified(request.user):
            back = request.get_full_path() if request.method == "GET" else "/lab/"
            return redirect_to_login(back, reverse("lab:second_step"))
        return view(request, *args, **kwargs)

    return wrapped


def is_lead(request: HttpRequest) -> bool:
    """Behind `for_field`."""
    return FieldRight.LEAD_FIELD in request.field_rights  # type: ignore[attr-defined]


def for_study(right: Right) -> Callable[[View], View]:
    """A page of one study, named by `slug`; the view is given `study`, and `request.rights` for its templates.

    A study that is not theirs does not exist for them; members without the right are refused.
    """

    def decorate(view: View) -> View:
        @_in_two_steps
        @wraps(view)
        def wrapped(request: LabRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            study = Study.objects.filter(slug=slug).first()
            rights = frozenset[Right]() if study is None else rights_of(request.user, study)
            if not rights:
                raise Http404
            if right not in rights:
                raise PermissionDenied
            request.rights = rights
            request.about = {"study": study}
            return view(request, *args, study=study, **kwargs)

        wrapped.access = right  # type: ignore[attr-defined]
        return wrapped

    return decorate


def for_field(right: FieldRight) -> Callable[[View], View]:
    """A page of one field of research, named by `field`; the view is given `research_field`, templates `request.field_rights`.

    A field that is not theirs does not exist for them; members without the right are refused.
    """

    def decorate(view: View) -> View:
        @_in_two_steps
        @wraps(view)
        def wrapped(request: LabRequest, field: str, *args: Any, **kwargs: Any) -> HttpResponseBase:
            found = ResearchField.objects.filter(slug=field).first()
            rights = (
                frozenset[FieldRight]() if found is None else field_rights_of(request.user, found)
            )
            if not rights:
                raise Http404
            if right not in rights:
                raise PermissionDenied
            request.field_rights = rights
            request.about = {"research_field": found, "section": "fields"}
            return view(request, *args, research_field=found, **kwargs)

        wrapped.access = right  # type: ignore[attr-defined]
        return wrapped

    return decorate


def for_signed_in(view: View) -> View:
    """A page for whoever is signed in, about no study or about all of theirs."""
    wrapped = _in_two_steps(view)
    wrapped.access = SIGNED_IN  # type: ignore[attr-defined]
    return wrapped


def for_first_step(view: View) -> View:
    """The pages on which the second step is set up: for whoever has signed in so far."""
    wrapped = never_cache(login_required(view))
    wrapped.access = SIGNED_IN  # type: ignore[attr-defined]
    return wrapped


def _for_who(may: Callable[[User], bool], access: str) -> Callable[[View], View]:
    def decorate(view: View) -> View:
        @_in_two_steps
        @wraps(view)
        def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not may(user_of(request)):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        wrapped.access = access  # type: ignore[attr-defined]
        return wrapped

    return decorate


# A page that makes a study; what forms that ask models need; and one about the whole site
for_creators = _for_who(may_create_studies, CREATOR)
for_askers = _for_who(may_ask_models, ASKER)
for_site_admins = _for_who(lambda user: user.is_superuser, SITE_ADMIN)


class AdministrationSite(admin.AdminSite):
    """Django's administration as a whole: for site administrators alone, who sign in on the lab's page."""

    site_header = "BrainBench Live"
    site_title = "BrainBench Live"
    index_title = "Administration"
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


class EndOldSessions:
    """Middleware: ends sign-ins that are too old (experiment/services/sign_in.py), before anybody asks whose."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Participants' pages look at no session, unless they ask whether a member looks
        is_lab = not request.path_info.startswith("/s/")
        if is_lab and settings.SESSION_COOKIE_NAME in request.COOKIES:
            keep_or_end(request.session, is_asked=not request.path_info.endswith("/live/"))
        return self.get_response(request)


class ReadFilesInTurn:
    """Middleware: a file that a page is sent waits for its turn as one of the account's, however that signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with for_account(lambda: str(request.user.pk)):
            return self.get_response(request)
