from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import Channel, Study
from experiment.services.channels import ENDS

WHO = ("label", "code", "platform", "id_parameter", "study_parameter", "session_parameter")
RULES = ("returns", "is_open")


class ChannelForm(forms.ModelForm[Channel]):
    class Meta:
        model = Channel
        fields = (*WHO, *ENDS, *RULES)
        help_texts = {"id_parameter": _("For another panel; the platforms' own are known.")}

    def __init__(self, data: object = None, *, instance: Channel) -> None:
        super().__init__(data, instance=instance)  # type: ignore[arg-type]
        if instance.pk is not None:
            # It stands in the links that participants hold and in exports
            self.fields["code"].disabled = True

    @property
    def groups(self) -> list[list[forms.BoundField]]:
        return [[self[name] for name in names] for names in (WHO, ENDS, RULES)]


class WindowForm(forms.ModelForm[Study]):
    class Meta:
        model = Study
        fields = ("opens_at", "closes_at", "target_valid")
        widgets = {
            name: forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
            for name in ("opens_at", "closes_at")
        }

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        for name in ("opens_at", "closes_at"):
            if (day := given.get(name)) is not None and not 2000 <= day.year < 2100:
                self.add_error(name, _("Give a year from 2000 to 2099."))
        return given
