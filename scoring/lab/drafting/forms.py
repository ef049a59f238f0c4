"""What a language model is asked on a page: to draft from abstracts, or to review what is in review."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from experiment.models import ResearchField
from lib.name_fields import is_name
from lib.pages import UnixTextField
from scoring.backends import parse_model_args
from scoring.backends.generating import OPENED_BY
from scoring.domain.backend import ScoringError
from scoring.lab.folders import with_folders
from scoring.models.generating import Kind
from scoring.services.asking.settings import Asked
from scoring.services.drafting import texts
from scoring.services.drafting.runs import MOST_REPAIRS
from scoring.services.drafting.sources import SourceAbstract, of_csv, of_pasted
from scoring.services.model_reviews import default_instructions as review_instructions

MOST_BYTES = 5_000_000
MOST_MONEY = 1_000_000
KINDS = [(kind.value, kind.label) for kind in Kind if kind.value in OPENED_BY]  # those that write


def _money(label: Any, help_text: Any = "") -> forms.DecimalField:
    return forms.DecimalField(
        label=label, help_text=help_text, required=False, min_value=0, max_value=MOST_MONEY,
        max_digits=12, decimal_places=4,
    )  # fmt: skip


class ModelForm(forms.Form):
    """Which model is asked, and what it may cost; `asked` once it is valid."""

    generator = forms.ChoiceField(label=_("Kind of model"), choices=KINDS)
    model = forms.CharField(
        label=_("Model"),
        required=False,
        max_length=200,
        validators=[is_name],
        help_text=_(
            "Its name on the server; in this process, a folder of the site's models or a name on the model hub."
        ),
    )
    base_url = forms.CharField(
        label=_("Address of the chat server"),
        required=False,
        max_length=300,
        help_text=_(
            "http://HOST:PORT; whoever runs the site lists the hosts that texts may be sent to."
        ),
    )
    model_args = forms.CharField(
        label=_("Model arguments"),
        required=False,
        max_length=1000,
        help_text=_(
            "name=value, separated by commas: temperature, top_p, seed, max_tokens, concurrency."
        ),
    )
    price_in = _money(
        _("Price of a million tokens read"),
        _("Needed to show the cost and to keep a budget in money."),
    )
    price_out = _money(_("Price of a million tokens written"))
    budget_tokens = forms.IntegerField(
        label=_("At most so many tokens"), required=False, min_value=1, max_value=2**53
    )
    budget_money = _money(_("At most so much money"))
    COSTS = ("price_in", "price_out", "budget_tokens", "budget_money")
    asked: Asked

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors:
            try:
                self.asked = self._asked(cleaned)
                self.check_asked()
            except ScoringError as error:
                raise ValidationError(str(error)) from error
        return cleaned

    def check_asked(self) -> None:
        """Raises ScoringError where `asked` cannot be meant."""
        self.asked.check()

    def _asked(self, cleaned: dict[str, Any]) -> Asked:
        kind, args = cleaned["generator"], parse_model_args(cleaned["model_args"])
        if kind == Kind.CHAT:
            self._check_given("base_url", "model")
            args |= {"base_url": cleaned["base_url"], "model": cleaned["model"]}
        elif kind == Kind.HF:
            args = with_folders(args | {"pretrained": cleaned["model"]})
        return Asked(
            kind,
            args,
            cleaned["price_in"],
            cleaned["price_out"],
            cleaned["budget_tokens"],
            cleaned["budget_money"],
        )

    def _check_given(self, *names: str) -> None:
        """Raises ScoringError, as what the arguments lack, in the names of the page's fields."""
        missing = [str(self[name].label) for name in names if not self.cleaned_data[name].strip()]
        if missing:
            raise ScoringError(
                _("A chat server needs: %(fields)s.") % {"fields": ", ".join(missing)}
            )

    def fields_of(self, *names: str) -> list[forms.BoundField]:
        return [self[name] for name in names]

    @property
    def of_model(self) -> list[forms.BoundField]:
        return self.fields_of("generator", "model", "base_url", "model_args")

    @property
    def of_costs(self) -> list[forms.BoundField]:
        return self.fields_of(*self.COSTS)


class DraftingForm(ModelForm):
    """Abstracts, pasted or in a file, and how they are to be altered; `abstracts` once it is valid."""

    pasted = UnixTextField(
        label=_("Abstracts"),
        required=False,
        max_length=500_000,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text=_("With an empty line between two of them."),
    )
    subfield = forms.ChoiceField(
        label=_("Subfield"), required=False, help_text=_("Of the abstracts above.")
    )
    file = forms.FileField(
        label=_("Or a CSV file"),
        required=False,
        help_text=_(
            "Columns abstract, doi, subfield, publication_date; only the first must be there."
        ),
    )
    repairs = forms.IntegerField(
        label=_("How often the model is told what is wrong"),
        initial=3,
        min_value=0,
        max_value=MOST_REPAIRS,
    )
    instructions = UnixTextField(
        label=_("Instructions"),
        required=False,
        max_length=50_000,
        initial=texts.default_instructions,
        widget=forms.Textarea(attrs={"rows": 16}),
        help_text=_(
            "Filled in: {field}, {subfield}, {purpose}, {examples} and {abstract}. Empty: as shipped."
        ),
    )
    abstracts: list[SourceAbstract]

    def __init__(self, research_field: ResearchField, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.research_field = research_field
        names = research_field.subfields.values_list("name", flat=True)
        choices = [("", _("none")), *((name, name) for name in names)]
        self.fields["subfield"].choices = choices  # type: ignore[attr-defined]

    @property
    def of_source(self) -> list[forms.BoundField]:
        return self.fields_of("pasted", "subfield", "file")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if not self.errors:
            self.abstracts = self._abstracts(cleaned)
        return cleaned

    def _abstracts(self, cleaned: dict[str, Any]) -> list[SourceAbstract]:
        pasted, file = cleaned["pasted"].strip(), cleaned["file"]
        if bool(pasted) == bool(file):
            raise ValidationError(_("Paste abstracts, or choose a file."))
        if pasted:
            return of_pasted(pasted, cleaned["subfield"], self.research_field)
        if file.size > MOST_BYTES:
            raise ValidationError(_("The file is too large."))
        try:
            return of_csv(file.read().decode("utf-8"), self.research_field)
        except UnicodeDecodeError as error:
            raise ValidationError(_("The file is not UTF-8 text.")) from error


class ReviewingForm(ModelForm):
    """A model's opinion of what is in review."""

    prefix = "review"
    instructions = UnixTextField(
        label=_("Instructions"),
        required=False,
        max_length=50_000,
        initial=review_instructions,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text=_("Filled in: {field}, {subfield} and {purpose}. Empty: as shipped."),
    )
