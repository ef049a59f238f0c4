"""The list of a field's questions, and its files."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import content_disposition_header
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field
from experiment.models import Item, QuestionTemplate, ResearchField
from experiment.services.questions.export import COLUMNS, FORMATS, WantedQuestions, content
from lib.http import UNPROCESSABLE
from lib.table_files import CONTENT_TYPES

PER_PAGE = 50
ANY = ("", _("any"))
PLACE = "\x1f"  # between a dimension and a category, in an address


class QuestionsForm(forms.Form):
    text = forms.CharField(
        label=_("Key or words"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    status = forms.ChoiceField(
        label=_("State"), choices=[ANY, *Item.Status.choices], required=False
    )
    template = forms.ChoiceField(label=_("Template"), required=False)
    category = forms.ChoiceField(label=_("Category"), required=False)

    def __init__(self, *args: Any, research_field: ResearchField, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = questions_of(research_field)
        used = QuestionTemplate.objects.filter(field=research_field).values_list("key", flat=True)
        self._offer("template", [(key, key) for key in used])
        self.categories = dict(self.rows.order_by().values_list("pk", "categories"))
        named: dict[str, set[str]] = {}
        for found in self.categories.values():
            for dimension, names in found.items():
                named.setdefault(dimension, set()).update(names)
        groups = [(d, [(f"{d}{PLACE}{n}", n) for n in sorted(named[d])]) for d in sorted(named)]
        self._offer("category", groups)

    def _offer(self, name: str, choices: list[Any]) -> None:
        self.fields[name].choices = [ANY, *choices]  # type: ignore[attr-defined]

    @property
    def asked(self) -> str:
        """What narrows the list, as in the page's address."""
        return urlencode({name: value for name, value in self.cleaned_data.items() if value})

    @property
    def narrowed(self) -> QuerySet[Item]:
        """Of a valid form."""
        sent, rows = self.cleaned_data, self.rows
        if sent["status"]:
            rows = rows.filter(status=sent["status"])
        if sent["template"]:
            rows = rows.filter(template__key=sent["template"])
        if words := sent["text"]:
            places = Q(markup__icontains=words) | Q(expert_answer__icontains=words)
            rows = rows.filter(places | Q(key__icontains=words))
        if sent["category"]:
            # Not by the database: SQLite does not look into lists
            dimension, _mark, name = sent["category"].partition(PLACE)
            fits = [pk for pk, c in self.categories.items() if name in c.get(dimension, ())]
            rows = rows.filter(pk__in=fits)
        return rows


class FileForm(forms.Form):
    form = forms.ChoiceField(
        label=_("Form"), choices=[(name, name.upper()) for name in FORMATS], initial=FORMATS[0]
    )
    columns = forms.ChoiceField(
        label=_("Columns"),
        choices=list(zip(COLUMNS, (_("ours"), _("uuid, template_uuid, …")), strict=True)),
    )
    status = forms.ChoiceField(
        label=_("State"),
        choices=[*Item.Status.choices, ("all", _("any"))],
        initial=Item.Status.ACCEPTED,
    )


def questions_of(research_field: ResearchField) -> QuerySet[Item]:
    """The newest version of each."""
    rows = Item.objects.filter(field=research_field.name, kind=Item.Kind.QUESTION)
    return rows.latest_versions().select_related("template").order_by("key")


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def questions(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = QuestionsForm(request.GET, research_field=research_field)
    is_valid = form.is_valid()
    rows = form.narrowed if is_valid else form.rows.none()
    context: dict[str, Any] = {
        "research_field": research_field,
        "section": "fields",
        "form": form,
        "query": form.asked if is_valid else "",
        "page": Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        "file_form": FileForm(prefix="file"),
    }
    status = 200 if is_valid else UNPROCESSABLE
    return render(request, "lab/questions/questions.html", context, status=status)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def file(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = FileForm(request.GET, prefix="file")
    if not form.is_valid():
        return redirect("lab:questions", research_field.slug)
    sent = form.cleaned_data
    wanted = WantedQuestions(research_field, sent["form"], sent["columns"], sent["status"])
    headers = {"Content-Disposition": content_disposition_header(True, wanted.file_name)}
    written = content(wanted, wanted.items)
    return HttpResponse(written, content_type=CONTENT_TYPES[wanted.form], headers=headers)
