"""Which model answers a study's questions, and which of its answers are shown."""

from typing import Any

from django import forms
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from lib.name_fields import is_name
from lib.pages import UnixTextField
from scoring.domain.generating import Finish
from scoring.lab.drafting.forms import ModelForm
from scoring.models import Answer
from scoring.services.answering import default_instructions

# As readers are told how an answer ended
ENDS = {
    Finish.STOP: _("answered"),
    Finish.LENGTH: _("cut off"),
    Finish.REFUSED: _("refused"),
    Finish.FILTERED: _("filtered"),
    Finish.TOO_LONG: _("question too long"),
    Finish.EMPTY: _("empty"),
    Finish.FAILED: _("failed"),
}


class AnsweringForm(ModelForm):
    """A model, what it is told, and how many questions it is asked."""

    name = forms.CharField(
        label=_("Name in tables"),
        required=False,
        max_length=200,
        validators=[is_name],
        help_text=_("Empty: as the model is called."),
    )
    limit = forms.IntegerField(
        label=_("Only the first so many questions"), required=False, min_value=1, max_value=10**6
    )
    instructions = UnixTextField(
        label=_("System prompt"),
        required=False,
        max_length=50_000,
        initial=default_instructions,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_("Filled in: {field}. Empty: as shipped."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model_args"].help_text = _(
            "name=value, separated by commas: max_tokens (1024), temperature (0; none leaves it to the server), top_p, "
            "seed; of a server concurrency and tries, in this process batch_size."
        )

    @property
    def of_run(self) -> list[forms.BoundField]:
        return self.fields_of("name", "limit")


class ShownForm(forms.Form):
    """Which answers of a run are listed."""

    end = forms.ChoiceField(
        label=_("Ended"),
        required=False,
        choices=[("", _("in any way")), *((f.value, label) for f, label in ENDS.items())],
    )
    words = forms.CharField(
        label=_("With the words"),
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search"}),
    )

    def narrowed(self, answers: QuerySet[Answer]) -> QuerySet[Answer]:
        """Those that were asked for, once the form is valid: the words are in the answer, the question or its key."""
        end, words = self.cleaned_data["end"], self.cleaned_data["words"]
        if end:
            answers = answers.filter(finish=end)
        if words:
            texts = ("text", "item__markup", "item__key")
            found = Q(*((f"{name}__icontains", words) for name in texts), _connector=Q.OR)
            answers = answers.filter(found)
        return answers
