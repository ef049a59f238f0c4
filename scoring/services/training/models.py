"""Use cases: what a training made becomes a language model like any other; it, its base and its checkpoints are scored.

Weights kept along the way are models of their own, which stay out of a study's results.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import Avg

from experiment.models import Study
from lib.name_fields import hold_names
from lib.names import has_double
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.perplexity import Accuracy
from scoring.models import Checkpoint, LanguageModel, ScoringRun, Training, TrainingCorpus
from scoring.models.language_models import names_of_the_site
from scoring.models.runs import ScoringRunQuerySet
from scoring.models.training import AT
from scoring.services.open_model import MAX_DISPLAY_NAME, short_name, shown_name
from scoring.services.runs import Queued, queue_runs
from scoring.services.summary import count, scores_in
from scoring.services.training.create import base_args
from scoring.training.corpus.document import last_day
from scoring.training.settings import Trained, TrainingError, kept_folder, of_recipe

OF_TRAINED = (
    *("steps", "tokens", "best_step", "held_out_loss", "untrained_held_out_loss"),
    *("parameters", "trainable_parameters", "versions", "files"),
)
if TYPE_CHECKING:  # it loads pyarrow, and pages load this
    from scoring.training.corpus.manifest import BuiltCorpus, Manifest


def register(training: Training, trained: Trained, corpus: "BuiltCorpus") -> LanguageModel:
    """Store the model's row and its manifest; call it in the transaction that ends the training.

    It is called as the training is, for nobody else was given this name meanwhile. Where an administrator did so by hand,
    hours of work do not end there: it goes by another name, which is also the training's alone.
    """
    base = training.base
    with transaction.atomic():
        hold_names(LanguageModel, training.name)
        is_taken = LanguageModel.objects.filter(name=training.name).exists()
        is_taken = is_taken or has_double(training.name, names_of_the_site())
        name = f"{training.name}{AT}training {training.pk}" if is_taken else training.name
        manifest = _manifest(training, trained, corpus.manifest) | {"name": name}
        model = LanguageModel.objects.create(
            name=name,
            display_name=shown_name(name),
            family=base.family if base else "",
            n_parameters=trained.parameters,
            is_chat=base.is_chat if base else False,
            tuned_from=base,
            training_cutoff=_cutoff(base, corpus.manifest),
            is_demo=base.is_demo if base else False,
            note=f"Training {training.pk}, {training.mode}, on the corpus {training.corpus}.",
        )
        # The corpora that it has read: its own, and those of its base
        known = {training.corpus.slug: TrainingCorpus.Status.KNOWN.value}
        if base:
            known = dict(base.training_corpora.values_list("corpus", "status")) | known
        TrainingCorpus.objects.bulk_create(
            TrainingCorpus(language_model=model, corpus=read, status=status)
            for read, status in known.items()
        )
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


def _manifest(training: Training, trained: Trained, corpus: "Manifest") -> dict[str, Any]:
    """How a model was made; losses are nats per token."""
    told = asdict(trained)
    return {
        "corpus": training.corpus.slug,
        "corpus_sha256": training.corpus.sha256,
        "corpus_documents": corpus.train.documents,  # that were to be learned, and their tokens
        "corpus_tokens": corpus.train.tokens,
        "last_published": corpus.last_published,  # as far as it is known
        "undated": corpus.undated,  # documents of both parts without a date
        "base": training.base.name if training.base else "",
        "identity": training.identity,  # of the files that it started from
        "preset": training.preset,
        "recipe": training.recipe,  # a TrainingSettings, with its seed
        **{name: told[name] for name in OF_TRAINED},
    }


def _cutoff(base: LanguageModel | None, corpus: "Manifest") -> date | None:
    """The later of the base's and the corpus's; None where either is not known."""
    last = None if corpus.undated else last_day(corpus.last_published)
    if base is None or last is None:
        return last
    return None if base.training_cutoff is None else max(base.training_cutoff, last)


@dataclass(frozen=True, slots=True)
class CheckpointResult:
    """A checkpoint on the whole texts of a study; perplexities are means over test cases."""

    step: int
    tokens: int  # seen until then
    held_out_loss: float | None  # nats per token
    run: int
    accuracy: Accuracy
    ppl_original: float
    ppl_altered: float


def kept_steps(training: Training) -> list[int]:
    """The steps whose weights are at hand, from the start on; a base needs no copy."""
    starts = training.mode != Training.Mode.SCRATCH
    kept = {step for step in training.keep if kept_folder(training.folder, step).is_dir()}
    return sorted(kept | ({0} if starts else set()))


def chosen(training: Training, steps: Iterable[int] = (), every: int | None = None) -> list[int]:
    """The steps to score: those named, or each that is a multiple of `every`, or all.

    Raises:
        TrainingError: one was not kept, or none is left.
    """
    kept = kept_steps(training)
    if missing := sorted(set(steps) - set(kept)):
        known = ", ".join(map(str, kept)) or "none"
        raise TrainingError(
            f"Training {training.pk} did not save step {missing[0]}. It has {known}."
        )
    named = sorted(set(steps)) or [step for step in kept if not every or step % every == 0]
    if not named:
        raise TrainingError(f"Training {training.pk} did not save this step.")
    return named


def model_of(training: Training, step: int) -> LanguageModel:
    """The language model that a checkpoint is scored as, made if there is none."""
    point = training.points.filter(step=step).first()
    row, _ = Checkpoint.objects.get_or_create(
        training=training,
        step=step,
        defaults={
            "tokens": point.tokens if point else step * of_recipe(training.recipe).tokens_per_step,
            "held_out_loss": point.held_out_loss if point else None,
        },
    )
    if row.language_model is None:
        suffix = f"{AT}step {step}"
        name = short_name(training.name)[: MAX_DISPLAY_NAME - len(suffix)]
        row.language_model = LanguageModel.objects.create(
            name=f"{training.name}{suffix}",
            display_name=f"{name}{suffix}",
            tuned_from=training.base,
            is_demo=training.base.is_demo if training.base else False,
        )
        row.save(update_fields=["language_model"])
    return row.language_model


def args_at(training: Training, step: int) -> dict[str, str]:
    """The arguments by which its weights are opened."""
    if step == 0 and training.mode != Training.Mode.SCRATCH:
        return base_args(training)
    return args_of(training, kept_folder(training.folder, step))


def results(training: Training, study: Study) -> list[CheckpointResult]:
    """The checkpoints that were scored on all whole texts of the study, in the order of their steps; of each the newest run."""
    rows = training.checkpoints.exclude(language_model=None).order_by("step")
    found = []
    for row in rows:
        # Of runs without a pair that counts, nothing is said
        assert row.language_model is not None
        run = finished_on(row.language_model, study).first()
        if run is None or not (counted := count(scores_in(run, study)).accuracy).n:
            continue
        means = scores_in(run, study).aggregate(
            original=Avg("ppl_original"), altered=Avg("ppl_altered")
        )
        result = CheckpointResult(
            row.step,
            row.tokens,
            row.held_out_loss,
            run.pk,
            counted,
            means["original"],
            means["altered"],
        )
        found.append(result)
    return found


def finished_on(model: LanguageModel, study: Study) -> ScoringRunQuerySet:
    """A model's runs on the whole texts of a study, the newest first."""
    runs = ScoringRun.objects.seen_in([study], checkpoints=True).filter(language_model=model)
    return runs.filter(
        status=ScoringRun.Status.FINISHED, condition=ScoringRun.Condition.FULL
    ).defer("plan", "identity")


By = User | AnonymousUser | None


def score_result(training: Training, study: Study, by: By) -> list[Queued]:
    """Queue the model, and its base where it was not scored on the study: before and after.

    Raises:
        TrainingError: it has made none yet.
        ScoringError: there is nothing to score.
    """
    if training.language_model is None:
        raise TrainingError("There is no model yet, because the training is not finished.")
    queued = [_queue(study, model_args(training), training.language_model, by)]
    base = training.base
    if base is not None and not finished_on(base, study).exists():
        queued.insert(0, _queue(study, base_args(training), base, by))
    return queued


def score_checkpoints(training: Training, study: Study, by: By) -> list[Queued]:
    """Queue all that were kept and not scored on the study yet.

    Raises:
        TrainingError: none was kept.
        ScoringError: there is nothing to score.
    """
    models = {step: model_of(training, step) for step in chosen(training)}
    return [
        _queue(study, args_at(training, step), model, by)
        for step, model in models.items()
        if not finished_on(model, study).exists()
    ]


def _queue(study: Study, args: dict[str, str], model: LanguageModel, by: By) -> Queued:
    is_embedded = model.name == DEMO_NAME
    return queue_runs(
        study,
        backend="embedded" if is_embedded else "transformers",
        model_args={} if is_embedded else args,
        conditions=[ScoringRun.Condition.FULL.value],
        name=model.name,
        user=by,
    )
