"""Use case: what a training made becomes a language model like any other, bound to how it was made."""

from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import transaction

from scoring.models import LanguageModel, Training, TrainingCorpus
from scoring.services.open_model import short_name
from scoring.services.training.create import base_args
from scoring.training.corpus.document import last_day
from scoring.training.progress import Trained
from scoring.training.settings import TrainingError

if TYPE_CHECKING:  # it loads pyarrow, and pages load this
    from scoring.training.corpus.manifest import BuiltCorpus, Manifest


@dataclass(frozen=True)
class ModelManifest:
    """How a model was made; losses are nats per token."""

    name: str
    corpus: str
    corpus_sha256: str
    corpus_documents: int  # that were to be learned, and their tokens
    corpus_tokens: int
    last_published: str  # as far as it is known
    undated: int  # documents of both parts without a date
    base: str
    identity: dict[str, Any]  # of the files that it started from
    preset: str
    recipe: dict[str, Any]  # a TrainingSettings, with its seed
    steps: int
    tokens: int
    best_step: int
    held_out_loss: float
    untrained_held_out_loss: float
    parameters: int
    trainable_parameters: int
    versions: dict[str, str]
    files: dict[str, str]  # SHA-256


def register(training: Training, trained: Trained, corpus: "BuiltCorpus") -> LanguageModel:
    """Store the model's row and its manifest; call it in the transaction that ends the training.

    Raises:
        TrainingError: a model has taken the name meanwhile.
    """
    if LanguageModel.objects.filter(name=training.name).exists():
        raise TrainingError(f"There is a model “{training.name}” by now: rename it, and go on.")
    manifest = asdict(_manifest(training, trained, corpus.manifest))
    base = training.base
    with transaction.atomic():
        model = LanguageModel.objects.create(
            name=training.name,
            display_name=short_name(training.name),
            family=base.family if base else "",
            n_parameters=trained.parameters,
            is_chat=base.is_chat if base else False,
            tuned_from=base,
            training_cutoff=_cutoff(base, corpus.manifest),
            is_demo=base.is_demo if base else False,
            note=f"Training {training.pk}, {training.mode}, on the corpus {training.corpus}.",
        )
        _add_corpora(model, training)
        Training.objects.filter(pk=training.pk).update(language_model=model, manifest=manifest)
    training.refresh_from_db()
    return model


def model_args(training: Training) -> dict[str, str]:
    """By which the finished model is scored."""
    return args_of(training, training.output)


def args_of(training: Training, folder: Path) -> dict[str, str]:
    """By which weights of a training are scored: an adapter beside its base, or a model."""
    if training.mode == Training.Mode.LORA:
        return base_args(training) | {"peft": str(folder)}
    return {"pretrained": str(folder)}


def _manifest(training: Training, trained: Trained, corpus: "Manifest") -> ModelManifest:
    return ModelManifest(
        name=training.name,
        corpus=training.corpus.slug,
        corpus_sha256=training.corpus.sha256,
        corpus_documents=corpus.train.documents,
        corpus_tokens=corpus.train.tokens,
        last_published=corpus.last_published,
        undated=corpus.undated,
        base=training.base.name if training.base else "",
        identity=training.identity,
        preset=training.preset,
        recipe=training.recipe,
        steps=trained.steps,
        tokens=trained.tokens,
        best_step=trained.best_step,
        held_out_loss=trained.held_out_loss,
        untrained_held_out_loss=trained.untrained_held_out_loss,
        parameters=trained.parameters,
        trainable_parameters=trained.trainable_parameters,
        versions=dict(trained.versions),
        files=dict(trained.files),
    )


def _add_corpora(model: LanguageModel, training: Training) -> None:
    """What it has read: the corpus, and what its base had."""
    known = {training.corpus.slug: TrainingCorpus.Status.KNOWN.value}
    if training.base:
        known = dict(training.base.training_corpora.values_list("corpus", "status")) | known
    TrainingCorpus.objects.bulk_create(
        TrainingCorpus(language_model=model, corpus=corpus, status=status)
        for corpus, status in known.items()
    )


def _cutoff(base: LanguageModel | None, corpus: "Manifest") -> date | None:
    """The later of the base's and the corpus's; None where either is not known."""
    last = None if corpus.undated else last_day(corpus.last_published)
    if base is None or last is None:
        return last
    return None if base.training_cutoff is None else max(base.training_cutoff, last)
