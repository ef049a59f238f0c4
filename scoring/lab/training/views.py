"""The lab's pages about corpora, trainings and the models that these make. Views find rows; services do the work."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import for_creators, user_of
from experiment.models import Study
from experiment.services import work as background
from experiment.services.rights import studies_with
from lib.http import UNPROCESSABLE
from scoring.domain.backend import ScoringError
from scoring.lab.training import pages
from scoring.lab.training.forms import StudyForm, TrainingForm
from scoring.models import Corpus, LanguageModel, Training
from scoring.services.runs import Queued
from scoring.services.training import create, models
from scoring.training.settings import TrainingError

Scored = Callable[[Training, Study, Any], list[Queued]]


@require_safe
@for_creators
def trainings(request: HttpRequest) -> HttpResponse:
    return render(request, "scoring/training/trainings.html", pages.trainings(TrainingForm()))


@require_POST
@for_creators
def start(request: HttpRequest) -> HttpResponse:
    form = TrainingForm(request.POST)
    if form.is_valid():
        asked, user = form.cleaned_data, user_of(request)
        try:
            made = create.create_training(
                name=asked["name"],
                corpus=asked["corpus"],
                settings=form.settings,
                preset=asked["preset"],
                base=asked["base"],
                tokenizer=asked["tokenizer"],
                keep=asked["keep"],
                by=user,
            )
            return redirect(create.start(made, user))
        except TrainingError as error:
            form.add_error(None, str(error))
    return render(
        request, "scoring/training/trainings.html", pages.trainings(form), status=UNPROCESSABLE
    )


@require_safe
@for_creators
def corpora(request: HttpRequest) -> HttpResponse:
    return render(request, "scoring/training/corpora.html", pages.corpora())


@require_safe
@for_creators
def corpus(request: HttpRequest, name: str) -> HttpResponse:
    row = get_object_or_404(Corpus, slug=name)
    context = pages.corpus(row, user_of(request), request.GET.get("page", 1))
    return render(request, "scoring/training/corpus.html", context)


@require_safe
@for_creators
def training(request: HttpRequest, pk: int) -> HttpResponse:
    context = pages.training(_training(pk), user_of(request))
    return render(request, "scoring/training/training.html", context)


@require_safe
@for_creators
def training_live(request: HttpRequest, pk: int) -> HttpResponse:
    """The parts of a training's page that change."""
    context = pages.training(_training(pk), user_of(request))
    return render(request, "scoring/training/_live.html", context)


@require_POST
@for_creators
def stop(request: HttpRequest, pk: int) -> HttpResponse:
    return redirect(background.stop(_training(pk), user_of(request)))


@require_POST
@for_creators
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    return redirect(background.retry(_training(pk), user_of(request)))


@require_POST
@for_creators
def score(request: HttpRequest, pk: int) -> HttpResponse:
    """Have the model scored, and its base where that was not."""
    return _score(request, pk, models.score_result)


@require_POST
@for_creators
def score_checkpoints(request: HttpRequest, pk: int) -> HttpResponse:
    return _score(request, pk, models.score_checkpoints)


@require_safe
@for_creators
def model(request: HttpRequest, pk: int) -> HttpResponse:
    found = LanguageModel.objects.select_related("tuned_from", "training__corpus")
    row = get_object_or_404(found.filter(checkpoint=None), pk=pk)
    return render(request, "scoring/training/model.html", pages.model(row, user_of(request)))


def _training(pk: int) -> Training:
    rows = Training.objects.select_related("corpus", "base", "language_model", "created_by")
    return get_object_or_404(rows, pk=pk)


def _score(request: HttpRequest, pk: int, ask: Scored) -> HttpResponse:
    row, user = _training(pk), user_of(request)
    form = StudyForm(studies_with(user, Right.WORK), request.POST)
    if not form.is_valid():
        messages.error(request, str(form.errors["study"].as_data()[0].messages[0]))
        return redirect(row)
    study = form.cleaned_data["study"]
    try:
        queued = ask(row, study, user)
    except (TrainingError, ScoringError, ValidationError) as error:
        messages.error(request, str(error))
        return redirect(row)
    n = sum(len(one.waiting) for one in queued)
    said = {"n": n, "study": study}
    messages.success(request, render_to_string("scoring/training/_queued.txt", said).strip())
    return redirect("lab:scoring", study.slug)
