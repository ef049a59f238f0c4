"""What a researcher can ask for in the list of participants."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.domain.exclusion import PARTICIPANT_REASONS, WITHDRAWN
from experiment.services.watching.people import Status, Wanted

STATUSES = (
    ("", _("all")),
    (Status.UNDER_WAY.value, _("under way")),
    (Status.LEFT.value, _("left")),
    (Status.FINISHED.value, _("finished")),
    (Status.VALID.value, _("finished and valid")),
    (Status.EXCLUDED.value, _("finished and excluded")),
    (Status.WITHDRAWN.value, _("withdrawn")),
)
REASONS = (
    ("", _("any")),
    *((reason.code, reason.label) for reason in PARTICIPANT_REASONS if reason != WITHDRAWN),
)


class PeopleForm(forms.Form):
    status = forms.ChoiceField(label=_("Who"), choices=STATUSES, required=False)
    reason = forms.ChoiceField(label=_("Excluded because"), choices=REASONS, required=False)
    pseudonym = forms.RegexField(
        label=_("Pseudonym begins with"),
        regex=r"^[0-9A-Fa-f-]{1,36}$",
        required=False,
        error_messages={"invalid": _("A pseudonym has the digits 0 to 9, a to f and hyphens.")},
    )
    after = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def clean_pseudonym(self) -> str:
        begin: str = self.cleaned_data["pseudonym"]
        if len(begin.replace("-", "")) > 32 or (begin and not begin.strip("-")):
            raise forms.ValidationError(self.fields["pseudonym"].error_messages["invalid"])
        return begin

    def wanted(self, kind: str) -> Wanted:
        values: dict[str, Any] = self.cleaned_data
        return Wanted(
            kind,
            Status(values["status"]) if values["status"] else None,
            values["reason"],
            values["pseudonym"],
            values["after"],
        )
