from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import Channel
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
