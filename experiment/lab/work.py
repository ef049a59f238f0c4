"""The Work pages: what the background does, with progress; there it is stopped and tried again."""

from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_site_admins, for_study
from experiment.models import Study
from experiment.services import work
from lib.jobs import workers
from lib.jobs.models import Job
from lib.pages import refused, show


@dataclass(frozen=True, slots=True)
class Row:
    """A job of the page, and where its button is sent."""

    job: Job
    listed: work.Listed
    act_url: str


def _page(
    request: HttpRequest, study: Study | None = None, template: str = "lab/work/work.html"
) -> HttpResponse:
    """A page of work that runs, waits or ended: of a study, or of the site."""
    still_open, ended = work.listing(study)
    n_workers = len(workers.living())
    ready = {0: ".", 1: ". A worker is ready."}.get(n_workers, f"; {n_workers} workers are ready.")
    live = reverse("lab:work_live", args=[study.slug]) if study else reverse("lab:site_work_live")
    return show(
        request,
        template,
        study=study,
        part="work",
        section="" if study else "work",
        still_open=[Row(each.job, each, _act_url(each, study)) for each in still_open],
        ended=[Row(each.job, each, _act_url(each, study)) for each in ended],
        n_workers=n_workers,
        idle=f"No jobs are running or waiting{ready}",
        live_url=live,
        updated_at=timezone.now(),
    )


def _act_url(row: work.Listed, study: Study | None) -> str:
    act = "stop" if row.job.is_open else "retry"
    if study is None:
        return reverse(f"lab:site_work_{act}", args=[row.kind, row.job.pk])
    return reverse(f"lab:work_{act}", args=[study.slug, row.kind, row.job.pk])


def _act(
    request: HttpRequest, kind: str, pk: int, act: str, study: Study | None = None
) -> HttpResponse:
    job = work.find(kind, pk, study)
    if job is None:
        raise Http404
    with refused(request):
        (work.stop if act == "stop" else work.retry)(job, request.user)
    return redirect("lab:work", study.slug) if study else redirect("lab:site_work")


site_page = require_safe(for_site_admins(_page))
site_act = require_POST(for_site_admins(_act))
study_page = require_safe(for_study(Right.WORK)(_page))
study_act = require_POST(for_study(Right.WORK)(_act))
