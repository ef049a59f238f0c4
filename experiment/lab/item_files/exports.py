"""A field's test cases to download."""

from dataclasses import replace
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field
from experiment.models import Item, ResearchField
from experiment.services.item_export.forms import NotInThisFormError
from experiment.services.item_export.hugging_face import NothingToExportError
from experiment.services.item_export.write import (
    CSV,
    HUGGING_FACE,
    JSONL,
    PUBLISHED,
    TYPES,
    Wanted,
    download,
)
from lib.http import UNPROCESSABLE


class ExportForm(forms.Form):
    form = forms.ChoiceField(
        label=_("Form"),
        choices=[
            (CSV, _("CSV, which Import reads back unchanged")),
            (JSONL, _("JSONL, which Import reads back unchanged")),
            (PUBLISHED, _("CSV with the columns of the published BrainBench files")),
            (HUGGING_FACE, _("a folder that datasets of Hugging Face load, as a zip")),
        ],
        initial=CSV,
        widget=forms.RadioSelect,
    )
    status = forms.ChoiceField(
        label=_("State"),
        choices=[*Item.Status.choices, ("all", _("any"))],
        initial=Item.Status.ACCEPTED,
        help_text=_("The newest version of each test case that is in this state."),
    )
    source = forms.ChoiceField(
        label=_("Source"), choices=[("", _("any")), *Item.Source.choices], required=False
    )
    license = forms.CharField(
        label=_("License"),
        max_length=60,
        required=False,
        help_text=_("For the data card of a folder: such as cc-by-4.0."),
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def page(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _page(request, research_field, ExportForm())


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def file(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    sent = ExportForm(request.GET)
    if not sent.is_valid():
        return _page(request, research_field, sent, status=UNPROCESSABLE)
    chosen = sent.cleaned_data
    wanted = Wanted(research_field, chosen["form"], chosen["status"], chosen["source"])
    if chosen["license"]:
        wanted = replace(wanted, license=chosen["license"])
    try:
        content = download(wanted)
    except (NotInThisFormError, NothingToExportError) as error:
        sent.add_error(None, str(error))
        return _page(request, research_field, sent, status=UNPROCESSABLE)
    headers = {"Content-Disposition": content_disposition_header(True, wanted.file_name)}
    return HttpResponse(content, content_type=TYPES[wanted.form], headers=headers)


def _page(
    request: HttpRequest, research_field: ResearchField, form: ExportForm, status: int = 200
) -> HttpResponse:
    context: dict[str, Any] = {
        "research_field": research_field,
        "form": form,
        "section": "fields",
    }
    return render(request, "lab/item_files/export.html", context, status=status)
