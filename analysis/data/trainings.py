"""Reads what is known of the trainings that made the study's models here."""

from collections.abc import Mapping
from typing import Any

from analysis.data.training_summary import TrainingSummary
from scoring.models import Training
from scoring.training.corpus.document import last_day


def read_trainings(models: Mapping[int, int]) -> dict[int, TrainingSummary]:
    """`models`: primary key of a language model -> its number; the summaries have these numbers."""
    found = Training.objects.filter(language_model__in=models).select_related("corpus")
    return {models[t.language_model_id]: _summary(t) for t in found if t.language_model_id}


def _summary(training: Training) -> TrainingSummary:
    made: Mapping[str, Any] = training.manifest
    return TrainingSummary(
        corpus=training.corpus.slug,
        mode=training.mode,
        documents=made.get("corpus_documents"),
        corpus_tokens=made.get("corpus_tokens"),
        last_published=None if made.get("undated") else last_day(made.get("last_published", "")),
        tokens_seen=training.tokens,
        trainable_parameters=made.get("trainable_parameters"),
        held_out_before=made.get("untrained_held_out_loss"),
        held_out_after=made.get("held_out_loss"),
    )
