"""A file of questions into a field: sent, compared with what is there, and imported as it was shown."""

from typing import Any, ClassVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import FieldRight
from experiment.imports.read.questions import WORDS
from experiment.imports.read.rows import MOST_OF_PAGE
from experiment.imports.reading import questions_of
from experiment.imports.store.plans import Action
from experiment.imports.store.question_plans import QuestionPlan, plan_questions
from experiment.imports.store.writing import PlanRefusedError, import_questions
from experiment.lab.access import for_field, is_lead, user_of
from experiment.lab.item_files import (
    MAX_BYTES,
    PROBLEMS,
    ColumnsForm,
    LeadsForm,
    accepted_elsewhere,
    cures,
    gone,
    kept,
    paged,
)
from experiment.models import ResearchField
from experiment.services import item_files
from lib.http import either
from lib.pages import CONFLICT, LimitedFileField, show

MISSING = "gone"


class AcceptForm(LeadsForm):
    accept = accepted_elsewhere()
    for_leads: ClassVar[tuple[str, ...]] = ("accept",)

    @property
    def reason(self) -> str:
        """Of a valid form."""
        return str(self.cleaned_data.get("accept", "")).strip()


class QuestionOptionsForm(ColumnsForm, AcceptForm):
    """How a file is read."""

    may_be_named = WORDS
    for_leads = (*ColumnsForm.for_leads, *AcceptForm.for_leads)


class QuestionUploadForm(QuestionOptionsForm):
    new_subfields = None  # type: ignore[assignment]  # asked where they are missed
    file = LimitedFileField(
        MAX_BYTES,
        _("The file is larger than 30 MB. Use the command import_questions."),
        label=_("File"),
        allow_empty_file=True,
        help_text=_("CSV, JSONL or Parquet; 30 MB at most."),
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
    file = questions_of(data, form.columns, MOST_OF_PAGE)
    plan = plan_questions(
        file, research_field, form.reason, by=user_of(request), new_subfields=form.makes_subfields
    )
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
    file = questions_of(data, form.columns, MOST_OF_PAGE)
    try:
        plan = import_questions(
            file,
            research_field,
            form.reason,
            by=user,
            shown=request.POST.get("shown", ""),
            new_subfields=form.makes_subfields,
        )
    except PlanRefusedError as refused:
        return _difference(request, upload, refused.plan, form, has_changed=True)
    item_files.forget_upload(research_field, user, upload)
    messages.success(request, said(plan))
    return redirect("lab:questions", research_field.slug)


def said(plan: QuestionPlan) -> str:
    created, updated = plan.count(Action.CREATE), plan.count(Action.UPDATE)
    new = ngettext("%(n)d question is new", "%(n)d questions are new", created) % {"n": created}
    changed = ngettext("%(n)d is changed", "%(n)d are changed", updated) % {"n": updated}
    return f"{new}, {changed}."


def _difference(
    request: HttpRequest,
    upload: str,
    plan: QuestionPlan,
    form: QuestionOptionsForm,
    *,
    has_changed: bool = False,
) -> HttpResponse:
    found: dict[str, Any] = {
        PROBLEMS: plan.problems,
        **{str(a): [row for row in plan.rows if row.action == a] for a in Action},
        MISSING: plan.gone,
    }
    context = paged(request, found)
    return show(
        request,
        "lab/questions/difference.html",
        CONFLICT if has_changed else 200,
        plan=plan,
        upload=upload,
        has_changed=has_changed,
        sent=form.cleaned_data,
        query=form.query,
        pages_query="&".join(part for part in (form.query, f"show={context['show']}") if part),
        **cures(plan, form),
        **context,
    )
