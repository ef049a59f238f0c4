"""Imports of published data: a site administrator chooses what lies in the server's folder for imports, a worker reads it."""

from typing import Any

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from experiment.lab.access import for_site_admins
from experiment.models import Item
from lib.jobs import workers
from lib.pages import refused, show
from scoring.domain.backend import ScoringError
from scoring.lab.forms import ScoredForm
from scoring.models import PublishedImport
from scoring.services.imports import ask, ask_for_corpus, corpus_files, folders


class ImportForm(forms.Form):
    folder = forms.ChoiceField(
        label=_("Folder"), choices=lambda: [(name, name) for name in folders()]
    )
    study = forms.SlugField(
        label=_("Study"), initial="brainbench", max_length=60, help_text=_("Made if there is none.")
    )
    texts = forms.ChoiceField(
        label=_("Damaged texts"),
        choices=[
            (Item.Texts.REPAIRED.value, _("repaired")),
            (Item.Texts.AS_PUBLISHED.value, _("as published")),
        ],
    )


class CorpusForm(ScoredForm):
    file = forms.ChoiceField(
        label=_("File"), choices=lambda: [(name, name) for name in corpus_files()]
    )
    model_args = forms.CharField(
        label=_("Model arguments"),
        required=False,
        max_length=2000,
        help_text=_("As on a study's Models page."),
    )
    anchor = forms.BooleanField(label=_("Models surely know these texts by heart"), required=False)
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
        "corpus_form": CorpusForm(),
        "has_corpora": bool(corpus_files()),
        "section": "work",
        "imports": PublishedImport.objects.all()[:SHOWN],
        "folder": settings.IMPORTS_DIR,
        "has_folders": bool(folders()),
        "is_taken": workers.is_taken(PublishedImport),
        "updated_at": timezone.now(),
    }
