"""The options of `lm_train`, and the display of what a training would take and what came of it."""

from argparse import ArgumentTypeError
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any, get_args

from django.core.management.base import CommandError, CommandParser

from experiment.management.finding import missing
from scoring.models import Corpus, Training
from scoring.training.settings import (
    PRESETS,
    Lora,
    Mode,
    Packing,
    TrainingError,
    TrainingSettings,
    of_preset,
)

if TYPE_CHECKING:
    from scoring.training.lm.estimate import Estimate

# What a flag changes in the preset: its type, what it is called in the help
NUMBERS: Mapping[str, tuple[type[int] | type[float], str]] = {
    "context": (int, "tokens per row"),
    "epochs": (float, "number of epochs"),
    "batch_rows": (int, "rows per device at a time"),
    "accumulation": (int, "batches per device and step"),
    "devices": (
        int,
        "devices for which the rows per step are computed; on another number, accumulation is adapted",
    ),
    "learning_rate": (float, "highest learning rate"),
    "weight_decay": (float, "weight decay of AdamW"),
    "warmup_share": (float, "share of all steps in which the learning rate rises"),
    "clip_norm": (float, "maximum norm of the gradient; 0 for no limit"),
    "seed": (int, "seed of weights, dropout and the order of rows"),
    "evaluations": (int, "number of measurements of the held-out loss"),
    "limit": (int, "documents to train on, for a short run"),
}
CHOICES: Mapping[str, tuple[str, ...]] = {
    "schedule": ("cosine", "linear", "constant"),
    "packing": get_args(Packing),
    "dtype": ("float32", "bfloat16"),
}
LORA: Mapping[str, tuple[type[int] | type[float], str]] = {
    "rank": (int, "rank of the adapter's matrices"),
    "alpha": (int, "scale of the adapter's product, alpha / rank"),
    "dropout": (float, "dropout of the adapter's input"),
}
SHAPE: Mapping[str, str] = {"layers": "", "heads": "", "width": "dimensions of a token"}


def add_settings_arguments(parser: CommandParser) -> None:
    parser.add_argument("--preset", default="tiny", choices=PRESETS, help="default: tiny")
    parser.add_argument("--mode", choices=get_args(Mode), help="default: the preset's")
    changes = parser.add_argument_group("other than the preset")
    for name, (kind, about) in NUMBERS.items():
        changes.add_argument(_flag(name), type=kind, metavar="N", help=about)
    for name, choices in CHOICES.items():
        changes.add_argument(_flag(name), choices=choices)
    changes.add_argument(
        "--gradient-checkpointing",
        action="store_true",
        default=None,
        help="recompute activations in the backward pass, which needs less memory and more time",
    )
    for name, (kind, about) in LORA.items():
        changes.add_argument(_flag(f"lora_{name}"), type=kind, metavar="N", help=about)
    changes.add_argument(
        "--lora-targets", type=_names, metavar="NAME,…", help="projections to adapt"
    )
    for name, about in SHAPE.items():
        changes.add_argument(_flag(name), type=int, metavar="N", help=about)


def settings_of(options: Mapping[str, Any]) -> TrainingSettings:
    """The preset with what was asked for in place of its own.

    Raises:
        CommandError: the settings do not go together.
    """
    preset = PRESETS[options["preset"]]
    mode: Mode = options["mode"] or preset.mode
    changes = _given(options, (*NUMBERS, *CHOICES, "gradient_checkpointing"))
    lora = _given(options, [field.name for field in fields(Lora)], "lora_")
    shape = _given(options, SHAPE)
    try:
        if mode == "lora":
            if preset.lora is None:
                raise TrainingError(f"The preset {options['preset']} does not have an adapter.")
            changes["lora"] = replace(preset.lora, **lora)
        elif lora:
            raise TrainingError(
                f"Mode {mode} does not have an adapter. Leave out --lora-{next(iter(lora))}."
            )
        if mode == "scratch":
            if preset.shape is None and shape:
                raise TrainingError("The preset does not have a model's shape to change.")
            changes["shape"] = preset.shape and replace(preset.shape, **shape)
        elif shape:
            raise TrainingError(
                f"Mode {mode} uses the model's shape. Leave out --{next(iter(shape))}."
            )
        return of_preset(options["preset"], mode, **changes)
    except TrainingError as error:
        raise CommandError(str(error)) from error


def _given(options: Mapping[str, Any], names: Any, prefix: str = "") -> dict[str, Any]:
    return {name: options[prefix + name] for name in names if options[prefix + name] is not None}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ArgumentTypeError(f"“{text}” is not a list of names separated by commas")
    return names


def find_corpus(name: str) -> Corpus:
    """The corpus that was built under this name.

    Raises:
        CommandError: there is none.
    """
    found = Corpus.objects.filter(slug=name).first()
    if found is None:
        raise missing("corpus", "corpora", name, Corpus.objects.values_list("slug", flat=True))
    return found


def training_data(training: Training) -> dict[str, Any]:
    return {
        "training": training.pk,
        "name": training.name,
        "status": training.status,
        "folder": str(training.folder),
        "output": str(training.output),
        "manifest": training.manifest,
    }


def training_lines(training: Training) -> Iterator[str]:
    if training.status != Training.Status.FINISHED:
        yield f"Training {training.pk}, {training.name}: {training.status}."
        return
    about = training.manifest
    yield (
        f"Training {training.pk} made {training.name}: {about['steps']:,} steps, {about['tokens']:,} tokens; the best step is "
        f"{about['best_step']:,}."
    )
    yield (
        f"  held-out loss {about['held_out_loss']:.4f} nats per token; untrained {about['untrained_held_out_loss']:.4f}"
    )
    yield f"  {training.output}"


def estimate_data(settings: TrainingSettings, told: "Estimate") -> dict[str, Any]:
    memory = asdict(told.memory) | {"total": told.memory.total}
    return {
        **asdict(settings),
        "tokens_per_step": settings.tokens_per_step,
        **asdict(told),
        "memory": {f"{name}_bytes": value for name, value in memory.items()},
    }


def estimate_lines(settings: TrainingSettings, told: "Estimate") -> Iterator[str]:
    share = told.trainable_parameters / told.parameters
    yield f"weights {told.parameters:,}, of which {told.trainable_parameters:,} are trained ({share:.1%})"
    yield (
        f"a step       {settings.tokens_per_step:,} tokens: {settings.batch_rows} x {settings.accumulation} x "
        f"{settings.devices} rows of {settings.context:,}"
    )
    yield f"schedule     {settings.schedule} from {settings.learning_rate:g}, warm-up over {settings.warmup_share:.0%} of the steps"
    if (amount := told.amount) is not None:
        yield (
            f"corpus       {amount.documents:,} documents, {amount.rows:,} rows, {amount.tokens_left_out:,} tokens left out at the end; "
            f"{amount.held_out_tokens:,} held out"
        )
        yield f"training     {amount.steps:,} steps, {amount.warmup_steps:,} of them warm-up; {amount.tokens:,} tokens in {settings.epochs:g} epochs"
    memory = told.memory
    yield (
        f"memory       {_gb(memory.total)} on each device, computed: weights {_gb(memory.weights)}, gradients "
        f"{_gb(memory.gradients)}, optimiser {_gb(memory.optimizer)}"
    )
    if (measured := told.measured) is None:
        yield "not measured; name a model that fits into this machine's memory (from scratch, a tokenizer)"
        return
    peak = f", {_gb(measured.peak_bytes)} at most in total" if measured.peak_bytes else ""
    yield f"             {_gb(measured.activation_bytes)} of activations, measured{peak}"
    assert told.step_s is not None
    yield (
        f"a step       {told.step_s:.3g} s, {told.tokens_per_s:,.0f} tokens/s, estimated for {settings.devices} devices from one "
        f"batch measured on {measured.device}"
    )
    if told.hours is not None:
        yield f"in total     {told.hours:.3g} hours, with {settings.evaluations} measurements of the held-out loss"


def _gb(size: int) -> str:
    return f"{size / 1e9:.2f} GB"
