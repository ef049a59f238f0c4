"""The Hugging Face Trainer with a held-out loss per token, checkpoints that are whole, and states without pickle.

Knows neither corpus nor settings. DeepSpeed and FSDP, which part a model among devices, write and read their own states.
"""

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from torch import Tensor, nn
from torch.nn import functional
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from scoring.training.lm import checkpoints
from scoring.training.lm.packing import IGNORED, Rows, stack
from scoring.training.lm.staging import part_of, put_in_place, remove, system_errors
from scoring.training.progress import kept_folder
from scoring.training.settings import TrainingError


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
                f"The loss of step {self.state.global_step + 1} is {loss.item()}: a lower learning rate, "
                "a longer warm-up or more precision may help."
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
            _sort_targets(folder / "adapter_config.json")
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


def _sort_targets(path: Path) -> None:
    """peft holds them as a set, whose order is another in each process: the same adapter has the same bytes."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config["target_modules"] = sorted(config["target_modules"])
    path.write_text(json.dumps(config, indent=2, sort_keys=True), encoding="utf-8")
