"""The page Model servers: which servers the site's administrators list, what they can do, and what they have cost this month."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from experiment.lab.access import for_askers, for_site_admins, user_of
from lib.opened import Edit, OpenedForm, held
from lib.pages import refused, say_saved, show
from scoring.backends.http.address import allowed_address
from scoring.backends.registry import INSPECT, LISTED
from scoring.backends.trying import model_names, try_server
from scoring.domain.backend import ScoringError
from scoring.models import ModelServer
from scoring.services import servers as services

LONGEST_KEY = 5000
MOST_MODEL = 200
either = require_http_methods(["GET", "HEAD", "POST"])


class ServerForm(OpenedForm, forms.ModelForm[ModelServer]):
    """A server; its key is only ever written."""

    apart: ClassVar[frozenset[str]] = frozenset({"key", "removes_key"})

    kind = forms.ChoiceField(
        label="Kind",
        choices=[(kind.name, kind.label) for kind in LISTED],
        help_text="Most services are chat servers: they answer messages. Servers such as vLLM and llama.cpp can also give "
        "probabilities of texts.",
    )
    key = forms.CharField(
        label="Key",
        required=False,
        max_length=LONGEST_KEY,
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    removes_key = forms.BooleanField(label="Remove the stored key", required=False)

    class Meta:
        model = ModelServer
        fields = (
            *("name", "kind", "address", "is_for_all", "users"),
            *("price_in", "price_out", "currency", "monthly_limit", "is_active"),
        )
        widgets = {"users": forms.CheckboxSelectMultiple}
        help_texts = {
            "name": "Members see it in the list of servers.",
            "address": "https://HOST, with or without /v1. A server on this machine: http://localhost:PORT. A provider through Inspect: its name, such as anthropic.",
            "is_for_all": "Otherwise only the accounts below may use it.",
            "monthly_limit": "A run that would exceed it stops, and can continue when you raise the limit or in the next month. It needs both prices.",
            "is_active": "No run uses a server that is not in use, whatever the settings say.",
        }
        labels = {"users": "Accounts that may use it"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        accounts = User.objects.filter(is_active=True, is_superuser=False).order_by("username")
        self.fields["users"].queryset = accounts  # type: ignore[attr-defined]
        key = self.fields["key"]
        if self.instance.has_key:
            key.help_text = (
                "A key is stored. Leave this empty to keep it, or enter another to replace it."
            )
        else:
            key.help_text = "No key is stored. The key that you enter is encrypted, and nobody can read it here again."
            del self.fields["removes_key"]
        for name in ("price_in", "price_out", "monthly_limit"):
            if (stored := getattr(self.instance, name)) is not None:
                self.initial[name] = f"{stored.normalize():f}"  # 2.5 rather than 2.500000
        self.order_fields(["name", "kind", "address", "key", "removes_key"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("key") and cleaned.get("removes_key"):
            self.add_error("removes_key", "Either enter another key, or remove the stored one.")
        return cleaned

    @property
    def new_key(self) -> str | None:
        """None where the stored one stays."""
        if self.cleaned_data.get("removes_key"):
            return ""
        return self.cleaned_data["key"] or None

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        return services.last_changes(self.instance, names)


class TryForm(forms.Form):
    model = forms.CharField(
        label="Model",
        required=False,
        max_length=MOST_MODEL,
        help_text="If empty, the first that the server lists. A provider through Inspect needs one.",
    )


@require_safe
@for_site_admins
def servers(request: HttpRequest) -> HttpResponse:
    today = timezone.now().date()
    listed = ModelServer.objects.prefetch_related("users")
    rows = [(server, services.spent(server, today)) for server in listed]
    return show(request, "scoring/servers/servers.html", section="servers", rows=rows)


@either
@for_site_admins
def new_server(request: HttpRequest) -> HttpResponse:
    first = {"address": request.GET.get("address", "")[:300]}
    form = ServerForm(request.POST or None, initial=first)
    if form.is_valid():
        with refused(form):
            users, by = form.cleaned_data["users"], user_of(request)
            server = services.save(form.instance, by, users=users, key=form.new_key)
            messages.success(request, f"“{server.name}” was added. Try it now.")
            return redirect("lab:server", server.pk)
    return show(request, "scoring/servers/server.html", section="servers", form=form, server=None)


@either
@for_site_admins
def server(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(ModelServer, pk=pk)
    with held(found, when=request.method == "POST") as stored:
        form = ServerForm(request.POST or None, instance=stored)
        if form.is_valid():
            with refused(form):
                users, by = form.cleaned_data["users"], user_of(request)
                services.save(stored, by, users=users, key=form.new_key)
                say_saved(request, form)
                return redirect("lab:server", pk)
    return _page(request, found, form=form)


def _page(request: HttpRequest, found: ModelServer, **more: Any) -> HttpResponse:
    context: dict[str, Any] = {
        "section": "servers",
        "server": found,
        "spent": services.spent(found, timezone.now().date()),
        "try_form": TryForm(prefix="try"),
    }
    return show(request, "scoring/servers/server.html", **context | more)


@require_POST
@for_site_admins
def try_out(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask one harmless question, and show what the server can do."""
    found = get_object_or_404(ModelServer, pk=pk)
    form = TryForm(request.POST, prefix="try")
    tried, why = [], ""
    if form.is_valid():
        try:
            tried = try_server(found.kind, found.address, form.cleaned_data["model"].strip())
        except ScoringError as error:
            why = str(error)
    shown = {"form": ServerForm(instance=found), "try_form": form, "tried": tried, "why": why}
    return _page(request, found, **shown)


@require_POST
@for_site_admins
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(ModelServer, pk=pk)
    services.remove(found, user_of(request))
    messages.success(request, f"“{found.name}” was removed with its key.")
    return redirect("lab:servers")


@require_safe
@for_askers
def models(request: HttpRequest, pk: int) -> HttpResponse:
    """Names of a server's models, for those who may use it."""
    found = get_object_or_404(services.usable_by(user_of(request)), pk=pk)
    if found.kind == INSPECT.name:
        return JsonResponse({"models": []})
    try:
        return JsonResponse({"models": model_names(allowed_address(found.address))})
    except ScoringError as error:
        return JsonResponse({"models": [], "why": str(error)})
