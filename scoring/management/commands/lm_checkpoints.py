from collections.abc import Mapping
from contextlib import closing
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.management.finding import find_study
from experiment.models import Study
from lib.commands import (
    GOES_ON,
    ReportingCommand,
    StoppedError,
    add_json_argument,
    progress,
    table_lines,
)
from lib.jobs import leases
from scoring.backends.registry import HF
from scoring.domain.backend import ScoringError
from scoring.management.writing import numbers_of
from scoring.models import ScoringRun, Training
from scoring.services.execute import execute
from scoring.services.open_model import OneModel
from scoring.services.runs import draft_run, newest_same
from scoring.services.training import models as models_service
from scoring.training.settings import TrainingError

Status = ScoringRun.Status


class Command(ReportingCommand):
    help = "Score the saved steps of a training on a study's test cases. Steps that have been scored are not scored again."
    prints = {
        "training": int,
        "model": str,
        "study": str,
        "checkpoints": [
            {
                "step": int,
                "tokens": int,
                "held_out_loss": float | None,
                "run": int,
                "n": int,
                "accuracy": float,
                "sem": float,
                "ppl_original": float,
                "ppl_altered": float,
            }
        ],
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("training", help="number of the training, or the name of its model")
        parser.add_argument("--study", metavar="SLUG", required=True)
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--steps",
            type=numbers_of,
            default=(),
            metavar="N,…",
            help="steps to score; 0 is the start (default: all saved steps)",
        )
        which.add_argument("--every", type=int, metavar="N", help="multiples of N")
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        training, study = find_training(options["training"]), find_study(options["study"])
        try:
            steps = models_service.chosen(training, options["steps"], options["every"])
            with closing(OneModel()) as models:
                for step in steps:
                    self._score(models, training, step, study, options)
        except KeyboardInterrupt as interrupt:
            raise StoppedError(GOES_ON) from interrupt
        except (TrainingError, ScoringError) as error:
            raise CommandError(str(error)) from error
        found = models_service.results(training, study)
        cells = (
            {
                "step": f"{one.step:,}",
                "tokens": f"{one.tokens:,}",
                "held-out loss": "-" if one.held_out_loss is None else f"{one.held_out_loss:.3f}",
                "accuracy": f"{one.accuracy.value:.3f}",
                "SEM": "-" if (sem := one.accuracy.known_sem) is None else f"{sem:.3f}",
                "items": str(one.accuracy.n),
                "ppl, original": f"{one.ppl_original:.2f}",
                "ppl, altered": f"{one.ppl_altered:.2f}",
            }
            for one in found
        )
        about = {"training": training.pk, "model": training.name, "study": study.slug}
        checkpoints = [
            {
                "step": one.step,
                "tokens": one.tokens,
                "held_out_loss": one.held_out_loss,
                "run": one.run,
                "n": one.accuracy.n,
                "accuracy": one.accuracy.value,
                "sem": one.accuracy.sem,
                "ppl_original": one.ppl_original,
                "ppl_altered": one.ppl_altered,
            }
            for one in found
        ]
        self.report(options, {**about, "checkpoints": checkpoints}, table_lines(cells))

    def _score(
        self,
        models: OneModel,
        training: Training,
        step: int,
        study: Study,
        options: Mapping[str, Any],
    ) -> None:
        model = models_service.model_of(training, step)
        args = models_service.args_at(training, step)
        draft = draft_run(study=study, language_model=model, backend=HF.name, model_args=args)
        with transaction.atomic():
            run = newest_same(draft)
            if run is None:
                draft.save()
                run = draft
            elif run.status != Status.FINISHED:
                run = leases.reopen(run)
            leases.reserve(run)  # this command's own for a moment
        if run.status == Status.FINISHED:
            return
        with progress(
            f"step {step}", run.total, "pairs", done=run.done, quiet=options["json"]
        ) as show:
            run = execute(run, opener=models.open, on_progress=lambda run: show(run.done))
        if run.status != Status.FINISHED:
            raise CommandError(f"Step {step}: {run.error or f'run {run.pk} is {run.status}'}")


def find_training(named: str) -> Training:
    """By its number, or the newest that makes a model of this name.

    Raises:
        CommandError: there is none.
    """
    by = {"pk": int(named)} if named.isdecimal() else {"name": named}
    found = Training.objects.filter(**by).select_related("base", "corpus").first()
    if found is None:
        known = ", ".join(Training.objects.values_list("name", flat=True)[:10]) or "none yet"
        raise CommandError(f"There is no training “{named}”. Newest trainings: {known}.")
    return found
