"""Language models, their runs and scores, as a study sees them."""

from typing import Any

from django.db.models import BooleanField, Count, ExpressionWrapper, F, FloatField, Q, QuerySet
from django.db.models.functions import Cast, NullIf
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyTable, StudyView
from experiment.domain.roles import Right
from experiment.models import Item
from lib.api import pages, parameters
from lib.api.views import TableQuery
from scoring.api.serializers import ModelSerializer, RunSerializer, ScoreSerializer
from scoring.models import ItemScore, LanguageModel, ScoringRun
from scoring.services.summary import IS_CORRECT


class ModelsQuery(TableQuery):
    ordering = pages.Ordering(model=("name",))
    family = serializers.CharField(required=False)


class Models(StudyTable):
    """The language models that scored test cases of the study, and those of its set."""

    access = Right.SEE_DATA
    table = "models"
    query_class = ModelsQuery
    result_class = ModelSerializer

    def rows(self) -> pages.Rows:
        runs = ScoringRun.objects.seen_in([self.study]).order_by()
        of_set = LanguageModel.objects.filter(model_sets__study=self.study)
        models = LanguageModel.objects.filter(
            Q(pk__in=runs.values("language_model")) | Q(pk__in=of_set.values("pk"))
        )
        if "family" in self.query:
            models = models.filter(family=self.query["family"])
        return models.select_related("base_partner", "tuned_from")


class RunsQuery(TableQuery):
    ordering = pages.Ordering(run=("id",))
    model = serializers.CharField(required=False, help_text="Its whole name.")
    condition = serializers.ChoiceField(choices=ScoringRun.Condition.values, required=False)
    status = serializers.ChoiceField(choices=ScoringRun.Status.values, required=False)


def counted(runs: "QuerySet[ScoringRun]") -> "QuerySet[ScoringRun, Any]":
    """With how many pairs they scored, and the share that was right."""
    right = Count(
        "item_scores", filter=Q(item_scores__ppl_original__lt=F("item_scores__ppl_altered"))
    )
    share = Cast(right, FloatField()) / NullIf(Cast(Count("item_scores"), FloatField()), 0.0)
    found = runs.select_related("study", "language_model").defer("plan", "identity")
    return found.annotate(n_scored=Count("item_scores"), accuracy=share)


class Runs(StudyTable):
    """Scorings of the study's test cases, whoever asked for them."""

    access = Right.SEE_DATA
    table = "runs"
    query_class = RunsQuery
    result_class = RunSerializer

    def rows(self) -> pages.Rows:
        names = {"model": "language_model__name", "condition": "condition", "status": "status"}
        wanted = {field: self.query[name] for name, field in names.items() if name in self.query}
        return counted(ScoringRun.objects.seen_in([self.study]).filter(**wanted))


class OneRun(StudyView):
    """A run: its settings, and how far it is."""

    access = Right.SEE_DATA
    result_class = RunSerializer

    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_object_or_404(counted(ScoringRun.objects.seen_in([self.study])), pk=pk)
        return Response(RunSerializer(run, context={"view": self}).data)


class ScoresQuery(TableQuery):
    ordering = pages.Ordering(run=("run_id", "item_id", "unit"))
    run = parameters.whole_number(1)
    model = serializers.CharField(required=False, help_text="Its whole name.")
    condition = serializers.ChoiceField(choices=ScoringRun.Condition.values, required=False)
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Item.Source.values, required=False, help_text="Of the test cases."
    )
    item = serializers.CharField(required=False, help_text="A test case's key.")


class Scores(StudyTable):
    """Perplexities of each test case's two texts. A row joins a trial by `item_key` and `item_version`."""

    access = Right.SEE_DATA
    table = "scores"
    query_class = ScoresQuery
    result_class = ScoreSerializer

    def rows(self) -> pages.Rows:
        names = {
            "run": "run_id",
            "model": "run__language_model__name",
            "condition": "run__condition",
            "source": "item__source",
            "item": "item__key",
        }
        wanted = {field: self.query[name] for name, field in names.items() if name in self.query}
        shown = Item.objects.shown_by([self.study]).values("pk")
        of_models = {"run__corpus": "", "run__language_model__checkpoint": None}
        scores = ItemScore.objects.filter(item__in=shown, **of_models, **wanted)
        scores = scores.annotate(correct=ExpressionWrapper(IS_CORRECT, BooleanField()))
        related = scores.select_related("run__language_model", "item")
        return related.defer(
            "run__plan", "run__identity", "item__markup", "item__original", "item__altered"
        )
