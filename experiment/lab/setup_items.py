"""The test cases that a study draws from: chosen by what they are, or listed; counted before they are taken."""

from collections import defaultdict
from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.lab.questions import CategoriesField, between_commas, seed_field
from experiment.lab.setup import say_revised, show_section
from experiment.lab.setup_forms import OfStudy, reason_field
from experiment.models import Item, ResearchField, Study
from experiment.models.studies import Tasks
from experiment.services.item_choice import Counted, ItemChoice, choose, choose_items, read_keys
from experiment.services.questions import QuestionChoice, fields_with_questions, take_questions
from experiment.services.study_versions import ReasonRequiredError
from experiment.services.usable import usable_items
from lib import formatting
from lib.http import either
from lib.opened import held
from lib.pages import ANY, offer, refused, show

PER_PAGE = 50


def _keys(rows: int) -> forms.CharField:
    return forms.CharField(
        required=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": rows, "spellcheck": "false"}),
        label="Exactly these",
        help_text="One key per line; # starts a comment. Leave this empty for all that match.",
    )


class _Taking(OfStudy, forms.Form):
    """Replaces what the study draws of some kinds."""

    kinds: ClassVar[tuple[Item.Kind, ...]]

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study

    def replaces(self) -> dict[str, tuple[str, str, str]]:
        drawn = self.study.study_items.filter(item__kind__in=self.kinds).order_by("item_id")
        keys = [str(pk) for pk in drawn.values_list("item_id", flat=True)]
        counted = formatting.count(len(keys), "text")
        return {"items": ("What the study draws from", counted, " ".join(keys))}


class ItemsForm(_Taking):
    """Conditions on the test cases; all of them hold."""

    collection = forms.ChoiceField(
        choices=[ANY, *Item.Collection.choices], required=False, label="Published set"
    )
    source = forms.ChoiceField(choices=[ANY, *Item.Source.choices], required=False, label="Source")
    field = forms.ChoiceField(
        required=False,
        label="Field of research",
        help_text=(
            "“any” takes the published set, the fields whose test cases you write, and those that the study draws from. "
            "Choose a field that others share with you by its name."
        ),
    )
    subfields = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Subfields",
        help_text="If none is chosen, the test cases come from all subfields.",
    )
    keys = _keys(rows=4)
    kinds = (Item.Kind.TEST, Item.Kind.CATCH, Item.Kind.PRACTICE)

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        usable = usable_items(user, study).filter(kind=Item.Kind.TEST).order_by()
        used: dict[str, set[str]] = defaultdict(set)
        for field, subfield in usable.values_list("field", "subfield").distinct():
            used[field].add(subfield)
        names = ResearchField.objects.filter(name__in=used).values_list("name", flat=True)
        fields = [(name, name) for name in names]
        subfields = [
            (name, [(subfield, subfield) for subfield in sorted(used[name] - {""})])
            for name in names
        ]
        offer(self, "field", [ANY, *fields])
        offer(self, "subfields", [group for group in subfields if group[1]])
        if study.version:
            self.fields["reason"] = reason_field()

    @property
    def choice(self) -> ItemChoice:
        values = self.cleaned_data
        return ItemChoice(
            collection=values["collection"],
            source=values["source"],
            field=values["field"],
            subfields=tuple(values["subfields"]),
            keys=read_keys(values["keys"].splitlines(), "the list"),
        )


class CountedForm(ItemsForm):
    """A form of which nothing is saved."""

    merges = False


class QuestionsForm(_Taking):
    """The field of the questions, and how many each participant gets."""

    questions_of = forms.ChoiceField(
        required=False,
        label="Field of the questions",
        help_text="Its accepted questions replace those of the study; test cases do not change.",
    )
    templates = forms.CharField(
        required=False,
        max_length=5_000,
        label="Templates",
        help_text="Keys separated by commas. Leave this empty for questions from any template or none.",
    )
    categories = CategoriesField()
    keys = _keys(rows=3)
    n = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=20_000,
        label="Number of questions",
        help_text="Drawn evenly over templates. Leave this empty for all.",
    )
    seed = seed_field("The same seed draws the same questions.")
    question_items = forms.IntegerField(
        label="Questions per participant",
        min_value=1,
        max_value=500,
        help_text="If fewer questions are chosen, each participant answers all of them.",
    )
    kinds = (Item.Kind.QUESTION,)

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, study=study, **kwargs)
        self.auto_id = "questions_%s"  # the page has another form with a reason
        fields = [(field, n) for field, n in fields_with_questions(user, study) if n]
        offered = [(field.slug, f"{field.name} ({n})") for field, n in fields]
        offer(self, "questions_of", [("", "no questions"), *offered])
        taken = study.items.filter(kind=Item.Kind.QUESTION).values_list("field", flat=True).first()
        self.initial["questions_of"] = next((f.slug for f, _n in fields if f.name == taken), "")
        self.initial["question_items"] = study.question_items or 10
        if study.version:
            self.fields["reason"] = reason_field()

    @property
    def choice(self) -> QuestionChoice:
        sent = self.cleaned_data
        return QuestionChoice(
            templates=between_commas(sent["templates"]),
            categories=sent["categories"],
            keys=read_keys(sent["keys"].splitlines(), "the list"),
            n=sent["n"],
            seed=1 if sent["seed"] is None else sent["seed"],
        )


@either
@for_study(Right.SET_UP)
def items(request: HttpRequest, study: Study) -> HttpResponse:
    with held(study, when=request.method == "POST") as stored:
        form = ItemsForm(request.POST or None, study=stored, user=user_of(request))
        if form.is_valid():
            sent = form.cleaned_data
            reason, about = sent.get("reason", ""), sent["keys"] and "keys"
            before = (stored.field, stored.tasks)
            with (
                refused(form, field=about or None),
                refused(form, ReasonRequiredError, field="reason"),
            ):
                revision = choose_items(stored, form.choice, reason, user_of(request))
                say_revised(request, study, form, revision)
                _say_changed(request, stored, *before)
                return redirect("lab:setup_items", slug=study.slug)
    return _page(request, study, form)


@require_POST
@for_study(Right.SET_UP)
def questions(request: HttpRequest, study: Study) -> HttpResponse:
    """Draw accepted questions of a field, or none."""
    with held(study) as stored:
        form = QuestionsForm(request.POST, study=stored, user=user_of(request))
        if form.is_valid():
            sent = form.cleaned_data
            research_field = ResearchField.objects.filter(slug=sent["questions_of"]).first()
            before = (stored.field, stored.tasks)
            with refused(form), refused(form, ReasonRequiredError, field="reason"):
                revision = take_questions(
                    stored,
                    research_field,
                    sent["question_items"],
                    sent.get("reason", ""),
                    user_of(request),
                    choice=form.choice,
                )
                say_revised(request, study, form, revision)
                _say_changed(request, stored, *before)
                return redirect("lab:setup_items", slug=study.slug)
    return _page(request, study, ItemsForm(study=study, user=user_of(request)), question_form=form)


def _say_changed(request: HttpRequest, study: Study, field: str, tasks: Tasks) -> None:
    """Tells which settings changed when questions were taken."""
    if study.field != field:
        said = f"The study's field is now {study.field}: participants and models see this."
        messages.info(request, said)
    if study.tasks != tasks and study.tasks == "questions":
        messages.info(
            request,
            "Participants only answer questions. There are no abstracts to judge, and therefore no catch trials and no practice.",
        )


@require_POST
@for_study(Right.SET_UP)
def count(request: HttpRequest, study: Study) -> HttpResponse:
    """The number of test cases that the choice would give; for the page's script."""
    form = CountedForm(request.POST, study=study, user=user_of(request))
    context: dict[str, Any] = {"problems": []}
    if form.is_valid():
        try:
            context["counted"] = Counted.of(choose(form.choice, user_of(request), study))
        except ValidationError as error:
            context["problems"] = error.messages
    else:
        context["problems"] = [text for texts in form.errors.values() for text in texts]
    return show(request, "lab/setup/_counted.html", **context)


def _page(
    request: HttpRequest,
    study: Study,
    form: ItemsForm | None = None,
    question_form: QuestionsForm | None = None,
) -> HttpResponse:
    pinned = study.items.order_by("kind", "source", "key").only(
        "key", "version", "kind", "source", "field", "subfield", "status"
    )
    page = Paginator(pinned, PER_PAGE).get_page(request.GET.get("page"))
    return show_section(
        request,
        study,
        "items",
        form or ItemsForm(study=study, user=user_of(request)),
        page=page,
        list_them=f"List all {page.paginator.count}" if page.paginator.count > 1 else "List it",
        counted=Counted.of(study.items.only("key", "kind", "source", "subfield")),
        question_form=question_form or QuestionsForm(study=study, user=user_of(request)),
    )
