"""A study's pages of models' answers: which models answered its questions, at what cost, and what they said."""

from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from lib.name_fields import is_name
from lib.pages import refused, show
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.lab.forms import AtZeroForm, instructions_field, model_folders
from scoring.lab.run_pages import RunPages
from scoring.models import Answer, AnsweringRun
from scoring.services import answering as asked_answers
from scoring.services import data_set
from scoring.services.answering import default_instructions
from scoring.services.answering_cost import costs, states
from scoring.services.data_set import ANSWERS

# As readers are told how an answer ended
ENDS = {
    Finish.STOP: "answered",
    Finish.LENGTH: "cut off",
    Finish.REFUSED: "refused",
    Finish.FILTERED: "filtered",
    Finish.TOO_LONG: "question too long",
    Finish.EMPTY: "empty",
    Finish.THINKING: "reasoning cut off",
    Finish.FAILED: "failed",
}


class AnsweringForm(AtZeroForm):
    """A model, what it is told, and how many questions it is asked."""

    name = forms.CharField(
        label="Name in tables",
        required=False,
        max_length=200,
        validators=[is_name],
        help_text="If empty, the name of the model is used.",
    )
    limit = forms.IntegerField(
        label="Only the first N questions", required=False, min_value=1, max_value=10**6
    )
    asks_confidence = forms.BooleanField(
        label="Ask after each answer how confident the model is",
        required=False,
        initial=True,
        help_text="This takes a second request per question.",
    )
    instructions = instructions_field(
        default_instructions,
        8,
        "The site fills in {field}. Leave this empty for the built-in text.",
        "System prompt",
    )
    BEHIND = ("name", "limit", "asks_confidence")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        model_args = self.fields["model_args"]
        model_args.help_text = "Separated by commas, such as temperature=0.7, seed=1. The defaults are max_tokens=1024 and temperature=0 (“none” uses the server's). Others: top_p; for a server: concurrency, tries; on the site's machine: batch_size; for a model that reasons first: enable_thinking, reasoning_effort, think_end_token."


class ShownForm(forms.Form):
    """The filter of a run's listed answers."""

    end = forms.ChoiceField(
        label="Ended",
        required=False,
        choices=[("", "in any way"), *((f.value, label) for f, label in ENDS.items())],
    )
    words = forms.CharField(
        label="Words in the text",
        required=False,
        max_length=200,
        widget=forms.TextInput(attrs={"type": "search"}),
    )

    def narrowed(self, answers: QuerySet[Answer]) -> QuerySet[Answer]:
        """Those that were asked for, once the form is valid: the words are in the answer, the question or its key."""
        end, words = self.cleaned_data["end"], self.cleaned_data["words"]
        if end:
            answers = answers.filter(finish=end)
        if words:
            texts = ("text", "item__markup", "item__key")
            found = Q(*((f"{name}__icontains", words) for name in texts), _connector=Q.OR)
            answers = answers.filter(found)
        return answers


SHOWN = 50  # runs
PER_PAGE = 25  # answers


@require_safe
@for_study(Right.SEE_DATA)
def answering(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study, AnsweringForm(user=user_of(request)))


@require_safe
@for_study(Right.SEE_DATA)
def answering_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The part of the page that changes."""
    return show(request, "scoring/answering/_answering.html", **_context(study))


@require_POST
@for_study(Right.WORK)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    form = AnsweringForm(request.POST, user=user_of(request))
    if form.is_valid():
        user = user_of(request)
        about = {
            name: form.cleaned_data[name]
            for name in ("name", "instructions", "limit", "asks_confidence")
        }
        make = partial(asked_answers.answering_run, study, form.asked, by=user, **about)
        with refused(form, ScoringError):
            if not form.foretells(asked_answers.forecast, make):
                return redirect(asked_answers.start(make(), user))
    return _page(request, study, form)


class AnsweringPages(RunPages[AnsweringRun]):
    name = part = "answering"
    service = asked_answers
    units = "questions"
    all_runs = "All answers of models"
    told = ("Instructions to the model", "System prompt and sampling settings", "System prompt")
    file = ("answers", "answers", ANSWERS)

    def runs_of(self, study: Study, /) -> QuerySet[AnsweringRun]:
        return _runs(study).defer("items")

    def heading(self, run: AnsweringRun) -> str:
        return f"Answers of {run.language_model}"

    def state(self, run: AnsweringRun) -> dict[str, Any]:
        return {
            "unread": asked_answers.unread(run),
            "states": states(run.answers.all()),
            "ends": ENDS.values(),
        }

    def listed(self, request: HttpRequest, run: AnsweringRun) -> dict[str, Any]:
        """A page of the run's answers, narrowed as the address says."""
        form = ShownForm(request.GET)
        answers = run.answers.select_related("item").defer("raw", "messages").order_by("item__key")
        answers = form.narrowed(answers) if form.is_valid() else answers.none()
        page = Paginator(answers, PER_PAGE).get_page(request.GET.get("page"))
        return {
            "form": form,
            "shown": page,
            "answers": [(answer, ENDS[Finish(answer.finish)]) for answer in page],
            "query": urlencode({name: request.GET.get(name, "") for name in form.fields}),
        }

    def rows(self, run: AnsweringRun) -> Iterator[tuple[Any, ...]]:
        return data_set.of_answers(run.answers.all())


def _runs(study: Study) -> QuerySet[AnsweringRun]:
    runs = AnsweringRun.objects.filter(study=study)
    return runs.select_related("study", "language_model", "created_by")


def _context(study: Study) -> dict[str, Any]:
    runs = list(_runs(study).defer("items", "identity")[:SHOWN])
    return {
        "part": "answering",
        "runs": runs,
        "is_open": any(run.is_open for run in runs),
        "costs": costs(study),
        "states": states(Answer.objects.filter(run__study=study)),
        "ends": ENDS.values(),
    }


def _page(request: HttpRequest, study: Study, form: AnsweringForm) -> HttpResponse:
    questions = Item.objects.drawable_in(study).filter(kind=Item.Kind.QUESTION)
    return show(
        request,
        "scoring/answering/answering.html",
        form=form,
        n_questions=questions.count(),
        folders=model_folders(),
        **_context(study),
    )
