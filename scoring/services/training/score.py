"""Use case: what a training made, its base and its checkpoints are queued to be scored on a study."""

from django.contrib.auth.models import AnonymousUser, User

from experiment.models import Study
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.models import LanguageModel, ScoringRun, Training
from scoring.services.queue import Queued, queue_runs
from scoring.services.training import checkpoints
from scoring.services.training.create import base_args
from scoring.services.training.register import model_args
from scoring.training.settings import TrainingError

By = User | AnonymousUser | None


def score_result(training: Training, study: Study, by: By) -> list[Queued]:
    """Queue the model, and its base where it was not scored on the study: before and after.

    Raises:
        TrainingError: it has made none yet.
        ScoringError: there is nothing to score.
    """
    if training.language_model is None:
        raise TrainingError("There is no model yet: the training is not finished.")
    queued = [_queue(study, model_args(training), training.language_model, by)]
    base = training.base
    if base is not None and not _is_scored(base, study):
        queued.insert(0, _queue(study, base_args(training), base, by))
    return queued


def score_checkpoints(training: Training, study: Study, by: By) -> list[Queued]:
    """Queue all that were kept and not scored on the study yet.

    Raises:
        TrainingError: none was kept.
        ScoringError: there is nothing to score.
    """
    models = {step: checkpoints.model_of(training, step) for step in checkpoints.chosen(training)}
    return [
        _queue(study, checkpoints.args_at(training, step), model, by)
        for step, model in models.items()
        if not _is_scored(model, study)
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


def _is_scored(model: LanguageModel, study: Study) -> bool:
    runs = ScoringRun.objects.seen_in([study], checkpoints=True).filter(language_model=model)
    full = runs.filter(condition=ScoringRun.Condition.FULL)
    return full.filter(status=ScoringRun.Status.FINISHED).exists()
