"""The lab's pages about corpora, trainings and the models that these make. Views find rows; services do the work."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import STARTER, View, for_creators, user_of
from experiment.models import Study
from experiment.services import work as background
from experiment.services.rights import studies_with
from lib.pages import refused, show
from scoring.domain.backend import ScoringError
from scoring.lab import training_page as pages
from scoring.lab.training_forms import StudyForm, TrainingForm
from scoring.models import Corpus, LanguageModel, Training
from scoring.services.model_facts import seen_by
from scoring.services.runs import Queued
from scoring.services.training import create
from scoring.training.settings import TrainingError

Scored = Callable[[Training, Study, Any], list[Queued]]


@require_safe
@for_creators
def trainings(request: HttpRequest) -> HttpResponse:
    return show(request, "scoring/training/trainings.html", **pages.trainings(TrainingForm()))


@require_POST
@for_creators
def start(request: HttpRequest) -> HttpResponse:
    form = TrainingForm(request.POST)
    if form.is_valid():
        asked, user = form.cleaned_data, user_of(request)
        names = ("name", "corpus", "preset", "base", "tokenizer", "keep")
        with refused(form, TrainingError), transaction.atomic():
            made = create.create_training(
                settings=form.settings, by=user, **{name: asked[name] for name in names}
            )
            background.start(made, user)
            return redirect(made)
    return show(request, "scoring/training/trainings.html", **pages.trainings(form))


@require_safe
@for_creators
def corpora(request: HttpRequest) -> HttpResponse:
    return show(request, "scoring/training/corpora.html", **pages.corpora())


@require_safe
@for_creators
def corpus(request: HttpRequest, name: str) -> HttpResponse:
    row = get_object_or_404(Corpus, slug=name)
    context = pages.corpus(row, user_of(request), request.GET.get("page", 1))
    return show(request, "scoring/training/corpus.html", **context)


@require_safe
@for_creators
def training(
    request: HttpRequest, pk: int, template: str = "scoring/training/training.html"
) -> HttpResponse:
    return show(request, template, **pages.training(_training(pk), user_of(request)))


def _for_starter(view: Callable[[HttpRequest, Training], HttpResponse]) -> View:
    """Trainings are every researcher's to see and to score with, and their starter's to stop and continue."""

    @for_creators
    @wraps(view)
    def wrapped(request: HttpRequest, pk: int) -> HttpResponse:
        row = _training(pk)
        if not create.may_steer(row, user_of(request)):
            raise PermissionDenied
        return view(request, row)

    wrapped.access = STARTER  # type: ignore[attr-defined]
    return wrapped


@require_POST
@_for_starter
def stop(request: HttpRequest, row: Training) -> HttpResponse:
    return redirect(background.stop(row, user_of(request)))


@require_POST
@_for_starter
def resume(request: HttpRequest, row: Training) -> HttpResponse:
    return redirect(background.retry(row, user_of(request)))


@require_POST
@for_creators
def score(request: HttpRequest, pk: int, ask: Scored) -> HttpResponse:
    """Have what it made scored on a study."""
    row, user = _training(pk), user_of(request)
    form = StudyForm(studies_with(user, Right.WORK), request.POST)
    if not form.is_valid():
        messages.error(request, str(form.errors["study"].as_data()[0].messages[0]))
        return redirect(row)
    study = form.cleaned_data["study"]
    with refused(request, TrainingError, ScoringError, ValidationError):
        queued = ask(row, study, user)
        n = sum(len(one.waiting) for one in queued)
        is_queued = "run on {} is queued" if n == 1 else "runs on {} are queued"
        messages.success(request, f"{n} {is_queued.format(study.title)}.")
        return redirect("lab:scoring", study.slug)
    return redirect(row)


@require_safe
@for_creators
def model(request: HttpRequest, pk: int) -> HttpResponse:
    found = LanguageModel.objects.select_related("tuned_from", "training__corpus")
    user = user_of(request)
    row = get_object_or_404(seen_by(found.filter(checkpoint=None), user), pk=pk)
    return show(request, "scoring/training/model.html", **pages.model(row, user))


def _training(pk: int) -> Training:
    rows = Training.objects.select_related("corpus", "base", "language_model", "created_by")
    return get_object_or_404(rows, pk=pk)
