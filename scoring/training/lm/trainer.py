"""The Hugging Face Trainer with a held-out loss per token, checkpoints that are whole, and states without pickle.

Knows neither corpus nor settings. DeepSpeed and FSDP, which part a model among devices, write and read their own states.
"""

import json
import math
import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from peft import PeftModel
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from scoring.training.lm import checkpoints
from scoring.training.lm.packing import IGNORED, Rows, stack
from scoring.training.lm.tokenizer import part_of, put_in_place, remove, system_errors
from scoring.training.settings import Point, TrainingError, TrainingSettings, kept_folder

TOLD = 500  # points of the loss of training, over the whole training
SAVED = 50  # checkpoints; the newest is kept, and what was asked for


@dataclass(frozen=True)
class Plan:
    """A training of `rows` rows of `context` tokens each epoch.

    >>> plan = Plan(rows=10, context=8, rows_per_step=4, epochs=2, evaluations=2)
    >>> plan.steps, plan.evaluated, [plan.tokens(step) for step in range(1, 7)]
    (6, frozenset({3, 6}), [32, 64, 80, 112, 144, 160])
    >>> len(plan.saved), len(Plan(400, 8, rows_per_step=4, epochs=1, evaluations=2).saved)
    (6, 50)
    """

    rows: int
    context: int
    rows_per_step: int
    epochs: float
    evaluations: int

    @property
    def steps_per_epoch(self) -> int:
        """The last one takes what is left."""
        return math.ceil(self.rows / self.rows_per_step)

    @property
    def steps(self) -> int:
        return math.ceil(self.epochs * self.steps_per_epoch)

    @cached_property
    def evaluated(self) -> frozenset[int]:
        return self._spread(self.evaluations)

    @cached_property
    def saved(self) -> frozenset[int]:
        """Where it is evaluated too: the best of these is the result."""
        return self._spread(SAVED) | self.evaluated

    @cached_property
    def told(self) -> frozenset[int]:
        """Where it is saved too, so that a loss covers the same steps in a training that was resumed."""
        return self._spread(TOLD) | self.saved

    def tokens(self, step: int) -> int:
        """How many were seen after this many steps."""
        epochs, left = divmod(step, self.steps_per_epoch)
        rows = epochs * self.rows + min(left * self.rows_per_step, self.rows)
        return rows * self.context

    def _spread(self, number: int) -> frozenset[int]:
        """Steps at equal distances, the last one among them."""
        number = max(1, min(number, self.steps))
        return frozenset(math.ceil(self.steps * n / number) for n in range(1, number + 1))


def plan_of(settings: TrainingSettings, rows: int) -> Plan:
    """The plan for a corpus of so many whole rows.

    Raises:
        TrainingError: it does not fill a step.
    """
    if rows < settings.rows_per_step:
        raise TrainingError(
            f"The corpus fills {rows:,} rows of {settings.context:,} tokens, but a step needs {settings.rows_per_step:,}. "
            "Gather more texts, or choose fewer rows per step or a shorter context."
        )
    return Plan(
        rows, settings.context, settings.rows_per_step, settings.epochs, settings.evaluations
    )


def accumulation_here(settings: TrainingSettings, processes: int) -> int:
    """How many batches each of the devices at hand gathers for a step, so that it has as many rows as was asked for.

    Raises:
        TrainingError: the rows of a step cannot be shared evenly.
    """
    batches, left = divmod(settings.accumulation * settings.devices, processes)
    if left or not batches:
        raise TrainingError(
            f"A step of {settings.accumulation * settings.devices} batches cannot be divided among {processes} devices. "
            "Change accumulation or devices."
        )
    return batches


class Following(TrainerCallback):
    def __init__(
        self,
        plan: Plan,
        keep: Collection[int],
        on_point: Callable[[Point], None],
        check: Callable[[], None],
    ) -> None:
        self.plan, self.keep, self.on_point, self.check = plan, frozenset(keep), on_point, check
        self.loss: float | None = None
        self.learning_rate = 0.0
        self.told_step, self.told_at = 0, perf_counter()

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **_: Any) -> None:
        self.told_step, self.told_at = state.global_step, perf_counter()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        self.check()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.check()
        step, kept = state.global_step, state.global_step in self.keep
        control.should_evaluate = kept or step in self.plan.evaluated
        control.should_save = kept or step in self.plan.saved
        control.should_log = kept or step in self.plan.told

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        if logs and "loss" in logs:
            self.loss, self.learning_rate = logs["loss"], logs["learning_rate"]
            if not control.should_evaluate:  # else it is told of with the held-out loss
                self._tell(state.global_step, None)

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: Any,
        metrics: Mapping[str, float] | None = None,
        **_: Any,
    ) -> None:
        if metrics:
            self._tell(state.global_step, metrics["eval_loss"])

    def _tell(self, step: int, held_out_loss: float | None) -> None:
        now = perf_counter()
        tokens = self.plan.tokens(step)
        learned = tokens - self.plan.tokens(self.told_step)
        speed = learned / (now - self.told_at) if learned else 0.0
        point = Point(
            step, self.plan.steps, tokens, self.loss, held_out_loss, self.learning_rate, speed
        )
        self.loss, self.told_step, self.told_at = None, step, now
        self.on_point(point)


class CorpusTrainer(Trainer):
    """Checkpoints go to `args.output_dir`: the newest, the best, and those of the steps in `keep`."""

    def __init__(
        self,
        model: nn.Module,
        args: TrainingArguments,
        rows: Rows,
        held_out: Rows,
        tokenizer: Any,
        callback: TrainerCallback,
        *,
        keep: Collection[int],
        check: Callable[[], None],
    ) -> None:
        super().__init__(
            model=model,
            args=args,
            data_collator=stack,
            train_dataset=rows,
            eval_dataset=held_out,
            callbacks=[callback],
        )
        self.remove_callback(PrinterCallback)
        self.tokenizer, self.keep, self.check = tokenizer, frozenset(keep), check

    @property
    def _is_parted(self) -> bool:
        return bool(self.is_deepspeed_enabled or self.is_fsdp_enabled)

    def training_step(self, *args: Any, **kwargs: Any) -> Tensor:
        loss = super().training_step(*args, **kwargs)
        if not torch.isfinite(loss):
            raise TrainingError(
                f"The loss of step {self.state.global_step + 1} is {loss.item()}. A lower learning rate, a longer warm-up or "
                "more precision may help."
            )
        return loss

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """The mean of -log p over all held-out tokens, in nats; remember the step where it was least."""
        loss = self._held_out_loss()
        metrics = {"eval_loss": loss}
        self.log(dict(metrics))
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        step = self.state.global_step
        if step and (self.state.best_metric is None or loss < self.state.best_metric):
            self.state.best_metric, self.state.best_global_step = loss, step
        return metrics

    def _held_out_loss(self) -> float:
        model = self.model_wrapped
        model.eval()
        total, count = 0.0, 0
        # A loader draws a seed, whether it needs one or not: training must not depend on how often it is measured
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            for batch in self.get_eval_dataloader():
                self.check()
                labels = batch["labels"][:, 1:]  # (B, T - 1)
                logits = model(input_ids=batch["input_ids"]).logits[:, :-1]  # (B, T - 1, V)
                nll = functional.cross_entropy(
                    logits.float().transpose(1, 2), labels, ignore_index=IGNORED, reduction="none"
                ).double()
                sums, counts = nll.sum(1), (labels != IGNORED).sum(1)  # (B,)
                sums, counts = self.accelerator.gather_for_metrics((sums, counts))
                total, count = total + sums.sum().item(), count + int(counts.sum())
        if not total < float("inf"):
            raise TrainingError(
                f"The held-out loss after step {self.state.global_step} is {total / count}."
            )
        return total / count

    # --- checkpoints ---

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        step = self.state.global_step
        folder = kept_folder(Path(str(self.args.output_dir)), step)
        part = part_of(folder)
        resume = part / checkpoints.RESUME
        if self.args.should_save:
            remove(part)
            resume.mkdir(parents=True)
        self.accelerator.wait_for_everyone()
        try:
            with system_errors(folder):
                self.save_model(str(part))
                self._save_optimizer_and_scheduler(str(part))
                checkpoints.save_random(resume / f"random-{self.args.process_index}.json")
            self.accelerator.wait_for_everyone()
            if self.args.should_save:
                self.state.save_to_json(str(part / checkpoints.STATE))
                put_in_place(part, folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        if self.args.should_save:
            kept = self.keep | {self.state.best_global_step or step}
            checkpoints.tidy(folder.parent, kept, step)
        self.accelerator.wait_for_everyone()

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """A model's or adapter's folder, with its tokenizer and without a pickle of the arguments."""
        if not self.args.should_save:
            return
        model = self.accelerator.unwrap_model(self.model)
        folder = Path(str(output_dir))
        if isinstance(model, PeftModel):
            # Left to itself, it would ask the Hub whether the base's vocabulary has changed
            model.save_pretrained(str(folder), state_dict=state_dict, save_embedding_layers=False)
            (folder / "README.md").unlink(missing_ok=True)
            # peft holds them as a set, whose order is another in each process: the same adapter has the same bytes
            path = folder / "adapter_config.json"
            config = json.loads(path.read_text(encoding="utf-8"))
            config["target_modules"] = sorted(config["target_modules"])
            path.write_text(json.dumps(config, indent=2, sort_keys=True), encoding="utf-8")
        else:
            use_cache, model.config.use_cache = model.config.use_cache, True
            model.save_pretrained(folder, state_dict=state_dict)
            model.config.use_cache = use_cache
        self.tokenizer.save_pretrained(folder)

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        if self._is_parted:
            super()._save_optimizer_and_scheduler(output_dir)
        elif self.args.should_save:
            resume = Path(output_dir) / checkpoints.RESUME
            assert self.optimizer is not None
            assert self.lr_scheduler is not None
            checkpoints.save_optimizer(self.optimizer.state_dict(), resume)
            schedule = json.dumps(self.lr_scheduler.state_dict())
            (resume / "schedule.json").write_text(schedule, encoding="utf-8")

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if self._is_parted:
            super()._load_optimizer_and_scheduler(checkpoint)
        elif checkpoint is not None:
            resume = Path(checkpoint) / checkpoints.RESUME
            assert self.optimizer is not None
            assert self.lr_scheduler is not None
            self.optimizer.load_state_dict(checkpoints.load_optimizer(resume))
            schedule: Mapping[str, Any] = json.loads((resume / "schedule.json").read_text())
            self.lr_scheduler.load_state_dict(dict(schedule))

    def _load_rng_state(self, checkpoint: str | None) -> None:
        if checkpoint is not None:
            resume = Path(checkpoint) / checkpoints.RESUME
            path = resume / f"random-{self.args.process_index}.json"
            if path.is_file():  # else there are more processes than before
                checkpoints.load_random(path)
