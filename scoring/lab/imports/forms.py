"""What is to be imported: only what lies in the server's folder for imports can be chosen."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import Item
from scoring.backends import ALIASES, parse_model_args
from scoring.domain.backend import ScoringError
from scoring.lab.forms import checked_model_args, offered_backends
from scoring.services.imports import corpus_files, folders


class ImportForm(forms.Form):
    folder = forms.ChoiceField(
        label=_("Folder"), choices=lambda: [(name, name) for name in folders()]
    )
    study = forms.SlugField(
        label=_("Study"), initial="brainbench", max_length=60, help_text=_("Made if there is none.")
    )
    texts = forms.ChoiceField(
        label=_("Damaged texts"),
        choices=[
            (Item.Texts.REPAIRED.value, _("repaired")),
            (Item.Texts.AS_PUBLISHED.value, _("as published")),
        ],
    )


class CorpusForm(forms.Form):
    file = forms.ChoiceField(
        label=_("File"), choices=lambda: [(name, name) for name in corpus_files()]
    )
    model = forms.ChoiceField(label=_("Kind of model"), choices=offered_backends)
    model_args = forms.CharField(
        label=_("Model arguments"),
        required=False,
        max_length=2000,
        help_text=_("As on a study's Models page."),
    )
    anchor = forms.BooleanField(label=_("Models surely know these texts by heart"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = cleaned.get("model", "")
        cleaned["backend"] = ALIASES.get(kind, kind)
        if kind and "model_args" in cleaned:
            try:
                parsed = parse_model_args(cleaned["model_args"])
                cleaned["parsed_args"] = checked_model_args(cleaned["backend"], parsed)
            except ScoringError as error:
                self.add_error("model_args", str(error))
        return cleaned
