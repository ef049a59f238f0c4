"""A file of questions into a field: sent, compared with what is there, and imported as it was shown."""

from typing import ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight
from experiment.imports.read.questions import WORDS
from experiment.imports.read.rows import MOST_OF_PAGE
from experiment.imports.store.question_plans import QuestionOptions, QuestionPlan
from experiment.imports.store.writing import PlanRefusedError, import_file
from experiment.lab import difference_words
from experiment.lab.access import for_field, is_lead, user_of
from experiment.lab.difference_words import MISSING
from experiment.lab.differences import (
    ColumnsForm,
    LeadsForm,
    accepted_elsewhere,
    compared,
    said,
)
from experiment.lab.item_files import MAX_BYTES, gone, kept
from experiment.models import ResearchField
from experiment.services import item_files
from lib.http import either
from lib.pages import CONFLICT, LimitedFileField, show


class AcceptForm(LeadsForm):
    accept = accepted_elsewhere()
    for_leads: ClassVar[tuple[str, ...]] = ("accept",)

    @property
    def reason(self) -> str:
        """The reason in a valid form."""
        return str(self.cleaned_data.get("accept", "")).strip()


class QuestionOptionsForm(ColumnsForm, AcceptForm):
    """How a file is read."""

    may_be_named = WORDS
    for_leads = (*ColumnsForm.for_leads, *AcceptForm.for_leads)

    @property
    def options(self) -> QuestionOptions:
        """The options of a valid form."""
        chosen = (self.makes_subfields, self.reason, self.columns)
        return QuestionOptions(*chosen, sheet=self.cleaned_data["sheet"])


class QuestionUploadForm(QuestionOptionsForm):
    new_subfields = None  # type: ignore[assignment]  # asked where they are missed
    file = LimitedFileField(
        MAX_BYTES,
        "The file is larger than 30 MB. Use the command import_questions.",
        label="File",
        allow_empty_file=True,
        help_text="A spreadsheet (.xlsx, .ods), CSV, JSONL or Parquet; 30 MB at most.",
    )
    field_order = ("file", "accept")


@either
@for_field(FieldRight.CURATE_FIELD)
def page(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Keep a file that is sent, and show what it would do."""
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = QuestionUploadForm(*sent, is_lead=is_lead(request))
    if form.is_valid():
        asked = dict(form.cleaned_data)
        return kept(request, research_field, asked.pop("file"), "lab:question_difference", **asked)
    return show(request, "lab/questions/import.html", form=form)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def difference(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    form = QuestionOptionsForm(request.GET, is_lead=is_lead(request))
    try:
        data = item_files.read_upload(research_field, user_of(request), upload)
    except FileNotFoundError:
        return gone(request, "questions", "lab:question_import", research_field.slug)
    if not form.is_valid():
        return redirect("lab:question_import", research_field.slug)
    file = form.options.read(data, MOST_OF_PAGE)
    plan = form.options.plan(file, research_field, by=user_of(request))
    return _difference(request, upload, plan, form)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def apply(request: HttpRequest, research_field: ResearchField, upload: str) -> HttpResponse:
    """Do what was shown."""
    user, form = user_of(request), QuestionOptionsForm(request.POST, is_lead=is_lead(request))
    try:
        data = item_files.read_upload(research_field, user, upload)
    except FileNotFoundError:
        return gone(request, "questions", "lab:question_import", research_field.slug)
    if not form.is_valid():
        return redirect("lab:question_import", research_field.slug)
    file, shown = form.options.read(data, MOST_OF_PAGE), request.POST.get("shown", "")
    try:
        plan = import_file(file, research_field, form.options, by=user, shown=shown)
    except PlanRefusedError as refused:
        return _difference(request, upload, refused.plan, form, has_changed=True)
    item_files.forget_upload(research_field, user, upload)
    messages.success(request, said(plan, "question"))
    return redirect("lab:questions", research_field.slug)


def _difference(
    request: HttpRequest,
    upload: str,
    plan: QuestionPlan,
    form: QuestionOptionsForm,
    *,
    has_changed: bool = False,
) -> HttpResponse:
    more = {MISSING: plan.gone}
    context = compared(request, plan, form, "question", more=more, has_changed=has_changed)
    slug = plan.research_field.slug
    return show(
        request,
        "lab/questions/difference.html",
        CONFLICT if has_changed else 200,
        gone=context["show"] == MISSING,
        notes=list(difference_words.notes_of_questions(plan)),
        waiting=difference_words.waiting(plan),
        apply_url=reverse("lab:question_apply", args=[slug, upload]),
        again=reverse("lab:question_import", args=[slug]),
        **context,
    )
