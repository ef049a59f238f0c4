"""Dry runs: asked for, watched, and what they found."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.exclusion import PARTICIPANT_REASONS
from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.dry_run.forms import DryRunForm, blank
from experiment.models import Participant, Study
from experiment.services import counts, work
from experiment.services import dry_runs as service
from experiment.services.exposure import summary
from experiment.services.study_setup import completion_problems

LABELS = {reason.code: reason.label for reason in PARTICIPANT_REASONS}


@require_safe
@for_study(Right.SEE_DATA)
def dry_runs(request: HttpRequest, study: Study) -> HttpResponse:
    return render(request, "lab/dry_run/runs.html", _list(study, blank(study)))


@require_POST
@for_study(Right.WORK)
def ask(request: HttpRequest, study: Study) -> HttpResponse:
    form = DryRunForm(request.POST)
    if form.is_valid():
        try:
            job = service.ask(study, user_of(request), **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            return redirect("lab:dry_run", study.slug, job.pk)
    return render(request, "lab/dry_run/runs.html", _list(study, form), status=422)


@require_POST
@for_study(Right.WORK)
def remove(request: HttpRequest, study: Study) -> HttpResponse:
    if service.is_under_way(study):
        messages.error(request, _("A dry run is under way: stop it first."))
    else:
        n = service.remove_simulated(study)
        text = ngettext(
            "%(n)d simulated participant is gone.", "%(n)d simulated participants are gone.", n
        )
        messages.success(request, text % {"n": n})
    return redirect("lab:dry_runs", study.slug)


@require_safe
@for_study(Right.SEE_DATA)
def dry_run(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return render(request, "lab/dry_run/run.html", _one(study, pk))


@require_safe
@for_study(Right.SEE_DATA)
def live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The part of a dry run's page that changes."""
    return render(request, "lab/dry_run/_run.html", _one(study, pk))


@require_POST
@for_study(Right.WORK)
def stop(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    work.stop(get_object_or_404(study.dry_runs, pk=pk), user_of(request))
    return redirect("lab:dry_run", study.slug, pk)


@require_safe
@for_study(Right.EXPORT)
def sample(request: HttpRequest, study: Study, pk: int) -> FileResponse:
    job = get_object_or_404(study.dry_runs, pk=pk)
    try:
        file = service.open_sample(job)
    except FileNotFoundError as gone:
        raise Http404 from gone
    name = f"{study.slug}-simulated-dry-run-{job.pk}.csv"
    return FileResponse(
        file, as_attachment=True, filename=name, content_type="text/csv; charset=utf-8"
    )


def _list(study: Study, form: DryRunForm) -> dict[str, Any]:
    return {
        "study": study,
        "form": form,
        "runs": study.dry_runs.all(),
        "problems": completion_problems(study),
        "is_under_way": service.is_under_way(study),
        "n_simulated": counts.kind_counts(study).get(Participant.Kind.SIMULATED, 0),
    }


def _one(study: Study, pk: int) -> dict[str, Any]:
    job = get_object_or_404(study.dry_runs, pk=pk)
    found = job.found
    exposures = found.exposures if found else {}
    return {
        "study": study,
        "run": job,
        "found": found,
        "recruiting": job.recruiting,
        "excluded": [(LABELS.get(code, code), n) for code, n in found.excluded.items()]
        if found
        else [],
        "exposures": [summary(stratum, counts) for stratum, counts in exposures.items()],
    }
