"""A training in a process of its own that kills itself in the midst of something, as often as is asked for."""

import json
import os
import signal
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from scoring.training.corpus.manifest import open_corpus
from scoring.training.lm import train as training
from scoring.training.lm.models import Start
from scoring.training.lm.trainer import CorpusTrainer
from scoring.training.settings import TrainingSettings

MOMENTS = ("step", "evaluation", "checkpoint")


@dataclass(frozen=True)
class Asked:
    settings: TrainingSettings
    corpus: Path
    start: Start
    folder: Path
    output: Path


@dataclass
class Moments:
    """Counts what a training comes through; ends the process at one of these."""

    moment: str = ""
    number: int = 0
    is_evaluating: bool = False
    seen: Counter[str] = field(default_factory=Counter)

    def come(self, moment: str) -> None:
        self.seen[moment] += 1
        if (moment, self.seen[moment]) == (self.moment, self.number):
            os.kill(os.getpid(), signal.SIGKILL)

    def check(self) -> None:
        """Called by the trainer after each batch, of training or of an evaluation."""
        self.come("evaluation" if self.is_evaluating else "step")

    def evaluation(self, measure: Callable[[CorpusTrainer], float]) -> Any:
        def measured(trainer: CorpusTrainer) -> float:
            self.is_evaluating = True
            loss = measure(trainer)
            self.is_evaluating = False
            return loss

        return measured

    def sync(self, sync: Callable[[int], None]) -> Callable[[int], None]:
        """A checkpoint's files are brought to disk one by one before it has its name."""

        def synced(file: int) -> None:
            self.come("checkpoint")
            sync(file)

        return synced


def run(asked: Asked, moment: str = "", number: int = 0) -> int:
    """Train, or go on, in a new process, which may end in such a moment; its exit code."""
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    process = context.Process(target=_train, args=(asked, moment, number))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def moments_of(asked: Asked) -> Counter[str]:
    return Counter(json.loads((asked.folder / "moments.json").read_text()))


def _train(asked: Asked, moment: str, number: int) -> None:
    torch.set_num_threads(1)
    moments = Moments(moment, number)
    measured = moments.evaluation(CorpusTrainer._held_out_loss)
    with (
        mock.patch.object(CorpusTrainer, "_held_out_loss", measured),
        mock.patch.object(os, "fsync", moments.sync(os.fsync)),
    ):
        training.train(
            asked.settings,
            open_corpus(asked.corpus),
            asked.start,
            asked.folder,
            asked.output,
            check=moments.check,
        )
    (asked.folder / "moments.json").write_text(json.dumps(moments.seen))
