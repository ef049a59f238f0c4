"""Abstracts that are pasted: into a new study, or into a field of research, as drafts that go to review in one step.

Where something was read otherwise than it was pasted, or the checks report something, the page shows it before anything is stored.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from experiment.domain.roles import FieldRight
from experiment.imports.read.items import ItemsFile
from experiment.imports.read.pasted import read_pasted
from experiment.imports.read.rows import FileRefusedError
from experiment.imports.reading import items_of
from experiment.imports.store.item_plans import AS_DRAFTS, ItemPlan, ItemRow
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.lab.access import for_field, user_of
from experiment.lab.differences import said
from experiment.lab.item_files import shown_row
from experiment.lab.item_words import review_rule
from experiment.lab.together import submit_all
from experiment.models import Item, ResearchField
from lib.formatting import count, verb
from lib.http import either
from lib.pages import UnixTextField, show

MOST_NAMED = 10  # problems
MOST_SHOWN = 50  # test cases
MOST_CHARACTERS = 500_000
EXAMPLE = (
    "Adults who were kept awake for one night recalled [[fewer, more]] of forty words the next day."
)


class PastedForm(forms.Form):
    """shown: the hash of the text whose test cases a person has seen as they were read."""

    shown = forms.CharField(required=False, widget=forms.HiddenInput)
    texts = UnixTextField(
        label="Abstracts",
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 14, "placeholder": EXAMPLE}),
    )

    def clean_texts(self) -> ItemsFile:
        """As the import reads them."""
        try:
            pasted = read_pasted(self.cleaned_data["texts"])
        except FileRefusedError as refused:
            raise ValidationError(str(refused)) from refused
        file = items_of(pasted.data, unit="abstract")
        records = [
            replace(one, read_as=(*pasted.said.get(one.row, ()), *one.read_as))
            for one in file.records
        ]
        return replace(file, records=records)

    @property
    def fingerprint(self) -> str:
        """The hash of what was pasted."""
        return hashlib.sha256(self["texts"].data.encode()).hexdigest()

    def check_shown(self, plan: ItemPlan) -> None:
        """Raises ToBeSeenError where something is to be said of the texts that their paster has not seen yet."""
        if self.fingerprint != self.cleaned_data["shown"] and any(map(has_to_be_seen, plan.rows)):
            raise ToBeSeenError(plan)


class ToBeSeenError(Exception):
    """Nothing is stored: there is something to see of `plan` first."""

    def __init__(self, plan: ItemPlan) -> None:
        self.plan = plan
        super().__init__()


@dataclass(frozen=True, slots=True)
class Seen:
    """The pasted abstracts before anything is stored: those about which something is to be said."""

    heading: str
    as_pasted: str  # what is said of the others
    rows: list[dict[str, Any]]
    n_more: int

    @classmethod
    def of(cls, plan: ItemPlan) -> "Seen":
        rows = [row for row in plan.rows if has_to_be_seen(row)]
        n, n_others = len(plan.rows), len(plan.rows) - len(rows)
        read = verb(n_others, "is read as it was pasted", "are read as they were pasted")
        as_pasted = f"{count(n_others, 'other')} {read}, and the checks report nothing about {verb(n_others, 'it', 'them')}."
        return cls(
            heading=f"{count(n, 'abstract')}, as {verb(n, 'it was', 'they were')} read",
            as_pasted=as_pasted if n_others else "",
            rows=[shown_row(row) for row in rows[:MOST_SHOWN]],
            n_more=max(0, len(rows) - MOST_SHOWN),
        )


def has_to_be_seen(row: ItemRow) -> bool:
    is_changed = row.action == Action.UPDATE
    return bool(row.record.read_as or row.findings or row.note or is_changed)


def named(refusal: PlanRefusedError) -> list[str]:
    """Problems in the words of who pasted."""
    problems = refusal.plan.problems
    told = []
    for problem in problems[:MOST_NAMED]:
        # A paste has neither rows nor columns
        version = ", altered version" if problem.column == "altered" else ""
        place = "" if problem.row is None else f"Abstract {problem.row}{version}: "
        told.append(f"{place}{problem.message}." if place else problem.message)
    if more := len(problems) - len(told):
        told.append(f"… and {more} more")
    return told


@either
@for_field(FieldRight.CURATE_FIELD)
def paste_items(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Into a field, as drafts; with `review`, which go to review at once."""
    form = PastedForm(request.POST) if request.method == "POST" else PastedForm()
    seen = None
    if form.is_valid():
        try:
            plan = _store(form, research_field, user_of(request))
        except PlanRefusedError as refusal:
            form.add_error("texts", named(refusal))
        except ToBeSeenError as to_be_seen:
            seen = Seen.of(to_be_seen.plan)
        else:
            messages.success(request, said(plan, "test case"))
            drafts = Item.objects.filter(
                key__in=plan.keys, field=research_field.name, status=Item.Status.DRAFT
            )
            if "review" in request.POST and drafts:
                return submit_all(request, research_field, list(drafts))
            return redirect("lab:field", research_field.slug)
    rule = review_rule(research_field.reviews_needed)
    return show(request, "lab/item_files/paste.html", form=form, seen=seen, rule=rule)


def _store(form: PastedForm, research_field: ResearchField, by: User) -> ItemPlan:
    """Store the drafts, and return the plan that was done.

    Raises:
        PlanRefusedError: something is wrong with the texts, or the field has changed meanwhile.
        ToBeSeenError: something is to be said of them first.
    """
    file = form.cleaned_data["texts"]
    plan = AS_DRAFTS.plan(file, research_field, by=by)
    if plan.problems:
        raise PlanRefusedError(plan)
    form.check_shown(plan)
    return import_file(file, research_field, AS_DRAFTS, by=by, shown=plan.fingerprint)
