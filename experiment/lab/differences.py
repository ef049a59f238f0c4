"""The difference that a file makes to a field, its test cases or its questions: the forms and the page that both share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.http import HttpRequest

from experiment.imports.read.records import Unnamed
from experiment.imports.store.plans import Action, Plan
from experiment.lab import difference_words
from experiment.lab.difference_words import PROBLEMS
from lib.formatting import count
from lib.pages import offer

COLUMN = "column_"


def accepted_elsewhere() -> forms.CharField:
    return forms.CharField(
        label="Accepted elsewhere: where, and by whom",
        max_length=1_000,
        required=False,
        help_text=(
            "If this is empty, the imported rows become drafts, which people of this field review. Otherwise the rows are "
            "accepted immediately, and this note is stored with each."
        ),
    )


class LeadsForm(forms.Form):
    """Some of its fields are for leads of the field of research to decide."""

    for_leads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, is_lead: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not is_lead:
            for name in self.for_leads:
                self.fields.pop(name, None)


class ColumnsForm(LeadsForm):
    """Choices that make a file fit a field: its sheet, its names of our columns, as `column_NAME`, and whether its subfields are made."""

    may_be_named: ClassVar[Iterable[str]] = ()
    sheet = forms.CharField(required=False, widget=forms.HiddenInput)
    new_subfields = forms.BooleanField(required=False)
    for_leads: ClassVar[tuple[str, ...]] = ("new_subfields",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Chosen where the difference is shown, once the file's columns are known
        for name in self.may_be_named:
            self.fields[COLUMN + name] = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def columns(self) -> dict[str, str]:
        """The columns of a valid form: our names, and what the file calls them."""
        sent = self.cleaned_data
        return {name: sent[COLUMN + name] for name in self.may_be_named if sent[COLUMN + name]}

    @property
    def makes_subfields(self) -> bool:
        return bool(self.cleaned_data.get("new_subfields"))

    @property
    def query(self) -> str:
        return urlencode({name: value for name, value in self.cleaned_data.items() if value})


class ChooseColumnsForm(forms.Form):
    """The file's columns for ours: as was chosen, or as is guessed."""

    def __init__(self, unnamed: Unnamed, chosen: Mapping[str, str]) -> None:
        super().__init__()
        choices = [("", "none"), *((column, column) for column in unnamed.columns)]
        for name, guess in reversed([*unnamed.guess.items()]):
            self.fields[COLUMN + name] = forms.ChoiceField(
                label=name, choices=choices, initial=chosen.get(name, guess), required=False
            )


class ChooseSheetForm(forms.Form):
    sheet = forms.ChoiceField(label="Sheet")

    def __init__(self, sheets: Sequence[str]) -> None:
        super().__init__()
        offer(self, "sheet", [(name, name) for name in sheets])


@dataclass(frozen=True, slots=True)
class Cures:
    """Cures for problems where they are shown, the file being kept.

    add_subfields: the label of the link; empty where they are not the person's to add. none: said where nothing helps.
    """

    sheet_form: ChooseSheetForm | None
    columns_form: ChooseColumnsForm | None
    kept: Mapping[str, Any]
    missing_subfields: str
    add_subfields: str
    add_url: str
    none: str


def cures(plan: Plan[Any], form: ColumnsForm) -> Cures:
    unnamed, missing, n_problems = plan.unnamed, plan.missing_subfields, len(plan.problems)
    may_add = "new_subfields" in form.fields
    is_curable = unnamed or plan.sheets or (missing and n_problems == 1)
    return Cures(
        ChooseSheetForm(plan.sheets) if plan.sheets else None,
        ChooseColumnsForm(unnamed, form.columns) if unnamed else None,
        {k: v for k, v in form.cleaned_data.items() if v and not _is_chosen(k, plan)},
        difference_words.missing_subfields(missing, may_add=may_add) if missing else "",
        difference_words.add_subfields(len(missing)) if may_add else "",
        f"?{form.query}&new_subfields=on" if form.query else "?new_subfields=on",
        "" if is_curable or not n_problems else difference_words.hopeless(n_problems),
    )


def _is_chosen(name: str, plan: Plan[Any]) -> bool:
    """True for what the forms of the cures ask for anew."""
    return name.startswith(COLUMN) or (name == "sheet" and bool(plan.sheets))


PER_PAGE = 50


def compared(
    request: HttpRequest,
    plan: Plan[Any],
    form: ColumnsForm,
    noun: str,
    *,
    more: Mapping[str, Sequence[Any]] | None = None,
    has_changed: bool = False,
) -> dict[str, Any]:
    """The content of both pages of a difference: how many rows there are of each kind, and a page of those of one kind.

    The kind is that which the address asks for, else the first of which there are any. `more` are further kinds.
    """
    kinds = {str(a): [row for row in plan.rows if row.action == a] for a in Action}
    found = {PROBLEMS: plan.problems, **kinds, **(more or {})}
    chosen = request.GET.get("show", "")
    if chosen not in found:
        chosen = next((name for name, rows in found.items() if rows), str(Action.UNCHANGED))
    query = form.query
    return {
        "plan": plan,
        "show": chosen,
        "tabs": difference_words.tabs(found, chosen, query),
        "heading": difference_words.heading(chosen, f"{noun}s"),
        "are_problems": chosen == PROBLEMS,
        "change_column": "What changes" if chosen == Action.UPDATE else "Text",
        "page": Paginator(found[chosen], PER_PAGE).get_page(request.GET.get("page")),
        "has_changed": difference_words.changed_meanwhile(f"{noun}s") if has_changed else "",
        "sent": [(name, value) for name, value in form.cleaned_data.items() if value],
        "import_label": f"Import {count(len(plan.changing), noun)}",
        "query": query,
        "pages_query": f"{query}&show={chosen}" if query else f"show={chosen}",
        "cures": cures(plan, form),
    }


def said(plan: Plan[Any], noun: str) -> str:
    """A sentence on what an import has done."""
    counted = plan.count(Action.CREATE), plan.count(Action.UPDATE)
    return difference_words.imported(*counted, noun)
