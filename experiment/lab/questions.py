"""A field's questions: listed and written."""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_safe
from django_stubs_ext import StrOrPromise

from experiment.domain.markup import MAX_CHARACTERS
from experiment.domain.questions.columns import Categories, CategoriesError, checked, join, split
from experiment.domain.roles import FieldRight
from experiment.imports.read.records import Record
from experiment.lab.access import for_field, user_of
from experiment.lab.editor import subfield_choice
from experiment.models import Item, QuestionTemplate, ResearchField
from experiment.services.curation import writing
from experiment.services.questions import COLUMNS, FORMATS, WantedQuestions, content
from lib.http import UNPROCESSABLE, either
from lib.opened import Edit, OpenedForm, held
from lib.pages import ANY, UnixTextField, attached, offer, say_saved, show
from lib.table_files import CONTENT_TYPES


def as_lines(categories: Categories) -> str:
    """
    >>> as_lines({"bio": ["Tissue", "Drug Meta"]})
    'bio: Tissue; Drug Meta'
    """
    return "\n".join(f"{name}: {join(found)}" for name, found in categories.items() if found)


def seed_field(help_text: StrOrPromise) -> forms.IntegerField:
    return forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        required=False,
        help_text=help_text,
    )


def between_commas(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


class CategoriesField(forms.CharField):
    """Gives {dimension: [category, ...]}."""

    def __init__(self) -> None:
        super().__init__(
            label="Categories",
            required=False,
            max_length=5_000,
            widget=forms.Textarea(attrs={"rows": 3}),
            help_text="One line per dimension, such as “topic: Metals; Acids”.",
        )

    def prepare_value(self, value: Any) -> Any:
        return as_lines(value) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        found: dict[str, list[str]] = {}
        for line in (super().to_python(value) or "").splitlines():
            if not line.strip():
                continue
            dimension, colon, names = line.partition(":")
            name = dimension.strip().casefold()
            if not colon or not name or name in found:
                raise ValidationError(
                    f"“{line.strip()[:80]}” is not a line like “topic: Metals; Acids”, or its dimension occurs twice."
                )
            found[name] = split(names)
        try:
            return checked(found)
        except CategoriesError as error:
            raise ValidationError(str(error)) from error

    def validate(self, value: Any) -> None:
        """Nothing is needed."""

    def run_validators(self, value: Any) -> None:
        """The length is limited where the text is."""


PER_PAGE = 50
PLACE = "\x1f"  # between a dimension and a category, in an address


class QuestionsForm(forms.Form):
    text = forms.CharField(
        label="Key or words",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"type": "search"}),
    )
    status = forms.ChoiceField(label="State", choices=[ANY, *Item.Status.choices], required=False)
    template = forms.ChoiceField(label="Template", required=False)
    category = forms.ChoiceField(label="Category", required=False)

    def __init__(self, *args: Any, research_field: ResearchField, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        items = Item.objects.filter(field=research_field.name, kind=Item.Kind.QUESTION)
        self.rows = items.latest_versions().select_related("template").order_by("key")
        used = QuestionTemplate.objects.filter(field=research_field).values_list("key", flat=True)
        offer(self, "template", [ANY, *((key, key) for key in used)])
        self.categories = dict(self.rows.order_by().values_list("pk", "categories"))
        named: dict[str, set[str]] = {}
        for found in self.categories.values():
            for dimension, names in found.items():
                named.setdefault(dimension, set()).update(names)
        groups = [(d, [(f"{d}{PLACE}{n}", n) for n in sorted(named[d])]) for d in sorted(named)]
        offer(self, "category", [ANY, *groups])

    @property
    def asked(self) -> str:
        """The filters of the list, as in the page's address."""
        return urlencode({name: value for name, value in self.cleaned_data.items() if value})

    @property
    def narrowed(self) -> QuerySet[Item]:
        """The questions that fit a valid form."""
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
        label="Format", choices=[(name, name.upper()) for name in FORMATS], initial=FORMATS[0]
    )
    columns = forms.ChoiceField(
        label="Columns",
        choices=list(zip(COLUMNS, ("ours", "uuid, template_uuid, …"), strict=True)),
    )
    status = forms.ChoiceField(
        label="State",
        choices=[*Item.Status.choices, ("all", "any")],
        initial=Item.Status.ACCEPTED,
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def questions(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = QuestionsForm(request.GET, research_field=research_field)
    is_valid = form.is_valid()
    rows = form.narrowed if is_valid else form.rows.none()
    return show(
        request,
        "lab/questions/questions.html",
        200 if is_valid else UNPROCESSABLE,
        form=form,
        query=form.asked if is_valid else "",
        page=Paginator(rows, PER_PAGE).get_page(request.GET.get("page")),
        file_form=FileForm(prefix="file"),
    )


@require_safe
@for_field(FieldRight.CURATE_FIELD)
def file(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    form = FileForm(request.GET, prefix="file")
    if not form.is_valid():
        return redirect("lab:questions", research_field.slug)
    sent = form.cleaned_data
    wanted = WantedQuestions(research_field, sent["form"], sent["columns"], sent["status"])
    written = content(wanted, wanted.items)
    return attached(written, wanted.file_name, CONTENT_TYPES[wanted.form])


WRITTEN = ("markup", "expert_answer", "categories", *Record.DETAILS)


class QuestionForm(OpenedForm, forms.ModelForm[Item]):
    markup = UnixTextField(
        max_length=MAX_CHARACTERS,
        label="Question",
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    expert_answer = UnixTextField(
        max_length=MAX_CHARACTERS,
        label="Expert answer",
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Answers are graded by comparison with this text. Respondents never see it.",
    )
    categories = CategoriesField()

    class Meta:
        model = Item
        fields = WRITTEN
        labels = {"source": "Written by", "generator": "Name of the person or model"}
        help_texts = {"generator": "The writer, or the model and its version."}
        widgets = {"note": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, research_field: ResearchField, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["subfield"] = subfield_choice(self.instance, research_field)
        sources = [("human", "a person"), ("machine", "a model")]
        self.fields["source"] = forms.ChoiceField(choices=sources, label="Written by")

    def edits(self, names: Iterable[str]) -> Mapping[str, Edit]:
        return writing.last_changes(self.instance, names)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a valid form."""
        return {name: self.cleaned_data[name] for name in WRITTEN}


@either
@for_field(FieldRight.CURATE_FIELD)
def new_question(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    start = Item(field=research_field.name, kind=Item.Kind.QUESTION)
    form = QuestionForm(request.POST or None, instance=start, research_field=research_field)
    if form.is_valid():
        try:
            item = writing.create_draft(
                research_field, by=user_of(request), kind=Item.Kind.QUESTION, **form.columns
            )
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(request, "Saved.")
            return redirect("lab:item", research_field.slug, item.pk)
    return _page(request, form)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_question(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    kinds = {"field": research_field.name, "kind": Item.Kind.QUESTION}
    item = get_object_or_404(Item, pk=pk, **kinds)
    if item.status != Item.Status.DRAFT:
        messages.error(request, "Only a draft can be edited. Return it to draft first.")
        return redirect("lab:item", research_field.slug, pk)
    with held(item, when=request.method == "POST") as stored:
        form = QuestionForm(request.POST or None, instance=stored, research_field=research_field)
        if form.is_valid():
            try:
                writing.write_draft(item, by=user_of(request), **form.columns)
            except ValidationError as error:
                form.add_error(None, error.messages)
            else:
                say_saved(request, form)
                return redirect("lab:item", research_field.slug, pk)
    return _page(request, form, item)


def _page(request: HttpRequest, form: QuestionForm, item: Item | None = None) -> HttpResponse:
    heading = "New question" if item is None else str(item)
    return show(request, "lab/questions/write.html", form=form, item=item, heading=heading)
