"""The lab's pages about models. Views find what the researcher may see; services do the work."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study
from experiment.models import Item, Study
from scoring.domain.backend import ScoringError
from scoring.lab.folders import model_folders
from scoring.lab.forms import QueueForm
from scoring.lab.models_page import models_context
from scoring.lab.run_page import WHICH, run_context, scores_csv
from scoring.models import ScoringRun
from scoring.services import runs


def _say(request: HttpRequest, level: int, event: str, **about: Any) -> None:
    sentence = render_to_string("scoring/_message.html", {"event": event, **about})
    messages.add_message(request, level, sentence.strip())


def _among(request: HttpRequest, name: str, known: Any, default: str = "") -> str:
    value = request.GET.get(name, default)
    if value not in known:
        raise Http404
    return value


def _models_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    full = ScoringRun.Condition.FULL.value
    condition = _among(request, "condition", ScoringRun.Condition.values, full)
    source = _among(request, "source", ("", *Item.Source.values))
    context = models_context(study, condition, source, timezone.now(), request.GET.get("page", 1))
    return context | {"folders": model_folders()}


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
    return render(
        request, "scoring/models.html", _models_context(request, study) | {"form": QueueForm()}
    )


@require_safe
@for_study(Right.SEE_DATA)
def models_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The parts of the models' page that change by themselves."""
    return render(request, "scoring/_models_live.html", _models_context(request, study))


@require_POST
@for_study(Right.WORK)
def queue(request: HttpRequest, study: Study) -> HttpResponse:
    form = QueueForm(request.POST)
    if form.is_valid():
        try:
            queued = runs.queue_runs(study, user=request.user, **form.settings())
        except ScoringError as error:
            form.add_error(None, str(error))
        else:
            return _after_queueing(request, study, queued)
    context = _models_context(request, study)
    return render(request, "scoring/models.html", context | {"form": form}, status=422)


def _after_queueing(request: HttpRequest, study: Study, queued: runs.Queued) -> HttpResponse:
    for run in queued.known:
        _say(request, messages.INFO, "known", run=run)
    if queued.waiting:
        _say(request, messages.SUCCESS, "queued", runs=[run.pk for run in queued.waiting])
    if len(queued.waiting) + len(queued.known) == 1:
        return redirect((queued.waiting or queued.known)[0])
    return redirect("lab:scoring", slug=study.slug)


@require_safe
@for_study(Right.SEE_DATA)
def run(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    which = _among(request, "show", WHICH)
    context = run_context(
        study, _run_of(study, pk), timezone.now(), which, request.GET.get("page", 1)
    )
    return render(request, "scoring/run.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def run_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The parts of a run's page that change by themselves."""
    return render(
        request, "scoring/_run_live.html", run_context(study, _run_of(study, pk), timezone.now())
    )


@require_safe
@for_study(Right.SEE_DATA)
def scores(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = _run_of(study, pk)
    name = f"{study.slug}-run-{run.pk}-{run.condition}.csv"
    return HttpResponse(
        scores_csv(run, study),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )


@require_POST
@for_study(Right.WORK)
def cancel(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = _own_run_of(study, pk)
    run = runs.stop(run, request.user)
    if run.status == ScoringRun.Status.CANCELLED:
        _say(request, messages.SUCCESS, "stopped", run=run)
    elif run.is_open:
        _say(request, messages.SUCCESS, "stopping", run=run)
    else:
        _say(request, messages.INFO, "over", run=run)
    return redirect(run)


@require_POST
@for_study(Right.WORK)
def resume(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    run = runs.resume(_own_run_of(study, pk), request.user)
    if run.status == ScoringRun.Status.WAITING:
        _say(request, messages.SUCCESS, "queued", runs=[run.pk])
    return redirect(run)
