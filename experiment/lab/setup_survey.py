"""The survey questions of a study: the list, one of them, its place, and its removal."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.domain.survey import KINDS, LONGEST_TEXT, Part
from experiment.lab.access import for_study, user_of
from experiment.lab.setup import LABELS, framing, preview_context, setup_context
from experiment.lab.setup_forms import OfStudy
from experiment.models import Study, SurveyQuestion
from experiment.models.survey import kinds
from experiment.services import audit, survey
from experiment.services.arms import arms_of
from lib.http import either, row_number
from lib.opened import check_seen, held
from lib.pages import UnixTextField, refused, say_saved, show

# What the list shows of a question, before a button removes it
SHOWN = ("text", "name", "place", "parts", "required", "arm_id", "advised_only")
EVERYBODY, ADVISED = "", "advised"
Place = SurveyQuestion.Place


def part_field(part: Part) -> forms.Field:
    """The field of the form for a part of a question."""
    shared: dict[str, Any] = {"label": part.label, "help_text": part.help, "initial": part.initial}
    if part.form == "lines":
        return UnixTextField(widget=forms.Textarea(attrs={"rows": 5}), **shared)
    if part.form == "line":
        return forms.CharField(max_length=part.most, **shared)
    return forms.IntegerField(min_value=part.least, max_value=part.most, **shared)


class SurveyForm(OfStudy, forms.Form):
    """A question of one kind, with the parts that this kind has."""

    text = UnixTextField(
        label="Question",
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="In the language of the study's pages.",
    )
    name = forms.CharField(
        label="Name",
        max_length=40,
        help_text="Lower-case letters, digits and underscores. Exports call the column survey_ and this name.",
    )
    place = forms.ChoiceField(label="Asked", choices=Place.choices, widget=forms.RadioSelect)
    audience = forms.ChoiceField(label="Asked of", required=False)
    required = forms.BooleanField(label="An answer is required", required=False)

    def __init__(self, *args: Any, question: SurveyQuestion, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.question, self.parts = question, question.rules.parts
        self.study, self.row = question.study, {"survey_question": question.name}
        self.fields |= {name: part_field(part) for name, part in self.parts.items()}
        self.order_fields(("text", *self.parts))
        # In a study without arms, there are no audiences to choose from
        if arms := arms_of(question.study):
            are_advised = any(arm.is_advised for arm in arms)
            self.fields["audience"].choices = [  # type: ignore[attr-defined]
                (EVERYBODY, "all participants"),
                *([(ADVISED, "participants who get advice")] if are_advised else []),
                *((str(arm.number), f"arm “{arm.name}”") for arm in arms),
            ]
        else:
            del self.fields["audience"]
        audience = EVERYBODY if question.arm is None else str(question.arm.number)
        if question.advised_only:
            audience = ADVISED
        shown = {name: getattr(question, name) for name in ("text", "name", "place", "required")}
        given = {
            name: "\n".join(value) if self.parts[name].form == "lines" else value
            for name, value in question.parts.items()
        }
        self.initial.update(shown | given | {"audience": audience})

    @property
    def merges(self) -> bool:
        return self.question.pk is not None

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        for name, part in self.parts.items():
            if part.form == "lines" and name in given:
                lines = (line.strip() for line in given[name].splitlines())
                given[name] = [line for line in lines if line]
        if all(part in given for part in self.parts):
            parts = {part: given[part] for part in self.parts}
            if fault := self.question.rules.fault(parts):
                self.add_error(fault.part, fault.sentence)
        return given

    def filled(self) -> SurveyQuestion:
        """The question as it is asked for, not saved."""
        given, question = self.cleaned_data, self.question
        for name in ("text", "name", "place", "required"):
            setattr(question, name, given[name])
        question.parts = {part: given[part] for part in self.parts}
        audience = given.get("audience", EVERYBODY)
        question.advised_only = audience == ADVISED
        numbers = {str(arm.number): arm for arm in arms_of(question.study)}
        question.arm = numbers.get(audience)
        return question


@dataclass(frozen=True, slots=True)
class ListedQuestion:
    """A row of the list."""

    question: SurveyQuestion

    @property
    def asked_of(self) -> str:
        if self.question.advised_only:
            return "participants who get advice"
        return "all participants" if self.question.arm is None else self.question.arm.name


@require_safe
@for_study(Right.SET_UP)
@framing
def questions(request: HttpRequest, study: Study) -> HttpResponse:
    rows = study.survey_questions.select_related("arm").order_by("number", "pk")
    pages = [
        (place, [ListedQuestion(row) for row in rows if row.place == place]) for place in Place
    ]
    asked = [place for place, of_page in pages if of_page]
    shown = preview_context(request, study, f"survey_{asked[0]}") if asked else {}
    return _show(
        request,
        study,
        "survey",
        pages=[(place, of_page) for place, of_page in pages if of_page],
        kinds=kinds(),
        has_arms=bool(arms_of(study)),
        offers_trust=survey.lacks_example(study),
        **shown,
    )


@either
@for_study(Right.SET_UP)
def new_question(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    if kind not in KINDS:
        raise Http404
    return _edit(request, study, lambda stored: SurveyQuestion(study=stored, kind=kind))


@either
@for_study(Right.SET_UP)
def question(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """By its key where the page gives it: somebody else may have renamed it meanwhile."""
    row = row_number(request.POST.get("row", ""))
    by = {"pk": row} if row else {"name": name}
    return _edit(request, study, lambda stored: get_object_or_404(stored.survey_questions, **by))


@require_POST
@for_study(Right.SET_UP)
def add_trust(request: HttpRequest, study: Study) -> HttpResponse:
    with refused(request):
        survey.add_example(study, by=user_of(request))
        messages.success(request, "Saved.")
    return redirect("lab:setup_survey", study.slug)


@require_POST
@for_study(Right.SET_UP)
def move(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    with refused(request):
        survey.move_question_up(
            get_object_or_404(study.survey_questions, name=name), user_of(request)
        )
    return redirect("lab:setup_survey", study.slug)


@require_POST
@for_study(Right.SET_UP)
def remove(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    with refused(request), held(study) as stored:
        removed = get_object_or_404(stored.survey_questions, name=name)
        edits = partial(audit.last_changes, study=study, survey_question=name)
        check_seen(request.POST, removed, *SHOWN, edits=edits)
        survey.remove_question(removed, by=user_of(request))
        messages.success(request, f"“{name}” was removed.")
    return redirect("lab:setup_survey", study.slug)


def _edit(
    request: HttpRequest, study: Study, find: Callable[[Study], SurveyQuestion]
) -> HttpResponse:
    with held(study, when=request.method == "POST") as stored:
        edited = find(stored)
        is_new, form = edited.pk is None, SurveyForm(request.POST or None, question=edited)
        if form.is_valid():
            with refused(form):
                survey.save_question(form.filled(), by=user_of(request))
                say_saved(request, form)
                return redirect("lab:setup_survey", study.slug)
    name, kind = form.initial["name"], edited.get_kind_display()
    title = "New survey question" if is_new else name
    heading = f"{title}: {kind}" if is_new else f"Survey question “{name}”: {kind}"
    return _show(request, study, "survey_question", form=form, title=title, heading=heading)


def _show(request: HttpRequest, study: Study, template: str, **more: Any) -> HttpResponse:
    context = setup_context(study, "survey") | {"title": LABELS["survey"]} | more
    return show(request, f"lab/setup/{template}.html", **context)
