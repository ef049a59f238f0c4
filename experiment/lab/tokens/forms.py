from collections.abc import Collection
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.domain.roles import Right
from experiment.domain.scopes import Scope
from experiment.services.access_tokens import DEFAULT_DAYS, grantable_scopes
from lib.name_fields import is_name

LABELS = {
    Scope.READ: _("read: test cases, trials by pseudonym, models, results"),
    Scope.WRITE: _("write: start and stop work, switch recruitment"),
}
DAYS = (
    (7, _("7 days")),
    (30, _("30 days")),
    (90, _("90 days")),
    (366, _("a year")),
)


class TokenForm(forms.Form):
    name = forms.CharField(
        label=_("name"),
        max_length=80,
        validators=[is_name],
        help_text=_("What it is for, such as the machine it is on."),
    )
    scopes = forms.MultipleChoiceField(
        label=_("what it may do"), widget=forms.CheckboxSelectMultiple
    )
    days = forms.TypedChoiceField(
        label=_("works for"), choices=DAYS, coerce=int, initial=DEFAULT_DAYS
    )

    def __init__(self, *args: Any, rights: Collection[Right], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scopes = grantable_scopes(rights)
        self.fields["scopes"].choices = [(s.value, LABELS[s]) for s in scopes]  # type: ignore[attr-defined]
        self.fields["scopes"].initial = [Scope.READ.value]
