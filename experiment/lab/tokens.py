"""A researcher's own access tokens, for one study or for all of theirs. A new one is shown once, in the answer itself."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse

from experiment.domain import trial_query
from experiment.domain.roles import Right, Scope
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.lab.access import LabRequest, for_signed_in, for_study, user_of
from experiment.models import AccessToken, Study
from experiment.services.rights import DEFAULT_DAYS, create_token, grantable_scopes, revoke_token
from lib.http import either, row_number
from lib.name_fields import is_name
from lib.pages import offer, show

LABELS = {
    Scope.READ: "read: test cases, trials by pseudonym, models, results",
    Scope.WRITE: "write: start and stop work, open and close recruitment",
}
DAYS = (
    (7, "7 days"),
    (30, "30 days"),
    (90, "90 days"),
    (366, "a year"),
)


class TokenForm(forms.Form):
    name = forms.CharField(
        label="name",
        max_length=80,
        validators=[is_name],
        help_text="Purpose of the token, such as the machine that uses it.",
    )
    scopes = forms.MultipleChoiceField(label="permissions", widget=forms.CheckboxSelectMultiple)
    days = forms.TypedChoiceField(label="works for", choices=DAYS, coerce=int, initial=DEFAULT_DAYS)

    def __init__(self, *args: Any, rights: Collection[Right], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = grantable_scopes(rights)
        offer(self, "scopes", [(s.value, LABELS[s]) for s in scopes])
        self.fields["scopes"].initial = [Scope.READ.value]


@either
@for_study(Right.SEE_ITEMS)
def tokens(request: LabRequest, study: Study) -> HttpResponse:
    """With lines to copy for a program, which download the trials that the address asks for."""
    context: dict[str, Any] = {"part": "export"}
    try:
        asked = (
            trial_query.parse(dict(request.GET.lists())) if request.GET else TrialQuery("analysis")
        )
    except QueryError as error:
        context["problem"] = f"{error}. These are the trials of the analysis set."
        asked = TrialQuery("analysis")
    path = reverse("api:trials", args=[study.slug])
    context["url"] = f"{settings.BASE_URL}{path}?{asked.encode()}&format=csv"
    # In brackets: the set, and what narrows it
    (_set, trials), *_rest = asked.pairs
    narrowed = (f"{name}: {value}" for name, value in asked.pairs if name != "set")
    context["asked"] = ", ".join([trials, *narrowed])
    context["snippets"] = SNIPPETS
    return _answer(request, request.rights, context, study)


@dataclass(frozen=True, slots=True)
class Snippet:
    """Lines for a program, in `file` of templates/lab/tokens/snippets."""

    name: str
    file: str
    label: str

    @property
    def id(self) -> str:
        return f"snippet-{self.file}"

    @property
    def template(self) -> str:
        return f"lab/tokens/snippets/{self.file}.txt"


SNIPPETS = (
    Snippet("curl", "curl", "Lines for a shell"),
    Snippet("pandas", "pandas", "Lines of Python"),
    Snippet("R", "r", "Lines of R"),
)


@dataclass(frozen=True, slots=True)
class TokenRow:
    token: AccessToken

    @property
    def works(self) -> bool:
        return not (self.token.revoked_at or self.token.is_expired)

    @property
    def until(self) -> str:
        if self.token.revoked_at:
            return "revoked"
        return "expired" if self.token.is_expired else f"{self.token.expires_at:%Y-%m-%d}"


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
    user = user_of(request)
    own = AccessToken.objects.filter(user=user)
    own = own.select_related("study") if study is None else own.filter(study=study)
    if "revoke" in request.POST:
        revoke_token(get_object_or_404(own, pk=row_number(request.POST["revoke"])), by=user)
        messages.success(request, "The token was revoked and no longer gives access.")
        return redirect(request.get_full_path())
    form = TokenForm(request.POST or None, rights=rights)
    if form.is_valid():
        asked = form.cleaned_data
        scopes = [Scope(scope) for scope in asked["scopes"]]
        context["new"] = create_token(user, asked["name"], scopes, asked["days"], study, by=user)
        form = TokenForm(rights=rights)
    rows = [TokenRow(token) for token in own]
    return show(request, "lab/tokens/tokens.html", form=form, tokens=rows, **context)
