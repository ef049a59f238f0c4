"""Forms that ask for work of models: what is typed is checked as far as it can be without loading one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain, islice
from os.path import exists, isdir
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from experiment.models import Item
from lib.folders import inside
from lib.name_fields import is_name
from lib.newlines import with_unix_newlines
from lib.pages import UnixTextField
from scoring.backends import opening, parse_model_args
from scoring.backends.model_files import check_files
from scoring.backends.opening import check_server
from scoring.backends.registry import SCORERS, WRITERS, Place, kind_of, known_kind, place_of
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import PLACEHOLDER, Prompt, PromptError
from scoring.lab import words
from scoring.lab.server_choice import ServerChoice
from scoring.models import ScoringRun
from scoring.services.asking.forecast import Forecast
from scoring.services.asking.settings import Asked
from scoring.services.runs import DEFAULT_SEED

# Arguments that may be a folder
NAMED = ("pretrained", "peft", "tokenizer")
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
MOST_OFFERED = 200


def model_folders() -> list[str]:
    """Names of the models that lie below MODELS_DIR, at most two folders deep."""
    root: Path = settings.MODELS_DIR
    found = chain(root.glob("*/config.json"), root.glob("*/*/config.json"))
    return sorted(str(path.parent.relative_to(root)) for path in islice(found, MOST_OFFERED))


def with_folders(args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with whole paths for the names of folders.

    Raises:
        ScoringError: one is neither a folder below MODELS_DIR nor a name on the hub, or was copied in part.
    """
    return {name: _found(name, value) if name in NAMED else value for name, value in args.items()}


def _found(name: str, value: str) -> str:
    path = inside(settings.MODELS_DIR, value)
    # By its whole path, it may be on the worker's machine alone
    if path is not None and (value.startswith("/") or isdir(path)):
        if isdir(path):
            check_files(path)
        return str(path)
    if HUB_NAME.fullmatch(value) and not exists(settings.BASE_DIR / value):
        return value
    raise ScoringError(
        f"{name}: “{value[:200]}” is neither a folder in {settings.MODELS_DIR} nor a name on Hugging Face."
    )


def offered_backends() -> list[tuple[str, str]]:
    """The kinds of models that can be scored; of packages on the workers' own machines nothing is known here."""
    is_elsewhere = settings.JOB_EXECUTOR == "celery"
    return [
        (kind.name, kind.label)
        for kind in SCORERS
        if is_elsewhere or not kind.package or find_spec(kind.package) is not None
    ]


MAX_NUMBER = 2**31 - 1  # what the database's whole numbers hold


def checked_model_args(backend: str, args: Mapping[str, str]) -> dict[str, str]:
    """The arguments with whole paths of folders; refuses what no model of this kind takes, and what is not on the
    site's lists of servers and folders.

    Raises:
        ScoringError: one sentence on what is wrong.
    """
    opening.check_model_args(backend, args)
    opening.check_server(backend, args)
    if known_kind(backend).named_by == "pretrained" and "pretrained" not in args:
        raise ScoringError(
            "Name the model: a folder of the site's models, or its name on Hugging Face (pretrained=NAME)."
        )
    return with_folders(args)


class ScoredForm(forms.Form):
    """The model that is to score; once it is valid, with its `backend` and `parsed_args`."""

    model = forms.ChoiceField(label="Kind of model", choices=offered_backends)
    model_args: forms.CharField

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        cleaned["backend"] = self.kind_of_choice(cleaned.get("model", ""))
        if cleaned["backend"] and "model_args" in cleaned:
            args: dict[str, str] = {}
            try:
                args = self.named_args(cleaned) | parse_model_args(cleaned["model_args"])
                cleaned["parsed_args"] = checked_model_args(cleaned["backend"], args)
            except ScoringError as error:
                self.say_not_allowed(error, args.get("base_url", ""))
                self.add_error("model_args", str(error))
        return cleaned

    def kind_of_choice(self, chosen: str) -> str:
        return chosen

    def named_args(self, cleaned: Mapping[str, Any]) -> dict[str, str]:
        """Arguments that fields of their own have."""
        return {}

    def say_not_allowed(self, error: Exception, base_url: str) -> None:
        """Nothing, where the page does not say who can allow an address."""


class FoldedForm(forms.Form):
    """Its `MAIN` fields are shown at once, the others to those who open them."""

    MAIN: tuple[str, ...]

    @property
    def main_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MAIN]

    @property
    def advanced_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.MAIN]

    @property
    def wants_advanced(self) -> bool:
        """True if something beyond the usual was typed or is wrong."""
        return any(field.errors or field.data for field in self.advanced_fields)


class QueueForm(FoldedForm, ServerChoice, ScoredForm):
    """The options that `manage.py score` takes on its command line."""

    KIND, MODEL_NAME = "model", "named"

    named = forms.CharField(
        label="Model",
        required=False,
        max_length=300,
        strip=True,
        widget=forms.TextInput(
            attrs={"spellcheck": "false", "autocomplete": "off", "list": "model-folders"}
        ),
        help_text="A folder of the site's models, a name on Hugging Face, or the name on a server. The demonstration model "
        "does not need any.",
    )
    model_args = forms.CharField(
        label="Other settings of the model",
        required=False,
        max_length=2000,
        strip=True,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text="Separated by commas, such as dtype=float32, revision=main. A server needs tokenizer=NAME, a folder or a name on "
        "Hugging Face; one that is not in the list also needs base_url=ADDRESS.",
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
        help_text="Shown in tables. If empty, the name above.",
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
        help_text=f"Only for “Swapped context”, which replaces sentences by those of other abstracts. If empty, {DEFAULT_SEED}.",
    )
    batch_tokens = forms.IntegerField(
        label="Tokens scored at once",
        required=False,
        min_value=1,
        max_value=MAX_NUMBER,
        help_text="If empty, a number that suits the machine.",
    )
    MAIN = ("model", "named", "conditions", "prompt")

    def named_args(self, cleaned: Mapping[str, Any]) -> dict[str, str]:
        server, kind = self.server_of(cleaned["model"]), known_kind(cleaned["backend"])
        if server is not None:
            return self.args_at(server, cleaned.get("named") or "")
        named = cleaned.get("named")
        return {kind.named_by: named} if kind.named_by and named else {}

    def clean_custom_prompt(self) -> str:
        return with_unix_newlines(self.cleaned_data["custom_prompt"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        try:
            if "prompt" in cleaned and "custom_prompt" in cleaned:
                Prompt.of(cleaned["prompt"], cleaned["custom_prompt"])
        except PromptError as error:
            sentence = str(error)
            self.add_error("custom_prompt", f"{sentence[:1].upper()}{sentence[1:]}.")
        return cleaned

    def settings(self) -> dict[str, Any]:
        """The arguments of `queue_runs`."""
        values = dict(self.cleaned_data)
        del values["model"], values["named"]
        return values | {"model_args": values.pop("parsed_args")}


MOST_MONEY = 1_000_000
ASKS = "count"  # by the button that asks five questions


def _money(label: Any, help_text: Any = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label, help_text=help_text, required=False, min_value=0, max_value=MOST_MONEY,
        max_digits=12, decimal_places=4,
    )  # fmt: skip


def instructions_field(
    initial: Callable[[], str], rows: int, help_text: Any, label: Any = None
) -> UnixTextField:
    """A field for the instructions to a model, as shipped where it is left empty."""
    return UnixTextField(
        label=label or "Instructions",
        required=False,
        max_length=50_000,
        initial=initial,
        widget=forms.Textarea(attrs={"rows": rows}),
        help_text=help_text,
    )


class ModelForm(ServerChoice):
    """The model that is asked, and what it may cost; `asked` once it is valid."""

    KIND, MODEL_NAME = "generator", "model"

    generator = forms.ChoiceField(
        label="Kind of model", choices=[(kind.name, kind.label) for kind in WRITERS]
    )
    model = forms.CharField(
        label="Model",
        required=False,
        max_length=200,
        validators=[is_name],
        help_text="Name on the server; on the site's machine, a folder of its models or a name on Hugging Face.",
    )
    base_url = forms.CharField(
        label="Address of the server",
        required=False,
        max_length=300,
        help_text="http://HOST:PORT, for a server that is not in the list. A provider needs none. A site administrator adds servers to the list.",
    )
    model_args = forms.CharField(
        label="Other settings of the model",
        required=False,
        max_length=1000,
        help_text="Separated by commas, such as temperature=0.7, seed=1. Others: top_p, max_tokens, concurrency; for a model that reasons first: enable_thinking, reasoning_effort, think_end_token.",
    )
    price_in = _money(
        "Price per million tokens read",
        "Needed to show the cost and to keep a budget in money.",
    )
    price_out = _money("Price per million tokens written")
    budget_tokens = forms.IntegerField(
        label="Maximum number of tokens", required=False, min_value=1, max_value=2**53
    )
    budget_money = _money("Maximum cost")
    MODEL: tuple[str, ...] = ("generator", "model")
    COSTS = ("price_in", "price_out", "budget_tokens", "budget_money")
    # Fields of a subclass before and behind those of the model; one for what the model is told, and its heading
    BEFORE: tuple[str, ...] = ()
    BEHIND: tuple[str, ...] = ()
    TOLD = ("instructions", "Instructions to the model")
    asked: Asked
    foretold = ""  # what a run would cost, once the button for it was pressed

    def foretells(self, forecast: Callable[..., Forecast], make: Callable[[], Any]) -> bool:
        """True if the cost was asked for, and not the run.

        Args:
            forecast: of the service whose run `make` makes.
        Raises:
            ScoringError: the run cannot be meant like this, or the model cannot be asked.
        """
        if "forecast" not in self.data:
            return False
        self.foretold = words.foretold(forecast(make, asks=self.data["forecast"] == ASKS))
        return True

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self.asked = self._asked(cleaned)
                check_server(self.asked.generator, self.asked.model_args)
                self.check_asked()
            except ScoringError as error:
                self.say_not_allowed(error, cleaned["base_url"])
                raise ValidationError(str(error)) from error
        return cleaned

    def check_asked(self) -> None:
        """Raises ScoringError where `asked` cannot be meant."""
        self.asked.check()

    def _asked(self, cleaned: dict[str, Any]) -> Asked:
        server = self.server_of(cleaned["generator"])
        chosen = self.kind_of_choice(cleaned["generator"])
        args, kind = parse_model_args(cleaned["model_args"]), kind_of(chosen)
        if kind is not None and kind.place == Place.SERVER:
            # What the arguments lack, in the names of the page's fields
            is_named = server is not None or bool(kind.provider)
            needed = [self[name] for name in (("model",) if is_named else ("base_url", "model"))]
            if missing := [str(f.label) for f in needed if not cleaned[f.name].strip()]:
                raise ScoringError(f"A {kind.label} needs: {', '.join(missing)}.")
            if server is None and (base_url := cleaned["base_url"].strip()):
                args |= {"base_url": base_url}
        if server is not None:
            args |= self.args_at(server, cleaned["model"].strip())
        elif kind is not None and kind.named_by:
            args = with_folders(args | {kind.named_by: cleaned["model"]})
        costs = {name: cleaned[name] for name in self.COSTS}
        has_no_price = costs["price_in"] is None and costs["price_out"] is None
        if server is not None and kind is not None and kind.writes and has_no_price:
            costs |= {"price_in": server.price_in, "price_out": server.price_out}
        return Asked(chosen, args, *costs.values())

    def fields_of(self, *names: str) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def shown(self) -> list[forms.BoundField]:
        """Fields that are shown at once."""
        # A server of the list brings its address
        address = () if self.servers else ("base_url",)
        where = self.MODEL.index("model") + 1
        named = (*self.MODEL[:where], *address, *self.MODEL[where:])
        return self.fields_of(*self.BEFORE, *named, *self.BEHIND)

    @property
    def more(self) -> tuple[str, list[forms.BoundField], bool]:
        """The group of fields for what no list offers."""
        names = ("base_url", "model_args") if self.servers else ("model_args",)
        return "More", self.fields_of(*names), bool(self.errors)

    @property
    def folded(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """Groups of fields that are shown to those who open them: a heading, the fields, and whether it is open."""
        name, heading = self.TOLD
        return [
            ("Prices and budget", self.fields_of(*self.COSTS), bool(self.errors)),
            (heading, [self[name]], bool(self[name].errors)),
            self.more,
        ]


class AtZeroForm(ModelForm):
    """For work that is done at temperature 0, unless the model accepts none."""

    MODEL = (*ModelForm.MODEL, "temperature")

    temperature = forms.ChoiceField(
        label="Temperature of a chat server",
        required=False,
        choices=[
            ("", "0, unless set below"),
            ("none", "the server's own, for models that accept no temperature"),
        ],
        help_text="At the server's own temperature, answers are drawn by chance. A model that chooses is then asked five times in each order.",
    )

    def _asked(self, cleaned: dict[str, Any]) -> Asked:
        asked = super()._asked(cleaned)
        if cleaned["temperature"] and place_of(asked.generator) == Place.SERVER:
            args = {"temperature": cleaned["temperature"], **asked.model_args}
            return replace(asked, model_args=args)
        return asked
