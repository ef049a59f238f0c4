"""A researcher's own access tokens, for one study or for all of theirs. A new one is shown once, in the answer itself."""

from collections.abc import Collection
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from experiment.domain import trial_query
from experiment.domain.roles import Right
from experiment.domain.scopes import Scope
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.lab.access import LabRequest, for_signed_in, for_study
from experiment.lab.tokens.forms import TokenForm
from experiment.models import AccessToken, Study
from experiment.services.access_tokens import create_token, revoke
from lib.http import UNPROCESSABLE, either


@either
@for_study(Right.SEE_ITEMS)
def tokens(request: LabRequest, study: Study) -> HttpResponse:
    """With lines to copy for a program, which download the trials that the address asks for."""
    context: dict[str, Any] = {"study": study, "part": "export"}
    try:
        asked = (
            trial_query.parse(dict(request.GET.lists())) if request.GET else TrialQuery("analysis")
        )
    except QueryError as error:
        context["problem"], asked = error, TrialQuery("analysis")
    path = reverse("api:trials", args=[study.slug])
    context["url"] = f"{settings.BASE_URL}{path}?{asked.encode()}&format=csv"
    context["asked"] = asked.pairs
    return _answer(request, request.rights, context, study)


@either
@for_signed_in
def account_tokens(request: HttpRequest) -> HttpResponse:
    return _answer(request, list(Right), {"section": "account"})


def _answer(
    request: HttpRequest,
    rights: Collection[Right],
    context: dict[str, Any],
    study: Study | None = None,
) -> HttpResponse:
    user, status = cast("User", request.user), 200
    own = AccessToken.objects.filter(user=user)
    own = own.select_related("study") if study is None else own.filter(study=study)
    if "revoke" in request.POST:
        pk = request.POST["revoke"]
        revoke(get_object_or_404(own, pk=pk if pk.isdecimal() else None), by=user)
        messages.success(request, _("The token was revoked. It opens nothing any more."))
        return redirect(request.get_full_path())
    form = TokenForm(request.POST or None, rights=rights)
    if request.method == "POST":
        if form.is_valid():
            asked = form.cleaned_data
            scopes = [Scope(scope) for scope in asked["scopes"]]
            context["new"] = create_token(
                user, asked["name"], scopes, asked["days"], study, by=user
            )
            form = TokenForm(rights=rights)
        else:
            status = UNPROCESSABLE
    context |= {"form": form, "tokens": own}
    return render(request, "lab/tokens/tokens.html", context, status=status)
