"""What a pre-registration assumes about people and test cases."""

from dataclasses import dataclass

from django import forms
from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True, slots=True)
class Assumed:
    """Of the typical participant on the typical test case, and how much both vary."""

    accuracy_percent: float
    sd_participants: float
    sd_items: float


class AssumptionsForm(forms.Form):
    accuracy_percent = forms.FloatField(
        label=_("typical accuracy (%)"), min_value=50.5, max_value=99, initial=63
    )
    sd_participants = forms.FloatField(
        label=_("SD between participants (log-odds)"), min_value=0, max_value=3, initial=0.5
    )
    sd_items = forms.FloatField(
        label=_("SD between test cases (log-odds)"), min_value=0, max_value=3, initial=0.5
    )

    @property
    def assumed(self) -> Assumed:
        return Assumed(**self.cleaned_data)

    @classmethod
    def initial_values(cls) -> dict[str, float]:
        return {name: field.initial for name, field in cls.base_fields.items()}
