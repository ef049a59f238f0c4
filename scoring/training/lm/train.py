"""Trains a language model on a corpus, from its settings to a folder that is scored like any other model's.

Knows no row of the database: who calls it is told how it goes, and may stop it.
"""

import json
import platform
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from transformers import TrainingArguments

from lib.code import release
from lib.files import sha256_of, write_file
from scoring.backends.causal_lm.loading import quiet
from scoring.backends.tokenizers import tokenizer_hash
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.lm import checkpoints
from scoring.training.lm.models import Start, model_of, parameters, tokenizer_of
from scoring.training.lm.packing import pack, rows_of
from scoring.training.lm.tokenizer import staged_folder
from scoring.training.lm.trainer import CorpusTrainer, Following, accumulation_here, plan_of
from scoring.training.settings import Point, Trained, TrainingError, TrainingSettings, kept_folder

ABOUT = "training.json"  # beside checkpoints: which training they are of; beside the result: how it came about


def about_of(settings: TrainingSettings, corpus: BuiltCorpus, tokenizer: Any) -> dict[str, Any]:
    """Everything that decides a training, besides the model that it starts from."""
    return {
        "settings": asdict(settings),
        "corpus": {"name": corpus.manifest.name, "sha256": corpus.sha256},
        "tokenizer": tokenizer_hash(tokenizer),
    }


def claim(folder: Path, output: Path, about: Mapping[str, Any]) -> None:
    """See that both folders are this training's own or new, before hours of work rather than after.

    Raises:
        TrainingError: they are another's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    output.parent.mkdir(parents=True, exist_ok=True)
    for left_over in (*folder.glob(".step-*"), *folder.glob("step-*/.*.gone")):
        shutil.rmtree(left_over)
    wanted = json.loads(json.dumps(about))
    for path in (folder, output):
        try:
            found = json.loads((path / ABOUT).read_text(encoding="utf-8"))
            found = {name: found[name] for name in about}
        except (OSError, ValueError, KeyError, TypeError):
            found = None
        if path.exists() and any(path.iterdir()) and found != wanted:
            raise TrainingError(f"{path} contains other files. Name an empty or new folder.")
    write_file(folder / ABOUT, json.dumps(about, indent=2) + "\n")


def written(trained: Trained, about: Mapping[str, Any], folder: Path, output: Path) -> Trained:
    """Write the best step's weights to their place, with how they came about; return it with their hashes."""
    best = kept_folder(folder, trained.best_step)
    with staged_folder(output) as part:
        for path in best.iterdir():
            if path.is_file() and path.name != checkpoints.STATE:
                shutil.copy2(path, part)
        told = {name: value for name, value in asdict(trained).items() if name != "files"}
        (part / ABOUT).write_text(json.dumps({**about, **told}, indent=2) + "\n", encoding="utf-8")
    files = {path.name: sha256_of(path) for path in sorted(output.iterdir())}
    return replace(trained, files=files)


SCHEDULES = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}
LIBRARIES = ("torch", "transformers", "peft", "accelerate", "tokenizers", "safetensors")


def train(
    settings: TrainingSettings,
    corpus: BuiltCorpus,
    start: Start,
    folder: Path,
    output: Path,
    *,
    on_point: Callable[[Point], None] = lambda point: None,
    check: Callable[[], None] = lambda: None,
    keep: Sequence[int] = (),
) -> Trained:
    """Train, or go on from the newest checkpoint in `folder`; write what predicts the held-out texts best to `output`.

    On one CPU thread, the same settings, corpus, start and libraries give the same bits, however often it was killed
    in between. Among several processes, the first alone tells, is asked whether to go on, and returns what is true.

    Args:
        folder: where checkpoints lie, this training's own.
        output: a folder that is made, whole or not at all.
        on_point: called with each point of the curves; after a resume, the points since the checkpoint come again.
        check: called often; what it raises ends the training.
        keep: steps whose weights stay in `folder`, as `step-000123`.
    Raises:
        TrainingError: one sentence on why it cannot begin or go on.
        OSError: the disk does not take it.
    """
    resumed = checkpoints.newest(folder)
    args = _arguments(settings, folder, measure_first=resumed is None)
    is_main = args.process_index == 0
    if not is_main:
        on_point, check = (lambda point: None), (lambda: None)
    tokenizer = tokenizer_of(settings, start)
    with args.main_process_first(desc="tokens"):
        try:
            corpus.check()
        except CorpusError as error:
            raise TrainingError(str(error)) from error
        packed = pack(corpus, tokenizer, settings.packing, settings.limit, check)
        rows, held_out = rows_of(packed, settings.context)
    plan = plan_of(settings, len(rows))
    if wrong := [step for step in keep if not 1 <= step <= plan.steps]:
        raise TrainingError(
            f"There is no step {wrong[0]} to save, because the training has {plan.steps} steps."
        )
    about = about_of(settings, corpus, tokenizer)
    if is_main:
        claim(folder, output, about)
    following = Following(plan, keep, on_point, check)
    with _reproducible(args.device), quiet():
        model = model_of(settings, start, tokenizer)
        trainer = CorpusTrainer(
            model, args, rows, held_out, tokenizer, following, keep=keep, check=check
        )
        total, trainable = parameters(model)
        trainer.train(resume_from_checkpoint=str(resumed) if resumed else None)
    state, is_cuda = trainer.state, args.device.type == "cuda"
    assert state.best_global_step is not None  # the last step is measured in any case
    assert state.best_metric is not None
    trained = Trained(
        steps=plan.steps,
        tokens=plan.tokens(plan.steps),
        best_step=state.best_global_step,
        held_out_loss=state.best_metric,
        untrained_held_out_loss=next(e["eval_loss"] for e in state.log_history if not e["step"]),
        parameters=total,
        trainable_parameters=trainable,
        rows=plan.rows,
        tokens_left_out=rows.remainder,
        held_out_tokens=len(held_out.ids),
        versions={
            "brainbench-live": release(),
            "python": platform.python_version(),
            "device": torch.cuda.get_device_name(args.device) if is_cuda else "CPU",
            **{library: version(library) for library in LIBRARIES},
        },
        files={},
    )
    return written(trained, about, folder, output) if is_main else trained


def _arguments(
    settings: TrainingSettings, folder: Path, *, measure_first: bool
) -> TrainingArguments:
    args = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=settings.batch_rows,
        per_device_eval_batch_size=settings.batch_rows,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        warmup_steps=settings.warmup_share,  # below 1, it is a share of all steps
        lr_scheduler_type=SCHEDULES[settings.schedule],
        max_grad_norm=settings.clip_norm,
        optim="adamw_torch",
        bf16=settings.dtype == "bfloat16",
        activation_checkpointing=settings.gradient_checkpointing,
        activation_checkpointing_kwargs={"use_reentrant": False},
        seed=settings.seed,
        data_seed=settings.seed,
        eval_on_start=measure_first,
        # When is Following's matter
        logging_strategy="no",
        eval_strategy="no",
        save_strategy="no",
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        log_level="error",
        log_level_replica="error",
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        use_cpu=not torch.accelerator.is_available(),  # else its processes would not see each other
    )
    args.gradient_accumulation_steps = accumulation_here(settings, args.world_size)
    # Without `accelerate launch`, one device: DataParallel would multiply the rows of a step
    args._n_gpu = min(args.n_gpu, 1)
    return args


@contextmanager
def _reproducible(device: torch.device) -> Iterator[None]:
    """Deterministic algorithms where they cost nothing; afterwards the process is as it was."""
    strict = torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.use_deterministic_algorithms(strict or device.type == "cpu")
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict)
