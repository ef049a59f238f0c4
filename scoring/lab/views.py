"""The lab's pages about models. Views find what the researcher may see; services do the work."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from lib.pages import attached, refused, show
from lib.table_files import CONTENT_TYPES
from scoring.domain.backend import ScoringError
from scoring.lab import words
from scoring.lab.forms import QueueForm, model_folders
from scoring.lab.models_page import models_context
from scoring.lab.run_page import WHICH, run_context, scores_csv
from scoring.models import ScoringRun
from scoring.services import runs


def _among(request: HttpRequest, name: str, known: Any, default: str = "") -> str:
    value = request.GET.get(name, default)
    if value not in known:
        raise Http404
    return value


def _models(
    request: HttpRequest, study: Study, template: str = "scoring/models.html", **form: Any
) -> HttpResponse:
    full = ScoringRun.Condition.FULL.value
    condition = _among(request, "condition", ScoringRun.Condition.values, full)
    source = _among(request, "source", ("", *Item.Source.values))
    context = models_context(study, condition, source, timezone.now(), request.GET.get("page", 1))
    return show(request, template, folders=model_folders(), **context, **form)


def _run_of(study: Study, pk: int) -> ScoringRun:
    found = ScoringRun.objects.seen_in([study], checkpoints=True).defer("plan")
    return get_object_or_404(found.select_related("language_model", "study"), pk=pk)


def _own_run_of(study: Study, pk: int) -> ScoringRun:
    """A run that this study asked for: another's, or one that was imported, cannot be stopped or resumed here."""
    run = _run_of(study, pk)
    if run.backend == ScoringRun.Backend.IMPORTED or run.study != study:
        raise Http404
    return run


@require_safe
@for_study(Right.SEE_DATA)
def models(request: HttpRequest, study: Study) -> HttpResponse:
    return _models(request, study, form=QueueForm(user=user_of(request)))


@require_safe
@for_study(Right.SEE_DATA)
def models_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The parts of the models' page that change by themselves."""
    return _models(request, study, "scoring/_models_live.html")


@require_POST
@for_study(Right.WORK)
def queue(request: HttpRequest, study: Study) -> HttpResponse:
    form = QueueForm(request.POST, user=user_of(request))
    if form.is_valid():
        with refused(form, ScoringError):
            queued = runs.queue_runs(study, user=request.user, **form.settings())
            for run in queued.known:
                state = run.get_status_display()
                messages.info(request, f"Run {run.pk} with the same settings is {state} already.")
            if queued.waiting:
                messages.success(request, words.queued([run.pk for run in queued.waiting]))
            if len(queued.waiting) + len(queued.known) == 1:
                return redirect((queued.waiting or queued.known)[0])
            return redirect("lab:scoring", slug=study.slug)
    return _models(request, study, form=form)


@require_safe
@for_study(Right.SEE_DATA)
def run(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    which = _among(request, "show", WHICH)
    page = request.GET.get("page", 1)
    context = run_context(study, _run_of(study, pk), timezone.now(), which, page)
    return show(request, "scoring/run.html", **context)


@require_safe
@for_study(Right.SEE_DATA)
def run_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The parts of a run's page that change by themselves."""
    context = run_context(study, _run_of(study, pk), timezone.now())
    return show(request, "scoring/_run_live.html", **context)


@require_safe
@for_study(Right.SEE_DATA)
def scores(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = _run_of(study, pk)
    name = f"{study.slug}-run-{run.pk}-{run.condition}.csv"
    return attached(scores_csv(run, study), name, CONTENT_TYPES["csv"])


@require_POST
@for_study(Right.WORK)
def cancel(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = _own_run_of(study, pk)
    run = runs.stop(run, request.user)
    if run.status == ScoringRun.Status.CANCELLED:
        messages.success(request, f"Run {run.pk} was stopped. Its scores so far are kept.")
    elif run.is_open:
        messages.success(request, f"Run {run.pk} stops after the texts it is scoring now.")
    else:
        messages.info(request, f"Run {run.pk} is {run.get_status_display()} already.")
    return redirect(run)


@require_POST
@for_study(Right.WORK)
def resume(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = runs.resume(_own_run_of(study, pk), request.user)
    if run.status == ScoringRun.Status.WAITING:
        messages.success(request, words.queued([run.pk]))
    return redirect(run)
