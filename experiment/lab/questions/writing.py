"""A question is written: a new one, or a draft."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from experiment.domain.item_checks.characters import MAX_CHARACTERS
from experiment.domain.roles import FieldRight
from experiment.lab.access import for_field, user_of
from experiment.lab.questions.categories import CategoriesField
from experiment.lab.setup.forms import UnixTextField
from experiment.models import Item, ResearchField
from experiment.services.curation import drafts
from experiment.services.curation.drafts import EditedSinceError
from lib.http import UNPROCESSABLE, either

CONFLICT = 409
COLUMNS = (
    "markup",
    "expert_answer",
    "categories",
    "source",
    "generator",
    "subfield",
    "doi",
    "note",
)


class QuestionForm(forms.ModelForm[Item]):
    markup = UnixTextField(
        max_length=MAX_CHARACTERS,
        label=gettext_lazy("Question"),
        widget=forms.Textarea(attrs={"rows": 4}),
    )
    expert_answer = UnixTextField(
        max_length=MAX_CHARACTERS,
        label=gettext_lazy("Expert answer"),
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=gettext_lazy("What answers are graded against; whoever answers never sees it."),
    )
    categories = CategoriesField()
    edits = forms.IntegerField(widget=forms.HiddenInput, initial=0)

    class Meta:
        model = Item
        fields = COLUMNS
        labels = {"source": gettext_lazy("Written by"), "generator": gettext_lazy("Who or what")}
        help_texts = {"generator": gettext_lazy("The writer, or the model and its version.")}
        widgets = {"note": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, research_field: ResearchField, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [*research_field.subfields.values_list("name", flat=True)]
        names += [held] if (held := self.instance.subfield) and held not in names else []
        choices = [("", gettext_lazy("none")), *((name, name) for name in names)]
        self.fields["subfield"] = forms.ChoiceField(choices=choices, required=False)
        sources = [("human", gettext_lazy("a person")), ("machine", gettext_lazy("a model"))]
        self.fields["source"] = forms.ChoiceField(choices=sources, label=gettext_lazy("Written by"))
        self.initial["edits"] = self.instance.edits

    @property
    def columns(self) -> dict[str, Any]:
        """Of a valid form."""
        return {name: self.cleaned_data[name] for name in COLUMNS}


@either
@for_field(FieldRight.CURATE_FIELD)
def new_question(request: HttpRequest, research_field: ResearchField) -> HttpResponse:
    start = Item(field=research_field.name, kind=Item.Kind.QUESTION)
    form = QuestionForm(request.POST or None, instance=start, research_field=research_field)
    if form.is_valid():
        try:
            item = drafts.create(
                research_field, by=user_of(request), kind=Item.Kind.QUESTION, **form.columns
            )
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(request, _("Saved."))
            return redirect("lab:item", research_field.slug, item.pk)
    return _page(request, research_field, form)


@either
@for_field(FieldRight.CURATE_FIELD)
def write_question(request: HttpRequest, research_field: ResearchField, pk: int) -> HttpResponse:
    kinds = {"field": research_field.name, "kind": Item.Kind.QUESTION}
    item = get_object_or_404(Item, pk=pk, **kinds)
    if item.status != Item.Status.DRAFT:
        messages.error(request, _("Only a draft can be written: take it back to draft first."))
        return redirect("lab:item", research_field.slug, pk)
    form = QuestionForm(
        request.POST or None, instance=Item.objects.get(pk=pk), research_field=research_field
    )
    if form.is_valid():
        edits = form.cleaned_data["edits"]
        try:
            drafts.write(item, by=user_of(request), edits=edits, **form.columns)
        except EditedSinceError:
            form.add_error(
                None, _("Somebody has changed it since you opened it: look at it again.")
            )
            return _page(request, research_field, form, item, CONFLICT)
        except ValidationError as error:
            form.add_error(None, error.messages)
        else:
            messages.success(request, _("Saved."))
            return redirect("lab:item", research_field.slug, pk)
    return _page(request, research_field, form, item)


def _page(
    request: HttpRequest,
    research_field: ResearchField,
    form: QuestionForm,
    item: Item | None = None,
    status: int = UNPROCESSABLE,
) -> HttpResponse:
    context = {"research_field": research_field, "form": form, "item": item, "section": "fields"}
    status = status if form.is_bound else 200
    return render(request, "lab/questions/write.html", context, status=status)
