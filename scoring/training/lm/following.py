"""Decides when a training is measured, saved and told of, and tells of it. Knows no model and no corpus."""

from collections.abc import Callable, Collection, Mapping
from time import perf_counter
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from scoring.training.lm.plan import Plan
from scoring.training.progress import Point


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

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self.told_step, self.told_at = state.global_step, perf_counter()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
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
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
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
