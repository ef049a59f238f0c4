"""A field's test cases from a file (sent, compared with what is there, and imported as it was shown) and to a file."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.markup import parse
from experiment.domain.markup_between import word_diff
from experiment.domain.roles import FieldRight
from experiment.imports.read.items import WORDS, Defaults, ItemsFile
from experiment.imports.read.rows import MOST_OF_PAGE
from experiment.imports.store.item_plans import ItemOptions, ItemPlan, ItemRow
from experiment.imports.store.plans import Action
from experiment.imports.store.writing import PlanRefusedError, ask, import_file
from experiment.lab import difference_words
from experiment.lab.access import for_field, is_lead, user_of
from experiment.lab.differences import ColumnsForm, accepted_elsewhere, compared, said
from experiment.models import Item, ItemImport, ResearchField
from experiment.services import item_files
from experiment.services.item_files import (
    BRAINBENCH,
    CSV,
    HUGGING_FACE,
    JSONL,
    TYPES,
    XLSX,
    NothingToExportError,
    NotInThisFormError,
    Wanted,
    download,
)
from experiment.services.item_files import template_csv as template_of
from lib.formatting import number
from lib.http import UNPROCESSABLE
from lib.jobs import workers
from lib.name_fields import is_name
from lib.pages import CONFLICT, GONE, LimitedFileField, attached, refused, show
from lib.table_files import CONTENT_TYPES

MAX_BYTES = 30 * 1024 * 1024  # below UPLOAD_MAX_SIZE, which counts the whole request


class OptionsForm(ColumnsForm):
    """How a file is read."""

    may_be_named = WORDS
    source = forms.ChoiceField(
        label="Altered by",
        choices=Item.Source.choices,
        required=False,
        help_text="Used if the file has no column “source”.",
    )
    generator = forms.CharField(
        label="Name of the person or model",
        max_length=80,
        required=False,
        validators=[is_name],
        help_text="For example GPT-4. Used if the file does not say.",
    )
    accepted_before = accepted_elsewhere()
    for_leads = ("new_subfields", "accepted_before")

    @property
    def options(self) -> ItemOptions:
        """The options of a valid form."""
        sent = self.cleaned_data
        return ItemOptions(
            defaults=Defaults(sent["source"] or Item.Source.HUMAN.value, sent["generator"]),
            new_subfields=self.makes_subfields,
            accepted_before=sent.get("accepted_before", ""),
            columns=self.columns,
            sheet=self.cleaned_data["sheet"],
        )


class UploadForm(OptionsForm):
    new_subfields = None  # type: ignore[assignment]  # asked where they are missed
    file = LimitedFileField(
        MAX_BYTES,
        "The file is larger than 30 MB. Split it, or use the command import_items.",
        label="File",
        allow_empty_file=True,
        help_text="A spreadsheet (.xlsx, .ods), CSV, JSONL or Parquet; 30 MB at most: some 10,000 test cases.",
    )
    field_order = ("file",)


def shown_row(row: ItemRow) -> dict[str, Any]:
    """A row with its text, where it is new, or with what changes."""
    texts = [change for change in row.changes if change.column == "markup"]
    return {
        "row": row,
        "segments": parse(row.record.markup).segments if row.action == Action.CREATE else (),
        "pieces": [piece for change in texts for piece in word_diff(change.before, change.after)],
        "values": [change for change in row.changes if change.column != "markup"],
    }


LARGE = 1_000  # rows; of more, a worker makes the import, where one lives


def gone(request: HttpRequest, part: str, page: str, *args: Any) -> HttpResponse:
    """A file that is kept no longer is to be sent again on its page."""
    again = reverse(page, args=args)
    return show(request, "lab/fields/gone.html", GONE, part=part, again=again)


def kept(
    request: HttpRequest,
    research_field: ResearchField,
    file: Any,
    page: str,
    *args: Any,
    **query: Any,
) -> HttpResponse:
    """The file that was sent is kept, and its page shows what it would do."""
    name = item_files.keep_upload(research_field, user_of(request), file.read())
    address = reverse(page, args=[research_field.slug, *args, name])
    asked = urlencode({key: value for key, value in query.items() if value})
    return redirect(f"{address}?{asked}" if asked else address)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def import_page(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return show(request, "lab/item_files/import.html", form=UploadForm(is_lead=is_lead(request)))


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def send(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Keep the file, and show what it would do."""
    form = UploadForm(request.POST, request.FILES, is_lead=is_lead(request))
    if not form.is_valid():
        return show(request, "lab/item_files/import.html", form=form)
    sent = dict(form.cleaned_data)
    return kept(request, research_field, sent.pop("file"), "lab:import_difference", **sent)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def template(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    subfield = research_field.subfields.values_list("name", flat=True).first()
    return attached(template_of(subfield or ""), "test-cases.csv", CONTENT_TYPES["csv"])


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def difference(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    form = OptionsForm(request.GET, is_lead=is_lead(request))
    try:
        data = item_files.read_upload(research_field, user_of(request), upload)
    except FileNotFoundError:
        return gone(request, "import", "lab:import_items", research_field.slug)
    if not form.is_valid():
        return redirect("lab:import_items", research_field.slug)
    file = _read(form, data)
    plan = form.options.plan(file, research_field, by=user_of(request))
    return _difference(request, upload, plan, form)


def _is_for_workers(file: ItemsFile) -> bool:
    """True if a worker imports this file: always where all work is theirs, else what is large while one lives."""
    if settings.JOB_EXECUTOR == "celery":
        return True
    return workers.is_taken(ItemImport) and len(file.records) > LARGE


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def apply(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    """Do what was shown: at once, or where it is much and a worker lives, by that."""
    user, form = user_of(request), OptionsForm(request.POST, is_lead=is_lead(request))
    shown = request.POST.get("shown", "")
    try:
        data = item_files.read_upload(research_field, user, upload)
    except FileNotFoundError:
        return gone(request, "import", "lab:import_items", research_field.slug)
    if not form.is_valid():
        return redirect("lab:import_items", research_field.slug)
    file = _read(form, data)
    if _is_for_workers(file):
        started = ask(research_field, upload, form.options, shown, user)
        return redirect("lab:import_job", research_field.slug, started.pk)
    try:
        plan = import_file(file, research_field, form.options, by=user, shown=shown)
    except PlanRefusedError as refused:
        return _difference(request, upload, refused.plan, form, has_changed=True)
    item_files.forget_upload(research_field, user, upload)
    messages.success(request, said(plan, "test case"))
    return redirect("lab:field", research_field.slug)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def job(
    request: HttpRequest,
    research_field: ResearchField,
    pk: int,
    template: str = "lab/item_files/job.html",
) -> HttpResponse:
    found = get_object_or_404(research_field.imports, pk=pk)
    is_done = found.status == ItemImport.Status.FINISHED
    n_new, n_changed = found.n_created, found.n_updated
    imported = difference_words.imported(n_new, n_changed, "test case") if is_done else ""
    if found.status == ItemImport.Status.WAITING:
        doing = "Waiting for the worker"
    elif found.done and found.done == found.total:
        doing = "All rows have been compared and are being written"
    else:
        doing = f"{number(found.done, 0)} of {number(found.total, 0)} rows compared"
    return show(request, template, job=found, doing=doing, imported=imported)


def _read(form: OptionsForm, data: bytes) -> ItemsFile:
    """Texts that are to be accepted at once are all checked where the page is made: 1,000 take it some seconds."""
    return form.options.read(data, LARGE if form.options.accepted_before else MOST_OF_PAGE)


def _difference(
    request: HttpRequest,
    upload: str,
    plan: ItemPlan,
    form: OptionsForm,
    *,
    has_changed: bool = False,
) -> HttpResponse:
    context = compared(request, plan, form, "test case", has_changed=has_changed)
    slug = plan.research_field.slug
    rows = () if context["are_problems"] else context["page"]
    return show(
        request,
        "lab/item_files/difference.html",
        CONFLICT if has_changed else 200,
        rows=[shown_row(row) for row in rows],
        notes=list(difference_words.notes_of_items(plan)),
        apply_url=reverse("lab:import_apply", args=[slug, upload]),
        again=reverse("lab:import_items", args=[slug]),
        **context,
    )


class ExportForm(forms.Form):
    form = forms.ChoiceField(
        label="Format",
        choices=[
            (CSV, "CSV, which Import reads back unchanged"),
            (JSONL, "JSONL, which Import reads back unchanged"),
            (XLSX, "Spreadsheet (.xlsx), which Import reads back unchanged"),
            (BRAINBENCH, "CSV with the columns of the published BrainBench files"),
            (HUGGING_FACE, "a folder for Hugging Face's library datasets, as a ZIP"),
        ],
        initial=CSV,
        widget=forms.RadioSelect,
    )
    status = forms.ChoiceField(
        label="State",
        choices=[*Item.Status.choices, ("all", "any")],
        initial=Item.Status.ACCEPTED,
        help_text="For each test case, the newest version in this state.",
    )
    source = forms.ChoiceField(
        label="Source", choices=[("", "any"), *Item.Source.choices], required=False
    )
    license = forms.CharField(
        label="License",
        max_length=60,
        required=False,
        help_text="Named on the data card of a folder, for example cc-by-4.0.",
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def export_page(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return show(request, "lab/item_files/export.html", form=ExportForm())


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def file(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    sent = ExportForm(request.GET)
    if not sent.is_valid():
        return show(request, "lab/item_files/export.html", UNPROCESSABLE, form=sent)
    chosen = sent.cleaned_data
    wanted = Wanted(research_field, chosen["form"], chosen["status"], chosen["source"])
    if chosen["license"]:
        wanted = replace(wanted, license=chosen["license"])
    with refused(sent, NotInThisFormError, NothingToExportError):
        return attached(download(wanted), wanted.file_name, TYPES[wanted.form])
    return show(request, "lab/item_files/export.html", UNPROCESSABLE, form=sent)
