"""A study's pages of models' answers: which models answered its questions, at what cost, and what they said."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_study, user_of
from experiment.models import Item, Study
from experiment.services import work as background
from lib.http import UNPROCESSABLE
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish
from scoring.lab.answering.forms import ENDS, AnsweringForm, ShownForm
from scoring.lab.files import sent_as_csv
from scoring.lab.folders import model_folders
from scoring.models import Answer, AnsweringRun
from scoring.services import answering as asked_answers
from scoring.services import data_set
from scoring.services.answering_cost import costs, states
from scoring.services.data_set import ANSWERS

SHOWN = 50  # runs
PER_PAGE = 25  # answers


@require_safe
@for_study(Right.SEE_DATA)
def answering(request: HttpRequest, study: Study) -> HttpResponse:
    return _page(request, study, AnsweringForm())


@require_safe
@for_study(Right.SEE_DATA)
def answering_live(request: HttpRequest, study: Study) -> HttpResponse:
    """The part of the page that changes."""
    return render(request, "scoring/answering/_answering.html", _context(study))


@require_POST
@for_study(Right.WORK)
def start(request: HttpRequest, study: Study) -> HttpResponse:
    form = AnsweringForm(request.POST)
    if form.is_valid():
        user, told = user_of(request), form.cleaned_data["instructions"]
        name, limit = form.cleaned_data["name"], form.cleaned_data["limit"]
        try:
            draft = asked_answers.answering_run(
                study, form.asked, name=name, instructions=told, limit=limit, by=user
            )
            return redirect(asked_answers.start(draft, user))
        except ScoringError as error:
            form.add_error(None, str(error))
    return _page(request, study, form, status=UNPROCESSABLE)


@require_safe
@for_study(Right.SEE_DATA)
def run(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    found = _run_of(study, pk)
    context = _run_context(study, found) | _answers(request, found)
    return render(request, "scoring/answering/run.html", context)


@require_safe
@for_study(Right.SEE_DATA)
def run_live(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    """The part of a run's page that changes."""
    context = _run_context(study, _run_of(study, pk))
    return render(request, "scoring/answering/_run.html", context)


@require_safe
@for_study(Right.EXPORT)
def run_csv(request: HttpRequest, study: Study, pk: int) -> StreamingHttpResponse:
    found = _run_of(study, pk)
    name = f"{study.slug}-answers-{found.pk}"
    return sent_as_csv(name, ANSWERS, data_set.of_answers(found.answers.all()))


@require_POST
@for_study(Right.WORK)
def stop(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return redirect(background.stop(_run_of(study, pk), user_of(request)))


@require_POST
@for_study(Right.WORK)
def resume(request: HttpRequest, study: Study, pk: int) -> HttpResponse:
    return redirect(asked_answers.resume(_run_of(study, pk), user_of(request)))


def _runs(study: Study) -> QuerySet[AnsweringRun]:
    runs = AnsweringRun.objects.filter(study=study)
    return runs.select_related("study", "language_model", "created_by")


def _run_of(study: Study, pk: int) -> AnsweringRun:
    return get_object_or_404(_runs(study).defer("items"), pk=pk)


def _context(study: Study) -> dict[str, Any]:
    runs = list(_runs(study).defer("items", "identity")[:SHOWN])
    return {
        "study": study,
        "part": "answering",
        "runs": runs,
        "is_open": any(run.is_open for run in runs),
        "costs": costs(study),
        "states": states(Answer.objects.filter(run__study=study)),
        "ends": ENDS.values(),
    }


def _page(
    request: HttpRequest, study: Study, form: AnsweringForm, *, status: int = 200
) -> HttpResponse:
    questions = Item.objects.drawable_in(study).filter(kind=Item.Kind.QUESTION)
    more = {"form": form, "n_questions": questions.count(), "folders": model_folders()}
    context = _context(study) | more
    return render(request, "scoring/answering/answering.html", context, status=status)


def _run_context(study: Study, found: AnsweringRun) -> dict[str, Any]:
    return {
        "study": study,
        "part": "answering",
        "run": found,
        "spending": asked_answers.spent(found),
        "states": states(found.answers.all()),
        "ends": ENDS.values(),
        "can_resume": asked_answers.can_resume(found),
    }


def _answers(request: HttpRequest, found: AnsweringRun) -> dict[str, Any]:
    """A page of the run's answers, narrowed as the address says."""
    form = ShownForm(request.GET)
    answers = found.answers.select_related("item").defer("raw", "messages").order_by("item__key")
    answers = form.narrowed(answers) if form.is_valid() else answers.none()
    page = Paginator(answers, PER_PAGE).get_page(request.GET.get("page"))
    return {
        "form": form,
        "shown": page,
        "answers": [(answer, ENDS[Finish(answer.finish)]) for answer in page],
        "query": urlencode({name: request.GET.get(name, "") for name in form.fields}),
    }
