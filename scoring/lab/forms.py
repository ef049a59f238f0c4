"""The form that queues runs. What is typed is checked as far as it can be without loading a model."""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from django import forms
from django.conf import settings

from experiment.models import Item
from lib.name_fields import is_name
from lib.newlines import with_unix_newlines
from scoring.backends import ALIASES, opening, parse_model_args
from scoring.backends.http.address import check_allowed, parse_address
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import PLACEHOLDER, Prompt, PromptError
from scoring.lab.folders import with_folders
from scoring.models import ScoringRun
from scoring.services.runs import DEFAULT_SEED

BACKENDS = (
    ("hf", "folder or Hub name (hf)"),
    ("completions", "completions server"),
    ("vllm", "vLLM in the worker's process"),
    ("embedded", "demonstration model"),
)


def offered_backends() -> list[tuple[str, str]]:
    """The kinds of models that can be scored; of vLLM on the workers' own machines nothing is known here."""
    has_vllm = settings.JOB_EXECUTOR == "celery" or find_spec("vllm") is not None
    return [choice for choice in BACKENDS if has_vllm or choice[0] != "vllm"]


MAX_NUMBER = 2**31 - 1  # what the database's whole numbers hold


def checked_model_args(backend: str, args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with whole paths of folders; refuses what no model of this kind takes, and what is not on the
    site's lists of servers and folders.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    opening.check_model_args(backend, args)
    if backend == "completions":
        check_allowed(parse_address(args["base_url"]), settings.SCORING_HOSTS)
    if backend == "transformers" and "pretrained" not in args:
        raise ScoringError("Say which model is meant: pretrained=FOLDER, or its name on the Hub.")
    return with_folders(args)


class QueueForm(forms.Form):
    """What `manage.py score` takes on its command line."""

    model = forms.ChoiceField(label="Kind of model", choices=offered_backends)
    model_args = forms.CharField(
        label="Model arguments",
        required=False,
        max_length=2000,
        strip=True,
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "list": "model-folders"}
        ),
        help_text="name=value, separated by commas. A folder of the site's models, or a name on the model hub: "
        "pretrained=NAME; a server: base_url, model and tokenizer. The demonstration model takes none.",
    )
    conditions = forms.MultipleChoiceField(
        choices=ScoringRun.Condition.choices,
        initial=["full"],
        widget=forms.CheckboxSelectMultiple,
    )
    prompt = forms.ChoiceField(choices=ScoringRun.Prompt.choices, initial="paper")
    custom_prompt = forms.CharField(
        label="Custom text",
        required=False,
        max_length=5000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=f"Only for the prompt “custom text”; {PLACEHOLDER} stands for the abstract.",
    )
    name = forms.CharField(
        label="Name of the model",
        required=False,
        max_length=200,
        validators=[is_name],
        help_text="In tables; empty: as its arguments name it.",
    )
    source = forms.ChoiceField(
        label="Test cases", required=False, choices=[("", "all"), *Item.Source.choices]
    )
    limit = forms.IntegerField(
        label="Only the first", required=False, min_value=1, max_value=MAX_NUMBER
    )
    seed = forms.IntegerField(
        label="Seed of the swaps",
        required=False,
        min_value=0,
        max_value=MAX_NUMBER,
        help_text=f"Empty: {DEFAULT_SEED}.",
    )
    batch_tokens = forms.IntegerField(
        label="Tokens scored at once",
        required=False,
        min_value=1,
        max_value=MAX_NUMBER,
        help_text="Empty: as many as suit the machine.",
    )
    # Shown only to those who open them
    ADVANCED = ("custom_prompt", "name", "source", "limit", "seed", "batch_tokens")

    def main_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.ADVANCED]

    def advanced_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.ADVANCED]

    def wants_advanced(self) -> bool:
        """Whether something beyond the usual was typed or is wrong."""
        return any(field.errors or field.data for field in self.advanced_fields())

    def clean_custom_prompt(self) -> str:
        return with_unix_newlines(self.cleaned_data["custom_prompt"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        kind = cleaned.get("model", "")
        cleaned["backend"] = ALIASES.get(kind, kind)
        if "model_args" in cleaned and kind:
            try:
                parsed = parse_model_args(cleaned["model_args"])
                cleaned["parsed_args"] = checked_model_args(cleaned["backend"], parsed)
            except ScoringError as error:
                self.add_error("model_args", str(error))
        self._check_prompt(cleaned)
        return cleaned

    def _check_prompt(self, cleaned: Mapping[str, Any]) -> None:
        if "prompt" not in cleaned or "custom_prompt" not in cleaned:
            return
        try:
            Prompt.of(cleaned["prompt"], cleaned["custom_prompt"])
        except PromptError as error:
            sentence = str(error)
            self.add_error("custom_prompt", f"{sentence[:1].upper()}{sentence[1:]}.")

    def settings(self) -> dict[str, Any]:
        """What `queue_runs` takes."""
        values = {
            name: self.cleaned_data[name]
            for name in (
                "backend",
                "conditions",
                "prompt",
                "custom_prompt",
                "name",
                "source",
                "limit",
                "seed",
                "batch_tokens",
            )
        }
        return values | {"model_args": self.cleaned_data["parsed_args"]}
