"""Templates of a field's questions: listed and written, filled from a table that is sent, and made questions as was shown."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from experiment.domain.questions.filling import MOST_RULES
from experiment.domain.questions.language import LONGEST
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.questions.categories import CategoriesField
from experiment.lab.setup.forms import UnixTextField
from experiment.models import QuestionTemplate, ResearchField
from experiment.services import kept_uploads
from experiment.services.questions.templates import as_toml, is_fixed, save_template
from lib.http import UNPROCESSABLE, either
from lib.name_fields import is_name

MAX_BYTES = 10 * 1024 * 1024
BLANK_RULES = 3


class TemplateForm(forms.Form):
    key = forms.CharField(
        label=gettext_lazy("Key"),
        max_length=80,
        validators=[is_name],
        help_text=gettext_lazy("Keys of its questions begin with it."),
    )
    question = UnixTextField(
        label=gettext_lazy("Question"),
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy("With slots for columns of a table: Is {{ name }} a gas?"),
    )
    categories = CategoriesField()


class RuleForm(forms.Form):
    when = forms.CharField(
        label=gettext_lazy("Where"),
        max_length=LONGEST,
        required=False,
        help_text=gettext_lazy("Such as: boils < 25 and group == 18. Empty: always."),
    )
    answer = UnixTextField(
        label=gettext_lazy("Answer"),
        max_length=LONGEST,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


class TableForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("Table"),
        help_text=gettext_lazy("CSV or JSONL in UTF-8, or Parquet; 10 MB at most."),
    )

    def clean_file(self) -> "UploadedFile[bytes]":
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > MAX_BYTES:
            raise forms.ValidationError(
                _("The table is larger than 10 MB: have it filled in with fill_template.")
            )
        return file


RuleForms = forms.formset_factory(
    RuleForm, extra=BLANK_RULES, max_num=MOST_RULES, absolute_max=MOST_RULES, min_num=0
)


def template_of(research_field: ResearchField, pk: int) -> QuestionTemplate:
    """Of the field, with how many questions it has made as `n`."""
    rows = QuestionTemplate.objects.annotate(n=Count("questions"))
    return get_object_or_404(rows, field=research_field, pk=pk)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def templates(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    rows = QuestionTemplate.objects.filter(field=research_field)
    context = {
        "research_field": research_field,
        "section": "fields",
        "templates": rows.annotate(n=Count("questions")).order_by("key"),
    }
    return render(request, "lab/questions/templates.html", context)


@either
@for_field(FieldRight.CURATE_FIELD)
def new_template(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    return _written(request, research_field, None)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_template(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    template = template_of(research_field, pk)
    if is_fixed(template):
        messages.error(request, _("It has made questions and stays as it is."))
        return redirect("lab:question_template", research_field.slug, pk)
    return _written(request, research_field, template)


@either
@for_field(FieldRight.CURATE_FIELD)
def template(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    """A template, and a table that is sent to fill it."""
    row = template_of(research_field, pk)
    sent = (request.POST, request.FILES) if request.method == "POST" else ()
    form = TableForm(*sent)
    if form.is_valid():
        data = form.cleaned_data["file"].read()
        name = kept_uploads.keep(research_field, user_of(request), data)
        address = reverse("lab:question_filling", args=[research_field.slug, pk, name])
        return redirect(f"{address}?{urlencode({'n': 20})}")
    context = {
        "research_field": research_field,
        "template": row,
        "is_fixed": is_fixed(row),
        "form": form,
        "section": "fields",
    }
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "lab/questions/template.html", context, status=status)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def template_file(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    row = template_of(research_field, pk)
    headers = {"Content-Disposition": content_disposition_header(True, f"{row.key}.toml")}
    return HttpResponse(as_toml(row), content_type="application/toml", headers=headers)


def _written(
    request: HttpRequest, research_field: ResearchField, row: QuestionTemplate | None
) -> HttpResponse:
    start: dict[str, Any] = {}
    if row is not None:
        start = {"key": row.key, "question": row.question, "categories": row.categories}
    data = request.POST if request.method == "POST" else None
    form = TemplateForm(data, initial=start)
    rules = RuleForms(data, initial=row.rules if row else [], prefix="rules")
    if row is not None:
        form.fields["key"].disabled = True
    if form.is_valid() and rules.is_valid():
        sent = form.cleaned_data
        given = [rule for rule in rules.cleaned_data if rule]
        named = QuestionTemplate.objects.filter(field=research_field, key=sent["key"])
        if row is None and named.exists():
            form.add_error("key", _("The field has a template of this key."))
        else:
            try:
                saved = save_template(
                    research_field,
                    sent["key"],
                    sent["question"],
                    given,
                    sent["categories"],
                    by=user_of(request),
                )
            except ValidationError as error:
                form.add_error(None, error.messages)
            else:
                return redirect("lab:question_template", research_field.slug, saved.pk)
    context = {
        "research_field": research_field,
        "template": row,
        "form": form,
        "rules": rules,
        "section": "fields",
    }
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "lab/questions/write_template.html", context, status=status)
