"""Reads what is known of the trainings that made the study's models here."""

from collections.abc import Mapping
from typing import Any

from analysis.data.training_summary import TrainingSummary
from scoring.models import Training
from scoring.services.training.register import last_day


def read_trainings(models: Mapping[int, int]) -> dict[int, TrainingSummary]:
    """`models`: primary key of a language model -> its number; the summaries have these numbers."""
    found = Training.objects.filter(language_model__in=models).select_related("corpus")
    return {models[t.language_model_id]: _summary(t) for t in found if t.language_model_id}


def _summary(training: Training) -> TrainingSummary:
    corpus: Mapping[str, Any] = training.corpus.manifest
    made: Mapping[str, Any] = training.manifest
    part: Mapping[str, Any] = corpus.get("train", {})
    return TrainingSummary(
        corpus=training.corpus.slug,
        mode=training.mode,
        documents=part.get("documents"),
        corpus_tokens=part.get("tokens"),
        last_published=last_day(corpus.get("last_published", "")),
        tokens_seen=training.tokens,
        trainable_parameters=made.get("trainable_parameters"),
        held_out_before=made.get("untrained_held_out_loss"),
        held_out_after=made.get("held_out_loss"),
    )
