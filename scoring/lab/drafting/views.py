"""A field's pages about the help of language models: what was drafted and reviewed, and the forms that ask for more."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.models import Item, ResearchField
from experiment.services import work as background
from lib.http import UNPROCESSABLE
from scoring.domain.backend import ScoringError
from scoring.lab.drafting.forms import DraftingForm, ReviewingForm
from scoring.models import DraftingRun, GeneratedDraft, ReviewingRun
from scoring.services import model_reviews
from scoring.services.drafting import runs as drafting_runs

SHOWN = 20


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def drafting(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _page(request, research_field)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def start(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = DraftingForm(research_field, request.POST, request.FILES)
    if form.is_valid():
        told, repairs = form.cleaned_data["instructions"], form.cleaned_data["repairs"]
        user = user_of(request)
        run = drafting_runs.draft_run(
            research_field, form.abstracts, form.asked, instructions=told, repairs=repairs, by=user
        )
        return redirect(drafting_runs.start(run, form.abstracts, user))
    return _page(request, research_field, form=form, status=UNPROCESSABLE)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def review(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = ReviewingForm(request.POST)
    if form.is_valid():
        user, told = user_of(request), form.cleaned_data["instructions"]
        try:
            run = model_reviews.review_run(research_field, form.asked, instructions=told, by=user)
            model_reviews.start(run, user)
            return redirect("lab:drafting", research_field.slug)
        except ScoringError as error:
            form.add_error(None, str(error))
    return _page(request, research_field, review_form=form, status=UNPROCESSABLE)


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def review_stop(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    found = get_object_or_404(ReviewingRun, field=research_field, pk=pk)
    background.stop(found, user_of(request))
    return redirect("lab:drafting", research_field.slug)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def run(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return render(request, "scoring/drafting/run.html", _run_context(research_field, pk))


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def run_live(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """The part of a run's page that changes."""
    return render(request, "scoring/drafting/_run.html", _run_context(research_field, pk))


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def stop(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return redirect(background.stop(_run_of(research_field, pk), user_of(request)))


@require_POST
@for_field(FieldRight.LEAD_FIELD)
def resume(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    return redirect(background.retry(_run_of(research_field, pk), user_of(request)))


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def draft(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    """Every answer to one abstract, as it came."""
    found = _draft_of(research_field, pk, row)
    context = {
        "research_field": research_field,
        "run": found.run,
        "draft": found,
        "attempts": found.attempts.all(),
        "is_undecided": found.state in drafting_runs.UNDECIDED,
        "section": "fields",
    }
    return render(request, "scoring/drafting/draft.html", context)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def take(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    """Open in the editor what the model could not bring right."""
    found = _draft_of(research_field, pk, row)
    try:
        scratch = drafting_runs.take(found, user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("lab:generated_draft", research_field.slug, pk, row)
    return redirect(f"{reverse('lab:new_item', args=[research_field.slug])}?begun={scratch.uid}")


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def dismiss(request: HttpRequest, research_field: ResearchField, pk: int, row: int) -> HttpResponse:
    found = _draft_of(research_field, pk, row)
    try:
        drafting_runs.dismiss(found, user_of(request))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(found.run)


def _run_of(research_field: ResearchField, pk: int) -> DraftingRun:
    return get_object_or_404(
        DraftingRun.objects.select_related("field"), field=research_field, pk=pk
    )


def _draft_of(research_field: ResearchField, pk: int, row: int) -> GeneratedDraft:
    rows = GeneratedDraft.objects.select_related("run__field", "item", "decided_by")
    return get_object_or_404(rows, run__field=research_field, run=pk, row=row)


def _run_context(research_field: ResearchField, pk: int) -> dict[str, Any]:
    found = _run_of(research_field, pk)
    return {
        "research_field": research_field,
        "run": found,
        "spending": drafting_runs.spent(found),
        "drafts": found.drafts.select_related("item").annotate(n_answers=Count("attempts")),
        "can_resume": found.status in (found.Status.FAILED, found.Status.CANCELLED),
        "section": "fields",
    }


def _page(
    request: HttpRequest, research_field: ResearchField, *, status: int = 200, **forms: Any
) -> HttpResponse:
    drafted = Count("drafts", filter=Q(drafts__state=GeneratedDraft.State.DRAFTED))
    runs = DraftingRun.objects.filter(field=research_field).annotate(n_drafted=drafted)
    reviews = ReviewingRun.objects.filter(field=research_field)[:SHOWN]
    in_review = Item.objects.filter(field=research_field.name, status=Item.Status.IN_REVIEW)
    in_review = in_review.exclude(kind=Item.Kind.QUESTION)
    context = {
        "research_field": research_field,
        "runs": runs.select_related("field", "created_by")[:SHOWN],
        "reviews": [(found, model_reviews.spent(found)) for found in reviews],
        "n_in_review": in_review.count(),
        "form": DraftingForm(research_field),
        "review_form": ReviewingForm(),
        "section": "fields",
    }
    return render(request, "scoring/drafting/drafting.html", context | forms, status=status)
