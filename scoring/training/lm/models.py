"""Makes the model that a training starts from. Knows no corpus."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.pytorch_utils import Conv1D

from scoring.backends.causal_lm.loading import DTYPES, load, quiet
from scoring.backends.model_files import refuse_adapter
from scoring.backends.tokenizers import load_tokenizer, set_start_token
from scoring.domain.backend import ScoringError
from scoring.training.settings import Lora, Shape, TrainingError, TrainingSettings


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a training: a model's folder or name and revision, or a tokenizer and, perhaps, a config.json."""

    pretrained: str | Path | None = None
    revision: str | None = None
    tokenizer: str | Path | None = None  # None: the model's own
    config: Path | None = None  # from scratch, in place of the settings' shape


def tokenizer_of(settings: TrainingSettings, start: Start) -> Any:
    """The tokenizer to train with, as it is to be saved with the model.

    Raises:
        TrainingError: none was named, or it cannot be read.
    """
    if settings.mode != "scratch" and start.pretrained is None:
        raise TrainingError(f"Mode {settings.mode} needs a base model. Name its folder.")
    source = start.tokenizer or start.pretrained
    if source is None:
        raise TrainingError(
            "A model from scratch needs a tokenizer. Train one with tokenizer_train, or name that of another model."
        )
    revision = start.revision if start.tokenizer is None else None
    try:
        tokenizer = load_tokenizer(str(source), revision)
    except ScoringError as error:
        raise TrainingError(str(error)) from error
    if settings.mode == "scratch":
        tokenizer.model_max_length = settings.context
        if settings.packing == "joined":
            # Never seen in training, a start token would spoil every text that is scored
            set_start_token(tokenizer, False)
    return tokenizer


def model_of(
    settings: TrainingSettings, start: Start, tokenizer: Any
) -> PreTrainedModel | PeftModel:
    """The model to train; what is drawn at random in it follows from the seed alone.

    Raises:
        TrainingError: it cannot be made, or the settings do not fit it.
    """
    torch.manual_seed(settings.seed)
    if settings.mode == "scratch":
        config = scratch_config(settings, start.config, tokenizer)
        return _ready(_at_random(config, "float32"), settings, start, tokenizer)
    dtype = _base_dtype(settings)
    args = {"pretrained": str(start.pretrained), "dtype": dtype, "device": "cpu"}
    try:
        refuse_adapter(
            Path(str(start.pretrained)),
            "trainings need weights without an adapter, so move the adapter's files (adapter_*) out of the folder",
        )
        loaded = load(args | ({"revision": start.revision} if start.revision else {}))
    except ScoringError as error:
        raise TrainingError(str(error)) from error
    return _ready(loaded.model, settings, start, tokenizer)


def shape_of(
    settings: TrainingSettings, start: Start, tokenizer: Any
) -> PreTrainedModel | PeftModel:
    """A model of the size and types of `model_of`'s, with weights at random: a batch takes as long. Of a model's folder it
    reads the configuration alone.

    Raises:
        TrainingError: it cannot be made, or the settings do not fit it.
    """
    if settings.mode == "scratch":
        return model_of(settings, start, tokenizer)
    config = read_config(str(start.pretrained), revision=start.revision)
    return _ready(_at_random(config, _base_dtype(settings)), settings, start, tokenizer)


def _at_random(config: PreTrainedConfig, dtype: str) -> PreTrainedModel:
    return AutoModelForCausalLM.from_config(config, dtype=DTYPES[dtype])  # type: ignore[no-untyped-call,no-any-return]


def _ready(
    model: PreTrainedModel, settings: TrainingSettings, start: Start, tokenizer: Any
) -> PreTrainedModel | PeftModel:
    """The model, with its adapter where the settings have one, if it takes their rows and the tokenizer's tokens."""
    check_window(model.config, settings.context)
    if len(tokenizer) > model.config.get_text_config().vocab_size:
        raise TrainingError(
            f"The tokenizer has {len(tokenizer):,} tokens, but the model has {model.config.get_text_config().vocab_size:,}."
        )
    if settings.lora is None:
        return model
    return with_adapter(model, settings.lora, Path(str(start.pretrained)).name)


def scratch_config(
    settings: TrainingSettings, file: Path | None, tokenizer: Any
) -> PreTrainedConfig:
    """The configuration of the settings' shape or of a file; its vocabulary and special tokens are the tokenizer's, if there is one."""
    tokens: dict[str, Any] = {}
    if tokenizer is not None:
        names = ("bos_token_id", "eos_token_id", "pad_token_id")
        tokens = {"vocab_size": len(tokenizer)} | {n: getattr(tokenizer, n) for n in names}
    if file is not None:
        return read_config(file, **tokens)
    if settings.shape is None:
        raise TrainingError("A model from scratch needs the shape of a preset or a config.json.")
    return gpt2_config(settings.shape, settings.context, **tokens)


def read_config(source: str | Path, **changes: Any) -> PreTrainedConfig:
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(
            source, trust_remote_code=False, **changes
        )
    except (OSError, ValueError, KeyError) as error:
        said = str(error).partition("\n")[0]
        raise TrainingError(f"{source}: no model's configuration could be read: {said}") from error
    return config


def gpt2_config(shape: Shape, context: int, **tokens: Any) -> GPT2Config:
    return GPT2Config(
        **{
            "vocab_size": shape.vocabulary,
            "n_positions": context,
            "n_embd": shape.width,
            "n_layer": shape.layers,
            "n_head": shape.heads,
            **tokens,
        }
    )


def _base_dtype(settings: TrainingSettings) -> str:
    # A base that stays as it is needs no more precision than it is used with; weights that learn do
    return settings.dtype if settings.mode == "lora" else "float32"


def check_window(config: PreTrainedConfig, context: int) -> None:
    """Refuse rows that are longer than the model's positions.

    Raises:
        TrainingError: they are.
    """
    window = getattr(config.get_text_config(), "max_position_embeddings", None)
    if window is not None and context > window:
        raise TrainingError(
            f"Rows of {context:,} tokens are longer than the model's window of {window:,}. Set a shorter context."
        )


def with_adapter(model: PreTrainedModel, lora: Lora, base_name: str) -> PeftModel:
    """The model with a fresh adapter in it, which alone learns. The model itself is changed.

    Raises:
        TrainingError: it has no projection of a target's name.
    """
    layers = {
        name.rpartition(".")[2]: type(module)
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D)
    }
    if missing := [name for name in lora.targets if name not in layers]:
        raise TrainingError(
            f"The model has no {', '.join(missing)} to adapt; it has {', '.join(sorted(layers))}."
        )
    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=list(lora.targets),
        fan_in_fan_out=issubclass(layers[lora.targets[0]], Conv1D),
    )
    with quiet(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)  # the libraries' own matter
        adapted = get_peft_model(model, config)
    config.base_model_name_or_path = base_name  # in place of the folder's path on this machine
    assert isinstance(adapted, PeftModel)
    return adapted


def parameters(model: nn.Module) -> tuple[int, int]:
    """How many weights a model has, and how many of them learn."""
    every = list(model.parameters())
    return sum(p.numel() for p in every), sum(p.numel() for p in every if p.requires_grad)
