"""A field's pages about the help of language models: what was drafted and reviewed, and the forms that ask for more."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, is_lead, user_of
from experiment.models import Item, ResearchField
from experiment.services import work as background
from lib.pages import UnixTextField, offer, refused, show
from scoring.domain.backend import ScoringError
from scoring.lab.forms import ModelForm, instructions_field
from scoring.lab.run_pages import RunPages
from scoring.models import DraftingRun, GeneratedDraft, ReviewingRun
from scoring.services import model_reviews
from scoring.services.drafting import runs as drafting_runs
from scoring.services.drafting import texts
from scoring.services.drafting.runs import MOST_REPAIRS
from scoring.services.drafting.sources import (
    SourceAbstract,
    changed_of_pasted,
    of_pasted,
    of_table,
)
from scoring.services.model_reviews import default_instructions as review_instructions

MOST_BYTES = 5_000_000


class DraftingForm(ModelForm):
    """Abstracts, pasted or in a file, and how they are to be altered; `abstracts` once it is valid."""

    pasted = UnixTextField(
        label="Abstracts",
        required=False,
        max_length=500_000,
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text="Separate abstracts by an empty line. Numbers of a list are left out, and lines that a PDF broke are joined.",
    )
    subfield = forms.ChoiceField(
        label="Subfield", required=False, help_text="Subfield of the abstracts above."
    )
    file = forms.FileField(
        label="Or a table",
        required=False,
        help_text=(
            "A spreadsheet (.xlsx, .ods), CSV, JSONL or Parquet with columns abstract, doi, subfield, publication_date; only "
            "abstract is required."
        ),
    )
    sheet = forms.CharField(
        label="Sheet",
        required=False,
        max_length=200,
        help_text="Of a spreadsheet, if several of its sheets have such columns.",
    )
    repairs = forms.IntegerField(
        label="Maximum number of corrections by the model",
        initial=3,
        min_value=0,
        max_value=MOST_REPAIRS,
    )
    instructions = instructions_field(
        texts.default_instructions,
        16,
        "The site fills in {field}, {subfield}, {purpose}, {examples} and {abstract}. Leave this empty for the built-in text.",
    )
    BEFORE, BEHIND = ("pasted", "subfield", "file", "sheet"), ("repairs",)
    abstracts: list[SourceAbstract]

    def __init__(self, research_field: ResearchField, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.research_field = research_field
        names = research_field.subfields.values_list("name", flat=True)
        choices = [("", "none"), *((name, name) for name in names)]
        offer(self, "subfield", choices)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if self.errors:
            return cleaned
        pasted, file = cleaned["pasted"].strip(), cleaned["file"]
        if bool(pasted) == bool(file):
            raise ValidationError("Paste abstracts, or choose a file.")
        if pasted:
            self.abstracts = of_pasted(pasted, cleaned["subfield"], self.research_field)
        elif file.size > MOST_BYTES:
            raise ValidationError("The file is too large.")
        else:
            self.abstracts = of_table(file.read(), self.research_field, cleaned["sheet"])
        return cleaned


class ReviewingForm(ModelForm):
    """A model's opinion of what is in review."""

    prefix = "review"
    instructions = instructions_field(
        review_instructions,
        10,
        "The site fills in {field}, {subfield} and {purpose}. Leave this empty for the built-in text.",
    )


SHOWN = 20


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def drafting(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _page(request, research_field)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def start(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = DraftingForm(research_field, request.POST, request.FILES, user=user_of(request))
    if form.is_valid():
        told, repairs = form.cleaned_data["instructions"], form.cleaned_data["repairs"]
        user = user_of(request)
        for said in changed_of_pasted(form.cleaned_data["pasted"]):
            messages.info(request, said)
        make = partial(
            drafting_runs.draft_run,
            research_field,
            form.abstracts,
            form.asked,
            instructions=told,
            repairs=repairs,
            by=user,
        )

        def stored() -> DraftingRun:
            return drafting_runs.store(make(), form.abstracts)

        with refused(form, ScoringError):
            if not form.foretells(drafting_runs.forecast, stored):
                return redirect(drafting_runs.start(make(), form.abstracts, user))
            if form.cleaned_data["file"]:
                form.foretold += " Choose the file again before you start."
    return _page(request, research_field, form=form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def review(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = ReviewingForm(request.POST, user=user_of(request))
    if form.is_valid():
        user, told = user_of(request), form.cleaned_data["instructions"]
        make = partial(
            model_reviews.review_run, research_field, form.asked, instructions=told, by=user
        )
        with refused(form, ScoringError):
            if not form.foretells(model_reviews.forecast, make):
                model_reviews.start(make(), user)
                return redirect("lab:drafting", research_field.slug)
    return _page(request, research_field, review_form=form)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def review_stop(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    found = get_object_or_404(ReviewingRun, field=research_field, pk=pk)
    background.stop(found, user_of(request))
    return redirect("lab:drafting", research_field.slug)


class DraftingPages(RunPages[DraftingRun]):
    name = part = "drafting"
    service = drafting_runs
    doors = (for_field(FieldRight.CURATE_FIELD), for_field(FieldRight.LEAD_FIELD))
    units = "abstracts"
    all_runs = "All drafts of models"
    told = ("Instructions to the model", "Instructions and sampling settings", "Instructions")

    def runs_of(self, research_field: ResearchField, /) -> QuerySet[DraftingRun]:
        return DraftingRun.objects.select_related("field").filter(field=research_field)

    def heading(self, run: DraftingRun) -> str:
        return f"Drafts by {run.model_name}"

    def state(self, run: DraftingRun) -> dict[str, Any]:
        drafts = run.drafts.select_related("item")
        return {"drafts": drafts.annotate(n_answers=Count("attempts"))}

    def may_steer(self, request: HttpRequest) -> bool:
        return is_lead(request)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def draft(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    """Every answer to one abstract, as it came."""
    found = _draft_of(research_field, pk, row)
    return show(
        request,
        "scoring/drafting/draft.html",
        run=found.run,
        draft=found,
        attempts=found.attempts.all(),
        is_undecided=found.state in drafting_runs.UNDECIDED,
    )


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def take(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    """Open in the editor what the model could not bring right."""
    found = _draft_of(research_field, pk, row)
    with refused(request):
        scratch = drafting_runs.take(found, user_of(request))
        editor = reverse("lab:new_item", args=[research_field.slug])
        return redirect(f"{editor}?begun={scratch.uid}")
    return redirect("lab:generated_draft", research_field.slug, pk, row)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def dismiss(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    found = _draft_of(research_field, pk, row)
    with refused(request):
        drafting_runs.dismiss(found, user_of(request))
    return redirect(found.run)


def _draft_of(research_field: ResearchField, pk: int, row: int) -> GeneratedDraft:
    rows = GeneratedDraft.objects.select_related("run__field", "item", "decided_by")
    return get_object_or_404(rows, run__field=research_field, run=pk, row=row)


def _page(request: HttpRequest, research_field: ResearchField, **sent: Any) -> HttpResponse:
    drafted = Count("drafts", filter=Q(drafts__state=GeneratedDraft.State.DRAFTED))
    runs = DraftingRun.objects.filter(field=research_field).annotate(n_drafted=drafted)
    reviews = ReviewingRun.objects.filter(field=research_field)[:SHOWN]
    in_review = Item.objects.filter(field=research_field.name, status=Item.Status.IN_REVIEW)
    in_review = in_review.exclude(kind=Item.Kind.QUESTION)
    context: dict[str, Any] = {
        "runs": runs.select_related("field", "created_by")[:SHOWN],
        "reviews": [(found, model_reviews.spent(found)) for found in reviews],
        "n_in_review": in_review.count(),
        "form": DraftingForm(research_field, user=user_of(request)),
        "review_form": ReviewingForm(user=user_of(request)),
    }
    return show(request, "scoring/drafting/drafting.html", **context | sent)
