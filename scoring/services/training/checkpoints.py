"""Use case: weights kept along the way are scored as models of their own, which stay out of a study's results."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Avg

from experiment.models import Study
from scoring.domain.perplexity import Accuracy
from scoring.models import Checkpoint, LanguageModel, ScoringRun, Training
from scoring.services.open_model import MAX_DISPLAY_NAME, short_name
from scoring.services.summary import count, scores_in
from scoring.services.training.create import base_args
from scoring.services.training.register import args_of
from scoring.training.progress import kept_folder
from scoring.training.settings import TrainingError, of_recipe


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
        raise TrainingError(f"Training {training.pk} kept no step {missing[0]}: it has {known}.")
    named = sorted(set(steps)) or [step for step in kept if not every or step % every == 0]
    if not named:
        raise TrainingError(f"Training {training.pk} kept no such step.")
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
        suffix = f" @ step {step}"
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
    return [found for row in rows if (found := _result(row, study)) is not None]


def _result(checkpoint: Checkpoint, study: Study) -> CheckpointResult | None:
    runs = ScoringRun.objects.seen_in([study], checkpoints=True).filter(
        language_model=checkpoint.language_model,
        status=ScoringRun.Status.FINISHED,
        condition=ScoringRun.Condition.FULL,
    )
    run = runs.first()  # the newest
    if run is None or not (counted := count(scores_in(run, study)).accuracy).n:
        return None
    means = scores_in(run, study).aggregate(
        original=Avg("ppl_original"), altered=Avg("ppl_altered")
    )
    return CheckpointResult(
        checkpoint.step,
        checkpoint.tokens,
        checkpoint.held_out_loss,
        run.pk,
        counted,
        means["original"],
        means["altered"],
    )
