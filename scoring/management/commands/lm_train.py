from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from experiment.services import work
from lib.commands import ReportingCommand, StoppedError, add_json_argument, progress
from lib.jobs import leases
from lib.shapes import Either, OrNull, fields_of
from scoring.demo_lm import MODEL_FOLDER
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.management.trainings import (
    add_settings_arguments,
    estimate_data,
    estimate_lines,
    find_corpus,
    settings_of,
    training_data,
    training_lines,
)
from scoring.management.writing import numbers_of
from scoring.models import Corpus, Training
from scoring.services.training import create, run
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.manifest import open_corpus
from scoring.training.settings import Point, TrainingError, TrainingSettings

Status = Training.Status


class Command(ReportingCommand):
    help = (
        "Train a language model on a corpus: an adapter (lora), all weights (full), or a new model (scratch). Use "
        "`accelerate launch manage.py lm_train …` for several devices."
    )
    prints = Either(
        train={
            "training": int,
            "name": str,
            "status": str,
            "folder": str,
            "output": str,
            "manifest": {str: Any},
        },
        dry_run=fields_of(TrainingSettings)
        | {
            "tokens_per_step": int,
            "parameters": int,
            "trainable_parameters": int,
            "memory": {str: int},
            "amount": OrNull({str: int}),
            "measured": OrNull({str: Any}),
            "step_s": float | None,
            "tokens_per_s": float | None,
            "hours": float | None,
        },
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--model",
            default="",
            metavar="PATH",
            help="lora, full: folder or name on the Hub; scratch: a config.json instead of the preset's shape",
        )
        parser.add_argument("--revision", default="", help="revision of a model on the Hub")
        parser.add_argument(
            "--tokenizer",
            default="",
            metavar="DIR",
            help="scratch: tokenizer from tokenizer_train or another model",
        )
        parser.add_argument("--corpus", metavar="NAME")
        parser.add_argument("--name", metavar="NAME", help="name of the new model")
        parser.add_argument(
            "--keep",
            type=numbers_of,
            default=(),
            metavar="N,…",
            help="steps to keep for lm_checkpoints",
        )
        parser.add_argument(
            "--resume", action="store_true", help="continue the training with this name"
        )
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--dry-run", action="store_true", help="only estimate steps, memory and hours"
        )
        how.add_argument("--queue", action="store_true", help="let a worker do it")
        add_settings_arguments(parser)
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        settings = settings_of(options)
        try:
            if options["dry_run"]:
                self._estimate(settings, options)
            else:
                self._train(settings, options)
        except KeyboardInterrupt as interrupt:
            raise StoppedError from interrupt
        except (TrainingError, CorpusError) as error:
            raise CommandError(str(error)) from error

    def _estimate(self, settings: TrainingSettings, options: Mapping[str, Any]) -> None:
        # torch takes seconds to load
        from scoring.training.lm.estimate import estimate
        from scoring.training.lm.models import Start

        create.check_tokenizer(settings, options["tokenizer"])
        model = str(MODEL_FOLDER) if options["model"] == DEMO_NAME else options["model"]
        from_scratch = settings.mode == "scratch"
        start = Start(
            pretrained=model or None if not from_scratch else None,
            revision=options["revision"] or None,
            tokenizer=options["tokenizer"] or None,
            config=Path(model) if model and from_scratch else None,
        )
        corpus = open_corpus(_corpus(options).folder) if options["corpus"] else None
        told = estimate(settings, start, corpus)
        self.report(options, estimate_data(settings, told), estimate_lines(settings, told))

    def _train(self, settings: TrainingSettings, options: Mapping[str, Any]) -> None:
        pk = run.agreed(lambda: self._ask(settings, options).pk)
        if pk is None:
            return  # the first process says why
        training = Training.objects.select_related("corpus", "base").get(pk=pk)
        if not run.is_first():
            run.take_part(training)
            return
        if options["queue"]:
            work.start(training, None)
        else:
            with progress(training.name, None, "tokens", quiet=options["json"]) as show:
                losses = {"loss": "", "held out": ""}  # the newest of each, said beside the bar

                def tell(job: Training, point: Point) -> None:
                    per_step = point.tokens / max(point.step, 1)
                    for name, loss in zip(losses, (point.loss, point.held_out_loss), strict=True):
                        losses[name] = losses[name] if loss is None else f"{name} {loss:.3f}"
                    note = ", ".join(filter(None, losses.values()))
                    show(point.tokens, int(per_step * point.steps), note)

                training = run.run(training, tell)
            if training.status != Status.FINISHED:
                said = training.error or f"Training {training.pk} is {training.status}."
                raise CommandError(said)
        self.report(options, training_data(training), training_lines(training))

    def _ask(self, settings: TrainingSettings, options: Mapping[str, Any]) -> Training:
        """The training, stored, and this command's own for a moment."""
        name, corpus = options["name"], _corpus(options)
        if not name:
            raise CommandError("--name is required: the name of the new model.")
        same = Training.objects.filter(name=name).exclude(status=Status.FINISHED).first()
        if same is not None and not options["resume"]:
            raise CommandError(
                f"Training {same.pk} of “{name}” has reached step {same.done} of {same.total}. --resume continues it."
            )
        from_scratch = settings.mode == "scratch"
        with transaction.atomic():
            training = create.create_training(
                name=name,
                corpus=corpus,
                settings=settings,
                preset=options["preset"],
                base="" if from_scratch else options["model"],
                config=options["model"] if from_scratch else "",
                revision=options["revision"],
                tokenizer=options["tokenizer"],
                keep=options["keep"],
            )
            if not options["queue"]:
                leases.reserve(training)
        return training


def _corpus(options: Mapping[str, Any]) -> Corpus:
    if not options["corpus"]:
        raise CommandError("--corpus is required: the corpus to train on.")
    return find_corpus(options["corpus"])
