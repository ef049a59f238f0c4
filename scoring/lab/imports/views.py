"""Imports of published data: a site administrator chooses a folder of the server, a worker reads it."""

from typing import Any

from django.conf import settings
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.lab.access import for_site_admins
from lib.jobs import presence
from scoring.domain.backend import ScoringError
from scoring.lab.imports.forms import CorpusForm, ImportForm
from scoring.models import PublishedImport
from scoring.services.imports import ask, ask_for_corpus, corpus_files, folders

SHOWN = 10


@require_safe
@for_site_admins
def imports(request: HttpRequest) -> HttpResponse:
    return render(request, "scoring/imports/imports.html", _context())


@require_safe
@for_site_admins
def imports_live(request: HttpRequest) -> HttpResponse:
    return render(request, "scoring/imports/_live.html", _context())


@require_POST
@for_site_admins
def imports_start(request: HttpRequest) -> HttpResponse:
    form = ImportForm(request.POST)
    if not form.is_valid():
        return _refused(request, form=form)
    asked = form.cleaned_data
    ask(asked["folder"], asked["study"], asked["texts"], request.user)
    return redirect("lab:imports")


@require_POST
@for_site_admins
def corpus_start(request: HttpRequest) -> HttpResponse:
    """Have a model read a file of reference texts."""
    form = CorpusForm(request.POST)
    if form.is_valid():
        asked = form.cleaned_data
        try:
            ask_for_corpus(
                asked["file"],
                asked["backend"],
                asked["parsed_args"],
                is_anchor=asked["anchor"],
                by=request.user,
            )
            return redirect("lab:site_work")
        except ScoringError as error:
            form.add_error("file", str(error))
    return _refused(request, corpus_form=form)


def _refused(request: HttpRequest, **forms: Form) -> HttpResponse:
    context = _context() | forms
    return render(request, "scoring/imports/imports.html", context, status=422)


def _context() -> dict[str, Any]:
    return {
        "form": ImportForm(),
        "corpus_form": CorpusForm(),
        "has_corpora": bool(corpus_files()),
        "section": "work",
        "imports": PublishedImport.objects.all()[:SHOWN],
        "folder": settings.IMPORTS_DIR,
        "has_folders": bool(folders()),
        "is_taken": presence.is_taken(PublishedImport),
        "updated_at": timezone.now(),
    }
