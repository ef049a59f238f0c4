from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import FieldMember, ResearchField, Subfield
from experiment.services.fields.settings import has_items, is_used


class FieldForm(forms.ModelForm[ResearchField]):
    """A name that test cases have is shown and stays."""

    class Meta:
        model = ResearchField
        fields = ("name", "reviews_needed")

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if self.instance.pk and has_items(self.instance):
            self.fields["name"].disabled = True
            self.fields["name"].help_text = _("Test cases and exports have this name: it stays.")


class SubfieldForm(forms.ModelForm[Subfield]):
    class Meta:
        model = Subfield
        fields = ("name", "purpose")
        widgets = {"purpose": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        if self.instance.pk and is_used(self.instance):
            self.fields["name"].disabled = True
            self.fields["name"].help_text = _("Test cases have this name: it stays.")


class MemberForm(forms.Form):
    username = forms.CharField(
        label=_("User name"), max_length=150, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    role = forms.ChoiceField(
        label=_("Role"),
        choices=FieldMember.Role.choices,
        initial=FieldMember.Role.CURATOR,
        widget=forms.RadioSelect,
    )
