"""The form that asks for a training. What is typed is checked as far as it can be without loading a model."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from experiment.models import Study
from lib.name_fields import is_name
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import ScoringError
from scoring.lab.forms import MAX_NUMBER, FoldedForm, with_folders
from scoring.models import Corpus, Training
from scoring.training.settings import PRESETS, TrainingError, TrainingSettings, of_preset


def _number(label: Any, help_text: Any = "", minimum: int = 1) -> forms.IntegerField:
    return forms.IntegerField(
        label=label, help_text=help_text, required=False, min_value=minimum, max_value=MAX_NUMBER
    )


class TrainingForm(FoldedForm):
    """The options that `manage.py lm_train` takes on its command line; `settings` and `base` once it is valid."""

    name = forms.CharField(label="Name of the new model", max_length=180, validators=[is_name])
    corpus = forms.ModelChoiceField(
        Corpus.objects.all(), label="Corpus", to_field_name="slug", empty_label=None
    )
    preset = forms.ChoiceField(
        label="Preset", choices=lambda: [(name, name) for name in PRESETS], initial="tiny"
    )
    base = forms.CharField(
        label="Starts from",
        required=False,
        max_length=500,
        initial=DEMO_NAME,
        widget=forms.TextInput(
            attrs={"list": "base-models", "spellcheck": "false", "autocomplete": "off"}
        ),
        help_text="A folder of the site's models, or a name on Hugging Face. Leave this empty to train from scratch.",
    )
    mode = forms.ChoiceField(
        label="Weights to train", choices=Training.Mode.choices, initial=Training.Mode.LORA
    )
    tokenizer = forms.CharField(
        label="Tokenizer",
        required=False,
        max_length=500,
        help_text="A folder of the site's models, required if you train from scratch. Otherwise, leave this empty: the tokenizer of the base model is used.",
    )
    epochs = forms.FloatField(label="Epochs", required=False, min_value=0.01, max_value=1000)
    context = _number("Tokens per row")
    batch_rows = _number("Rows per device at a time")
    accumulation = _number("Batches per step")
    learning_rate = forms.FloatField(
        label="Learning rate", required=False, min_value=0, max_value=10
    )
    seed = _number("Seed", minimum=0)
    limit = _number("Only the first N documents")
    keep = forms.CharField(
        label="Keep the weights of steps",
        required=False,
        max_length=300,
        help_text="Numbers, separated by commas. These weights can be scored in addition to the result.",
    )
    OVERRIDES = (
        "epochs", "context", "batch_rows", "accumulation", "learning_rate", "seed", "limit",
    )  # fmt: skip
    MAIN = ("name", "corpus", "preset", "mode", "base")
    settings: TrainingSettings

    def clean_base(self) -> str:
        return self._folder("base", "pretrained")

    def clean_tokenizer(self) -> str:
        return self._folder("tokenizer", "tokenizer")

    def clean_keep(self) -> Sequence[int]:
        typed = [part.strip() for part in self.cleaned_data["keep"].split(",") if part.strip()]
        if not all(part.isdecimal() and len(part) < 10 for part in typed):
            raise ValidationError("These are not whole numbers, separated by commas.")
        return [int(part) for part in typed]

    def _folder(self, name: str, argument: str) -> str:
        typed: str = self.cleaned_data[name].strip()
        if typed in ("", DEMO_NAME):
            return typed
        try:
            return with_folders({argument: typed})[argument]
        except ScoringError as error:
            raise ValidationError(str(error)) from error

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            typed = {name: cleaned[name] for name in self.OVERRIDES if cleaned[name] is not None}
            try:
                self.settings = of_preset(cleaned["preset"], cleaned["mode"], **typed)
            except TrainingError as error:
                raise ValidationError(str(error)) from error
        return cleaned


class StudyForm(forms.Form):
    """On which study's test cases something is to be scored."""

    study = forms.ModelChoiceField(
        Study.objects.none(), label="Study", to_field_name="slug", empty_label=None
    )

    def __init__(self, studies: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["study"].queryset = studies  # type: ignore[attr-defined]
