"""Dry runs: asked for, watched, and what they found."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.forecast import Simulated
from experiment.domain.roles import Right
from experiment.lab import dry_run_words as words
from experiment.lab.access import for_study, user_of
from experiment.models import DryRun, Participant, Study
from experiment.services import counts, work
from experiment.services import work as service
from experiment.services.advisers import is_advised
from experiment.services.counts import summary
from experiment.services.readiness import completion_problems
from lib.formatting import count, verb
from lib.jobs.progress import stands
from lib.pages import refused, show
from lib.table_files import CONTENT_TYPES

PEOPLE = ("finishers", "dropout_percent", "arrival", "follow_percent", "seed")
RECRUITING = ("target", "per_day")
MONEY = ("pay", "pay_per", "currency", "fee_percent")


class DryRunForm(forms.ModelForm[DryRun]):
    class Meta:
        model = DryRun
        fields = (*PEOPLE, *RECRUITING, *MONEY)

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not any(arm.is_advised for arm in study.arms.all()):
            del self.fields["follow_percent"]

    @property
    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        parts = {"Simulated participants": PEOPLE, "Target": RECRUITING, "Costs": MONEY}
        return [
            (legend, [self[name] for name in names if name in self.fields])
            for legend, names in parts.items()
        ]


def blank(study: Study) -> DryRunForm:
    """As the latest one was asked for; at first with the study's own target."""
    latest = study.dry_runs.first()
    if latest is not None:
        return DryRunForm(study, instance=latest)
    initial: dict[str, Any] = {"target": study.target_valid} if study.target_valid else {}
    return DryRunForm(study, initial=initial)


@require_safe
@for_study(Right.SEE_DATA)
def dry_runs(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study, blank(study))


@require_POST
@for_study(Right.WORK)
def ask(request: HttpRequest, study: Study) -> HttpResponse:
    form = DryRunForm(study, request.POST)
    if form.is_valid():
        with refused(form):
            job = service.ask_dry_run(study, user_of(request), **form.cleaned_data)
            return redirect("lab:dry_run", study.slug, job.pk)
    return _page(request, study, form)


@require_POST
@for_study(Right.WORK)
def remove(request: HttpRequest, study: Study) -> HttpResponse:
    if service.is_under_way(study):
        messages.error(request, "A dry run is in progress. Stop it first.")
    else:
        n = service.remove_simulated(study)
        people = count(n, "simulated participant")
        messages.success(request, f"{people} {verb(n, 'was', 'were')} deleted.")
    return redirect("lab:dry_runs", study.slug)


@require_safe
@for_study(Right.SEE_DATA)
def dry_run(
    request: HttpRequest, study: Study, pk: int, template: str = "lab/dry_run/run.html"
) -> HttpResponse:
    run = get_object_or_404(study.dry_runs, pk=pk)
    advised = is_advised(study)
    context: dict[str, Any] = {
        "run": run,
        "is_advised": advised,
        "title": words.title(run),
        "asked_for": words.asked_for(run, is_advised=advised),
        "stands": stands(run, "pages seen"),
        "ended": words.ended(run),
    }
    if run.found:
        context |= _found(run, run.found)
    return show(request, template, **context)


def _found(run: DryRun, found: Simulated) -> dict[str, Any]:
    """The findings of a finished dry run."""
    recruiting = run.recruiting
    return {
        "found": found,
        "durations": words.durations(found),
        "excluded": words.excluded(found),
        "recruiting": recruiting,
        "costs": words.costs(run, found, recruiting) if recruiting else (),
        "assumed": words.assumed(run),
        "contrasts": [words.ContrastRow(contrast) for contrast in found.arms],
        "differences_caption": words.differences_caption(run),
        "balance": words.balance(found),
        "exposures": [summary(stratum, counts) for stratum, counts in found.exposures.items()],
    }


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
    return FileResponse(file, as_attachment=True, filename=name, content_type=CONTENT_TYPES["csv"])


def _page(request: HttpRequest, study: Study, form: DryRunForm) -> HttpResponse:
    n = counts.kind_counts(study).get(Participant.Kind.SIMULATED, 0)
    return show(
        request,
        "lab/dry_run/runs.html",
        form=form,
        runs=study.dry_runs.all(),
        problems=completion_problems(study),
        is_under_way=service.is_under_way(study),
        simulated=count(n, "simulated participant") if n else "",
    )
