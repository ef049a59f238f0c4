"""The work of a training: hand it to the trainer, keep its curves, register what it makes. Taken up again, it goes on by itself."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from django.db import transaction

from lib import disk
from lib.files import sha256_of
from lib.jobs.leases import Lease, renew_connection, run_job
from scoring.domain.backend import ScoringError
from scoring.models import Training, TrainingPoint
from scoring.services.training.corpora import open_to_train
from scoring.services.training.create import base_args, fingerprint
from scoring.services.training.models import register
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.settings import Point, Trained, TrainingError, of_recipe


def is_first() -> bool:
    return os.environ.get("RANK", "0") == "0"


def agreed(decide: Callable[[], int]) -> int | None:
    """A number that the first process decides on; None in the others where it could not.

    Raises:
        Exception: in the first process, what `decide` raises.
    """
    if os.environ.get("WORLD_SIZE", "1") == "1":
        return decide()
    import torch
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    PartialState(cpu=not torch.accelerator.is_available())  # lets the processes talk to each other
    number: list[int | None] = [None]
    try:
        if is_first():
            number = [decide()]
    finally:  # the others wait for it
        broadcast_object_list(number)
    return number[0]


OnProgress = Callable[[Training, Point], None]


def run(job: Training, on_progress: OnProgress = lambda job, point: None) -> Training:
    """Train, as a worker does; the row says how it went."""

    def work(job: Training, lease: Lease) -> None:
        try:
            _Work(job, lease, on_progress).go_on()
        except OSError as error:  # a full disk, say: the last checkpoint is whole
            if not (sentence := disk.sentence(error)):
                raise
            raise TrainingError(f"{sentence}. If started again, it continues.") from error

    return run_job(job, work, expected=(TrainingError, CorpusError, ScoringError))


def corpus_of(training: Training) -> BuiltCorpus:
    """The corpus as it was when the training was asked for.

    Raises:
        CorpusError: it was built again since, a file was changed, or it holds a test case of today.
    """
    if fingerprint(training) != training.fingerprint:
        raise CorpusError(
            f"The corpus {training.corpus} has changed since the training was created."
        )
    return open_to_train(training.corpus)


def take_part(job: Training) -> None:
    """Train beside the process that runs the job, which alone writes: of several devices, each has a process."""
    _train(job, corpus_of(job))


def _train(
    job: Training,
    corpus: BuiltCorpus,
    on_point: Callable[[Point], None] = lambda point: None,
    check: Callable[[], None] = lambda: None,
) -> Trained:
    from scoring.training.lm.models import Start
    from scoring.training.lm.train import train

    args = base_args(job)
    return train(
        of_recipe(job.recipe),
        corpus,
        Start(
            pretrained=args.get("pretrained"),
            revision=args.get("revision"),
            tokenizer=job.tokenizer or None,
            config=Path(args["config"]) if "config" in args else None,
        ),
        job.folder,
        job.output,
        on_point=on_point,
        check=check,
        keep=[step for step in job.keep if step],  # the start is at hand
    )


class _Work:
    """A training, for as long as one worker has it."""

    def __init__(self, job: Training, lease: Lease, on_progress: OnProgress) -> None:
        self.job, self.lease, self.on_progress = job, lease, on_progress

    def go_on(self) -> None:
        corpus = corpus_of(self.job)
        # It must start from what it was begun with
        identity = files_of(self.job)
        if self.job.identity and identity != self.job.identity:
            raise TrainingError(
                f"Model, configuration or tokenizer have changed since training {self.job.pk} began."
            )
        self.lease.write(identity=identity)
        self.job.identity = identity

        trained = _train(self.job, corpus, on_point=self._keep, check=self.lease.check)
        renew_connection()
        with transaction.atomic():
            self.lease.write(done=trained.steps, total=trained.steps, tokens=trained.tokens)
            register(self.job, trained, corpus)

    def _keep(self, point: Point) -> None:
        """Store a point of the curves. After a kill the work goes on from a checkpoint: what came after it is replaced."""
        renew_connection()
        with transaction.atomic():
            self.lease.advance(
                done=point.step,
                total=point.steps,
                tokens=point.tokens,
                tokens_per_s=point.tokens_per_s,
            )
            self.job.points.filter(step__gte=point.step).delete()
            columns = {name: value for name, value in asdict(point).items() if name != "steps"}
            TrainingPoint.objects.create(training=self.job, **columns)
        self.on_progress(self.job, point)


def files_of(training: Training) -> dict[str, str]:
    """SHA-256 of what a training starts from, as far as it lies in folders."""
    from scoring.backends.model_files import config_sha256, weights_sha256

    args, found = base_args(training), {}
    base, tokenizer, config = (
        Path(place)
        for place in (args.get("pretrained", ""), training.tokenizer, args.get("config", ""))
    )
    if base.name and base.is_dir():
        found["weights_sha256"] = weights_sha256(base)
    if tokenizer.name and (file := tokenizer / "tokenizer.json").is_file():
        found["tokenizer_sha256"] = sha256_of(file)
    for name, place in (("base_config", base), ("config", config)):
        file = place if place.is_file() else place / "config.json"
        if place.name and file.is_file():
            try:
                described = json.loads(file.read_text(encoding="utf-8"))
            except ValueError as error:
                raise TrainingError(f"{file} is not the configuration of a model.") from error
            found[f"{name}_sha256"] = config_sha256(described)
    return found
