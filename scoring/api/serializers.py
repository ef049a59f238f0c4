import math
from typing import Any

from rest_framework import serializers

from scoring.models import ItemScore, LanguageModel, ScoringRun


class Number(serializers.FloatField):
    """A number, or null where it is none that JSON can hold."""

    def to_representation(self, value: Any) -> float | None:  # type: ignore[override]
        number = float(value)
        return number if math.isfinite(number) else None


class ModelSerializer(serializers.ModelSerializer[LanguageModel]):
    model = serializers.CharField(source="name")
    base_partner = serializers.CharField(source="base_partner.name", default=None, allow_null=True)
    tuned_from = serializers.CharField(source="tuned_from.name", default=None, allow_null=True)

    class Meta:
        model = LanguageModel
        fields = [
            "model",
            "display_name",
            "family",
            "n_parameters",
            "is_chat",
            "base_partner",
            "tuned_from",
            "training_cutoff",
            "released",
            "is_demo",
        ]


class RunSerializer(serializers.ModelSerializer[ScoringRun]):
    run = serializers.IntegerField(source="pk")
    model = serializers.CharField(source="language_model.name")
    study = serializers.CharField(
        source="study.slug",
        default=None,
        allow_null=True,
        help_text="The one that asked for it; null: none that the token opens.",
    )
    status = serializers.ChoiceField(choices=ScoringRun.Status.values)
    error = serializers.CharField(allow_null=True, help_text="Null: of another's study.")
    accuracy = Number(
        allow_null=True, help_text="Share of its pairs of texts that were decided rightly."
    )
    n_scored = serializers.IntegerField(help_text="Pairs of texts: of items, or of sentences.")

    class Meta:
        model = ScoringRun
        fields = [
            "run",
            "model",
            "study",
            "backend",
            "condition",
            "prompt",
            "source",
            "seed",
            "limit",
            "status",
            "done",
            "total",
            "n_scored",
            "accuracy",
            "error",
            "created_at",
            "started_at",
            "finished_at",
        ]

    def to_representation(self, run: ScoringRun) -> dict[str, Any]:
        told = super().to_representation(run)
        if run.study_id is not None and run.study_id not in self.context["view"].opened:
            # Which studies there are, and on what machines, is their members' to know
            told |= {"study": None, "error": None}
        return told


class ScoreSerializer(serializers.ModelSerializer[ItemScore]):
    run = serializers.IntegerField(source="run_id")
    model = serializers.CharField(source="run.language_model.name")
    condition = serializers.CharField(source="run.condition")
    prompt = serializers.CharField(source="run.prompt")
    item_key = serializers.CharField(source="item.key")
    item_version = serializers.IntegerField(source="item.version")
    item_source = serializers.CharField(source="item.source")
    unit = serializers.IntegerField(help_text="The sentence, in condition isolated; else 0.")
    ppl_original = Number(allow_null=True)
    ppl_altered = Number(allow_null=True)
    correct = serializers.BooleanField(help_text="Whether the original was the likelier one.")

    class Meta:
        model = ItemScore
        fields = [
            "run",
            "model",
            "condition",
            "prompt",
            "item_key",
            "item_version",
            "item_source",
            "unit",
            "ppl_original",
            "ppl_altered",
            "correct",
            "nll_all_original_nats",
            "nll_all_altered_nats",
            "nll_text_original_nats",
            "nll_text_altered_nats",
            "tokens_all_original",
            "tokens_all_altered",
            "tokens_text_original",
            "tokens_text_altered",
            "zlib_original_bytes",
            "zlib_altered_bytes",
            "original_side",
        ]
