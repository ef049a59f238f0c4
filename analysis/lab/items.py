"""Lists of test cases, of a field and of a study, filters of them that a person keeps, and what is known of one."""

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST, require_safe

from analysis.lab.results import TYPES, file_response
from analysis.services.items.wanted import Order, Wanted
from analysis.stats.item_marks import Mark
from experiment.domain.roles import FieldRight, Right
from experiment.lab.access import LabRequest, for_field, for_study, is_lead, user_of
from experiment.models import Item, ResearchField, SavedView, Study
from experiment.services.curation.together import Act
from experiment.services.rights import studies_with
from lib.templatetags.panels import is_box

ANY = ("", "any")
MARKS = (
    (Mark.ALL_RIGHT.value, "everyone right"),
    (Mark.NONE_RIGHT.value, "no one right"),
    (Mark.RECOGNISED.value, "recognised often"),
    (Mark.BEFORE_CUTOFF.value, "published before a model's cut-off"),
)


def _choice(label: Any, choices: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=[ANY, *choices], required=False)


class ListForm(forms.Form):
    text = forms.CharField(
        label="Key, DOI or words of the text",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    status = _choice("State", Item.Status.choices)
    kind = _choice("Kind", Item.Kind.choices)
    source = _choice("Source", Item.Source.choices)
    subfield = _choice("Subfield", ())
    study = _choice("Used in study", ())
    mark = _choice("Mark", MARKS)
    order = forms.ChoiceField(label="Order", choices=Order.choices, required=False)
    is_waiting = forms.BooleanField(label="Waiting for my review", required=False)
    all_versions = forms.BooleanField(label="All versions", required=False)

    def __init__(self, *args: Any, user: User, research_field: ResearchField, **kw: Any) -> None:
        super().__init__(*args, **kw)
        own = Item.objects.filter(field=research_field.name).order_by()
        used = own.exclude(subfield="").values_list("subfield", flat=True).distinct()
        subfields = {*research_field.subfields.values_list("name", flat=True), *used}
        drawing = Study.objects.filter(items__in=own).values("pk")
        studies = studies_with(user, Right.SEE_ITEMS).filter(pk__in=drawing).order_by("title")
        self._offer("subfield", [(name, name) for name in sorted(subfields)])
        self._offer("study", list(studies.values_list("slug", "title")))

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = [ANY, *choices]  # type: ignore[attr-defined]

    @property
    def asked(self) -> dict[str, str]:
        """Filters and order of the list, as in the page's address; only those that the form knows."""
        values = {name: value for name, value in self.cleaned_data.items() if value}
        if values.get("order") == Order.KEY:
            del values["order"]
        return {name: "on" if value is True else str(value) for name, value in values.items()}

    @property
    def query(self) -> str:
        return urlencode(self.asked)

    @property
    def wanted(self) -> Wanted:
        values: dict[str, Any] = dict(self.cleaned_data)
        return Wanted(**(values | {"order": Order(values["order"] or Order.KEY)}))


FIELD_COLUMNS = (
    SafeString('<span class="visually-hidden">Selected</span>'),
    *("Test case", "State", "Kind", "Subfield", "#Times judged", "#Accuracy, 95% interval"),
    *("#Models right", "#Difficulty, nats per token", "Marks"),
)


class ViewForm(forms.ModelForm[SavedView]):
    class Meta:
        model = SavedView
        fields = ("name",)
        labels = {"name": "Keep these filters as"}


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def field(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    # Here, since pages without figures do without what computes them
    from analysis.services.items.listing import listed

    user = user_of(request)
    form = ListForm(request.GET, user=user, research_field=research_field)
    is_valid = form.is_valid()
    fields = list(form)
    context = {
        "research_field": research_field,
        "section": "fields",
        "form": form,
        "choices": [each for each in fields if not is_box(each)],
        "boxes": [each for each in fields if is_box(each)],
        "query": form.query if is_valid else "",
        "acts": [act for act in Act if act != Act.RETIRE or is_lead(request)],
        "columns": FIELD_COLUMNS,
        "view_form": ViewForm(),
        "views": own_views(request, research_field),
    }
    if is_valid:
        number = request.GET.get("page")
        context["listed"] = listed(user, research_field, form.wanted, number)
    return render(request, "lab/fields/field.html", context, status=200 if is_valid else 400)


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def save_view(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """Keep the filters of `query` under a name; one that is taken is given these filters."""
    user = user_of(request)
    filters = ListForm(
        QueryDict(request.POST.get("query", "")), user=user, research_field=research_field
    )
    form = ViewForm(request.POST)
    place = reverse("lab:field", args=[research_field.slug])
    if not (filters.is_valid() and form.is_valid()):
        messages.error(request, "The view was not saved. It needs a name and at least one filter.")
        return redirect(place)
    name = form.cleaned_data["name"]
    own_views(request, research_field).update_or_create(
        field=research_field, user=user, name=name, defaults={"query": filters.query}
    )
    messages.success(request, f"Kept as “{name}”.")
    return redirect(f"{place}?{filters.query}")


@require_POST
@for_field(FieldRight.CURATE_FIELD)
def delete_view(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    """The person's own of the posted name; by name, since nobody has two of one."""
    name = request.POST.get("name", "")
    if own_views(request, research_field).filter(name=name).delete()[0]:
        messages.success(request, f"“{name}” is no longer saved.")
    return redirect("lab:field", research_field.slug)


def own_views(request: HttpRequest, research_field: ResearchField) -> QuerySet[SavedView]:
    return SavedView.objects.filter(field=research_field, user=user_of(request))


PEOPLE_COLUMNS = (
    *("Study", "#Times judged", "#Accuracy (95% interval)", "#Median time, s", "#Recognised"),
    *("#Confidence when right", "#When wrong"),
)
MODEL_COLUMNS = (
    *("Model", "#Difficulty, perplexity", "Decision", "#Rank (1 is hardest)"),
    "Along the text",
)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item_statistics(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    # Here and below, since pages without figures do without what computes them
    from analysis.services.items.statistics import fitted, statistics
    from analysis.services.items.words import place_text

    item = get_object_or_404(Item, field=research_field.name, pk=pk)
    user = user_of(request)
    found = statistics(item, research_field, user)
    context = {
        "section": "fields",
        "part": "items",
        "research_field": research_field,
        "item": item,
        "found": found,
        "people_columns": PEOPLE_COLUMNS,
        "model_columns": MODEL_COLUMNS,
        "fitted": fitted(item, user) if request.GET.get("fit") == "2pl" else None,
        "text": place_text(item.key) if found.place else None,
    }
    return render(request, "lab/items/statistics.html", context)


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def item_statistics_picture(
    request: HttpRequest, research_field: ResearchField, pk: int
) -> HttpResponse:
    from analysis.services.items.statistics import place_of

    item = get_object_or_404(Item, field=research_field.name, pk=pk)
    place = place_of(item, research_field, user_of(request))
    if place is None:
        raise Http404

    def picture() -> bytes:
        from analysis.charts.save import specification, svg
        from analysis.services.items.figure import item_place

        return svg(specification(item_place(place))).encode()

    return file_response(picture, TYPES["svg"], f"{research_field.slug}-{item.pk}.svg")


PER_PAGE = 50


@require_safe
@for_study(Right.SEE_ITEMS)
def test_cases(request: LabRequest, study: Study) -> HttpResponse:
    # Here, since pages without figures do without what computes them
    from analysis.services.items.listing import study_lines

    texts = ("item__markup", "item__original", "item__altered", "item__note")
    rows = study.study_items.select_related("item").defer(*texts)
    ordered = rows.order_by("item__kind", "item__source", "item__key")
    page = Paginator(ordered, PER_PAGE).get_page(request.GET.get("page"))
    rights = request.rights
    sees_data, may_curate = Right.SEE_DATA in rights, Right.CURATE in rights
    context = {
        "study": study,
        "page": page,
        "lines": study_lines(study, list(page), user_of(request), with_data=sees_data),
        "n_paused": study.study_items.exclude(paused_at=None).count(),
        "sees_data": sees_data,
        "may_curate": may_curate,
        "columns": [
            "Test case",
            *(["Pause or resume"] if may_curate else []),
            *("State", "Kind", "Subfield"),
            *(["#Times judged", "#Accuracy, 95% interval", "Marks"] if sees_data else []),
            "Field",
        ],
        "table_css": "plain item-list" if sees_data else "plain people",
    }
    return render(request, "lab/items/study.html", context)
