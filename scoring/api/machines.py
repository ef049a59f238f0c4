"""Language models, their runs and scores, as a study sees them."""

import math
from typing import Any

from django.db.models import Q
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from experiment.api.access import StudyTable, StudyView
from experiment.domain.roles import Right
from experiment.models import Item
from lib.api import pages, parameters
from lib.api.views import TableQuery
from scoring.models import ChoiceRun, ItemScore, LanguageModel, ScoringRun
from scoring.models.counting import counts_in
from scoring.services.model_facts import known_in
from scoring.services.summary import counted, points_of


class Number(serializers.FloatField):
    """A number, or null where it is none that JSON can hold."""

    def to_representation(self, value: Any) -> float | None:  # type: ignore[override]
        number = float(value)
        return number if math.isfinite(number) else None


class ModelSerializer(serializers.ModelSerializer[LanguageModel]):
    model = serializers.CharField(source="name")
    n_parameters = serializers.IntegerField(source="size", allow_null=True)
    is_chat = serializers.BooleanField(source="chat")
    base_partner = serializers.CharField(source="base_partner.name", default=None, allow_null=True)
    tuned_from = serializers.CharField(source="tuned_from.name", default=None, allow_null=True)

    class Meta:
        model = LanguageModel
        fields = (
            *("model", "display_name", "family", "n_parameters", "is_chat"),
            *("base_partner", "tuned_from", "training_cutoff", "released", "is_demo"),
        )


class RunSerializer(serializers.ModelSerializer[ScoringRun]):
    run = serializers.IntegerField(source="pk")
    model = serializers.CharField(source="language_model.name")
    study = serializers.CharField(
        source="study.slug",
        default=None,
        allow_null=True,
        help_text="The study that requested it; null if the token does not open that study.",
    )
    status = serializers.ChoiceField(choices=ScoringRun.Status.values)
    error = serializers.CharField(allow_null=True, help_text="Null if it belongs to another study.")
    done = serializers.IntegerField(
        allow_null=True,
        help_text="Pairs scored, or named as not scorable; null if it belongs to another study.",
    )
    total = serializers.IntegerField(
        allow_null=True, help_text="Pairs of texts in total; null if it belongs to another study."
    )
    accuracy = Number(
        allow_null=True,
        help_text="Share of its pairs of texts in this study that were decided correctly; a tie counts half.",
    )
    n_scored = serializers.IntegerField(
        help_text="Pairs of texts in this study: of items, or of sentences."
    )

    class Meta:
        model = ScoringRun
        fields = (
            *("run", "model", "study", "backend", "condition", "prompt", "source", "seed", "limit"),
            *("status", "done", "total", "n_scored", "accuracy", "error"),
            *("created_at", "started_at", "finished_at"),
        )

    def to_representation(self, run: ScoringRun) -> dict[str, Any]:
        told = super().to_representation(run)
        if run.study_id is not None and run.study_id not in self.context["view"].opened:
            # Which studies there are, with how many test cases, and on what machines, is their members' to know
            told |= dict.fromkeys(("study", "error", "done", "total"))
        return told


class ScoreSerializer(serializers.ModelSerializer[ItemScore]):
    run = serializers.IntegerField(source="run_id")
    model = serializers.CharField(source="run.language_model.name")
    condition = serializers.CharField(source="run.condition")
    prompt = serializers.CharField(source="run.prompt")
    item_key = serializers.CharField(source="item.key")
    item_version = serializers.IntegerField(source="item.version")
    item_source = serializers.CharField(source="item.source")
    unit = serializers.IntegerField(
        help_text="Number of the sentence in condition isolated, otherwise 0."
    )
    ppl_original = Number(allow_null=True)
    ppl_altered = Number(allow_null=True)
    correct = serializers.FloatField(
        source="points", help_text="1 if the original was more likely, 0 if not, 0.5 for a tie."
    )

    class Meta:
        model = ItemScore
        fields = (
            *(
                "run",
                "model",
                "condition",
                "prompt",
                "item_key",
                "item_version",
                "item_source",
                "unit",
            ),
            *("ppl_original", "ppl_altered", "correct"),
            *("nll_all_original_nats", "nll_all_altered_nats"),
            *("nll_text_original_nats", "nll_text_altered_nats"),
            *("tokens_all_original", "tokens_all_altered"),
            *("tokens_text_original", "tokens_text_altered"),
            *("zlib_original_bytes", "zlib_altered_bytes", "original_side"),
        )


class ModelsQuery(TableQuery):
    lookups = {"family": "family"}
    ordering = pages.Ordering(model=("name",))
    family = serializers.CharField(required=False)


class Models(StudyTable):
    """The language models that scored test cases of the study or were asked about them, and those in the study's set of models."""

    access = Right.SEE_DATA
    table = "models"
    query_class = ModelsQuery
    result_class = ModelSerializer

    def rows(self) -> pages.Rows:
        runs = ScoringRun.objects.seen_in([self.study]).order_by()
        of_set = LanguageModel.objects.filter(model_sets__study=self.study)
        models = LanguageModel.objects.filter(
            Q(pk__in=runs.values("language_model"))
            | Q(pk__in=of_set.values("pk"))
            | Q(pk__in=ChoiceRun.objects.seen_in([self.study]).order_by().values("language_model"))
        )
        found = models.filter(**self.wanted()).select_related("base_partner", "tuned_from")
        return known_in(found, self.study)


class RunsQuery(TableQuery):
    lookups = {"model": "language_model__name", "condition": "condition", "status": "status"}
    ordering = pages.Ordering(run=("id",))
    model = serializers.CharField(required=False, help_text="Its whole name.")
    condition = serializers.ChoiceField(choices=ScoringRun.Condition.values, required=False)
    status = serializers.ChoiceField(choices=ScoringRun.Status.values, required=False)


class Runs(StudyTable):
    """Scorings of the study's test cases that count in it."""

    access = Right.SEE_DATA
    table = "runs"
    query_class = RunsQuery
    result_class = RunSerializer

    def rows(self) -> pages.Rows:
        runs = ScoringRun.objects.seen_in([self.study]).filter(**self.wanted())
        return counted(runs, self.study)


class OneRun(StudyView):
    """A run: its settings, and how far it has got."""

    access = Right.SEE_DATA
    result_class = RunSerializer

    def get(self, request: Request, slug: str, pk: int) -> Response:
        run = get_object_or_404(
            counted(ScoringRun.objects.seen_in([self.study]), self.study), pk=pk
        )
        return Response(RunSerializer(run, context={"view": self}).data)


class ScoresQuery(TableQuery):
    lookups = {
        "run": "run_id",
        "model": "run__language_model__name",
        "condition": "run__condition",
        "source": "item__source",
        "item": "item__key",
    }
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
        shown = Item.objects.shown_by([self.study]).values("pk")
        of_models = {"run__corpus": "", "run__language_model__checkpoint": None}
        scores = ItemScore.objects.filter(
            counts_in([self.study], "run__"), item__in=shown, **of_models, **self.wanted()
        )
        scores = scores.annotate(points=points_of())
        related = scores.select_related("run__language_model", "item")
        return related.defer(
            "run__plan", "run__identity", "item__markup", "item__original", "item__altered"
        )
