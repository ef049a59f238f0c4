from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import Study
from experiment.services.study_settings import withdrawal_problem


class RequestForm(forms.Form):
    """A participant asked the researchers to withdraw their data."""

    name = forms.CharField(max_length=128, label=_("Pseudonym or recruitment id"))
    reason = forms.CharField(max_length=500, label=_("Why, for the audit trail"))


class PolicyForm(forms.ModelForm[Study]):
    class Meta:
        model = Study
        fields = ("withdrawal_policy", "retain_until")
        widgets = {"retain_until": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")}

    def clean_withdrawal_policy(self) -> str:
        policy: str = self.cleaned_data["withdrawal_policy"]
        if problem := withdrawal_problem(self.instance, policy):
            raise forms.ValidationError(problem)
        return policy
