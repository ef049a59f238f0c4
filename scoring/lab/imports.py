"""Imports of published data: a site administrator uploads a ZIP or chooses a folder of the server, a worker reads it."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from experiment.lab.access import for_site_admins
from experiment.models import Item
from lib.jobs import workers
from lib.pages import LimitedFileField, refused, show
from scoring.domain.backend import ScoringError
from scoring.lab.forms import ScoredForm
from scoring.models import PublishedImport
from scoring.services.imports import (
    ask,
    ask_for_corpus,
    corpus_files,
    folders,
    keep_zip,
)

MOST_BYTES = 30 * 1024 * 1024  # below UPLOAD_MAX_SIZE, which counts the whole request


class PublishedForm(forms.Form):
    """Into which study published data go, and how."""

    study = forms.SlugField(
        label="Study",
        initial="brainbench",
        max_length=60,
        help_text="Created if it does not exist.",
    )
    texts = forms.ChoiceField(
        label="Damaged texts",
        help_text="A faulty program damaged some published texts. They can be repaired where this is certain, or kept as published.",
        choices=[
            (Item.Texts.REPAIRED.value, "repaired"),
            (Item.Texts.AS_PUBLISHED.value, "as published"),
        ],
    )


class ImportForm(PublishedForm):
    folder = forms.ChoiceField(label="Folder", choices=lambda: [(name, name) for name in folders()])
    field_order = ("folder",)


class ZipForm(PublishedForm):
    prefix = "zip"
    file = LimitedFileField(
        MOST_BYTES,
        "The file is larger than 30 MB: have a copy put into the folder for imports on the server.",
        label="ZIP",
        help_text="30 MB at most.",
        widget=forms.FileInput(attrs={"accept": ".zip,application/zip"}),
    )
    field_order = ("file",)


class CorpusForm(ScoredForm):
    file = forms.ChoiceField(
        label="File", choices=lambda: [(name, name) for name in corpus_files()]
    )
    model_args = forms.CharField(
        label="Other settings of the model",
        required=False,
        max_length=2000,
        help_text="As on a study's Models page.",
    )
    anchor = forms.BooleanField(label="Models have certainly memorised these texts", required=False)
    field_order = ("file",)


SHOWN = 10


@require_safe
@for_site_admins
def imports(request: HttpRequest, template: str = "scoring/imports/imports.html") -> HttpResponse:
    return show(request, template, **_context())


@require_POST
@for_site_admins
def imports_start(request: HttpRequest) -> HttpResponse:
    form = ImportForm(request.POST)
    if not form.is_valid():
        return show(request, "scoring/imports/imports.html", **_context() | {"form": form})
    asked = form.cleaned_data
    ask(asked["folder"], asked["study"], asked["texts"], request.user)
    return redirect("lab:imports")


@require_POST
@for_site_admins
def imports_upload(request: HttpRequest) -> HttpResponse:
    """Keep a ZIP for a worker, which looks into it."""
    form = ZipForm(request.POST, request.FILES)
    if not form.is_valid():
        return show(request, "scoring/imports/imports.html", **_context() | {"zip_form": form})
    asked = form.cleaned_data
    file = asked["file"]
    ask(file.name, asked["study"], asked["texts"], request.user, keep_zip(file))
    return redirect("lab:imports")


@require_POST
@for_site_admins
def corpus_start(request: HttpRequest) -> HttpResponse:
    """Have a model read a file of reference texts."""
    form = CorpusForm(request.POST)
    if form.is_valid():
        asked = form.cleaned_data
        with refused(form, ScoringError, field="file"):
            ask_for_corpus(
                asked["file"],
                asked["backend"],
                asked["parsed_args"],
                is_anchor=asked["anchor"],
                by=request.user,
            )
            return redirect("lab:site_work")
    return show(request, "scoring/imports/imports.html", **_context() | {"corpus_form": form})


def _context() -> dict[str, Any]:
    return {
        "form": ImportForm(),
        "zip_form": ZipForm(),
        "corpus_form": CorpusForm(),
        "has_corpora": bool(corpus_files()),
        "section": "work",
        "imports": PublishedImport.objects.all()[:SHOWN],
        "folder": settings.IMPORTS_DIR,
        "has_folders": bool(folders()),
        "is_taken": workers.is_taken(PublishedImport),
        "updated_at": timezone.now(),
    }
