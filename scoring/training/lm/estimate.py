"""An estimate of a training before it is begun: weights and memory computed, a batch measured. Trains nothing, reads no weights.

Shapes are counted on torch's meta device, which holds none, and a batch is timed with some at random. Memory is that of one device that holds the whole
model: DeepSpeed and FSDP need less.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM, MistralConfig, PreTrainedConfig

from scoring.backends.causal_lm.loading import quiet
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.lm.models import (
    Start,
    check_window,
    parameters,
    read_config,
    scratch_config,
    shape_of,
    tokenizer_of,
    with_adapter,
)
from scoring.training.lm.packing import pack, rows_of
from scoring.training.lm.trainer import plan_of
from scoring.training.settings import TrainingSettings


@dataclass(frozen=True, slots=True)
class Measured:
    """One batch on one device."""

    device: str
    forward_s: float
    batch_s: float  # forward and backward
    optimizer_s: float
    activation_bytes: int  # kept from the forward pass for the backward pass
    peak_bytes: int | None  # of everything; a CPU does not tell


def measure(settings: TrainingSettings, model: Any) -> Measured:
    """Time a batch and a step of the optimiser, after one that warms up; the weights stay as they are."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device).train()
    if settings.gradient_checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": False})
    learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=0.0, weight_decay=0.0)
    vocabulary = model.get_input_embeddings().num_embeddings
    ids = torch.randint(vocabulary, (settings.batch_rows, settings.context), device=device)

    def forward() -> Tensor:
        with torch.autocast(device.type, torch.bfloat16, settings.dtype == "bfloat16"):
            loss: Tensor = model(input_ids=ids, labels=ids, use_cache=False).loss
        return loss

    def learn() -> None:
        forward().backward()

    loss, activation_bytes = _kept(model, forward)
    loss.backward()
    optimizer.step()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    batch_s, optimizer_s = _timed(learn, device), _timed(optimizer.step, device)
    with torch.no_grad():
        forward_s = _timed(forward, device)
    is_cuda = device.type == "cuda"
    return Measured(
        device=torch.cuda.get_device_name(device) if is_cuda else "CPU",
        forward_s=forward_s,
        batch_s=batch_s,
        optimizer_s=optimizer_s,
        activation_bytes=activation_bytes,
        peak_bytes=torch.cuda.max_memory_allocated(device) if is_cuda else None,
    )


def _timed(work: Callable[[], object], device: torch.device) -> float:
    """Seconds, until the device has done it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    begun = perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return perf_counter() - begun


def _kept(model: nn.Module, forward: Callable[[], Tensor]) -> tuple[Tensor, int]:
    """The loss, and the bytes that the backward pass finds again, each storage once; weights are not among them."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = forward()
    return loss, sum(kept.values())


# The model that BrainGPT's adapter was made for
MISTRAL_7B = MistralConfig(
    vocab_size=32000,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    max_position_embeddings=32768,
)
ADAM_BYTES = 8  # of a weight that learns: two moments in float32
FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on each device, computed; activations are measured, and stay out where nothing was."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer


@dataclass(frozen=True, slots=True)
class Amount:
    """The amount of text that the corpus gives, counted."""

    documents: int
    rows: int
    tokens_left_out: int
    held_out_tokens: int
    steps: int
    warmup_steps: int
    tokens: int  # over all epochs


@dataclass(frozen=True, slots=True)
class Estimate:
    parameters: int
    trainable_parameters: int
    memory: Memory
    amount: Amount | None  # None: without a corpus, or without a tokenizer
    measured: Measured | None  # None: without a model, or where it does not fit here
    step_s: float | None  # on as many devices like this one as the settings name
    tokens_per_s: float | None
    hours: float | None


def estimate(
    settings: TrainingSettings,
    start: Start,
    corpus: BuiltCorpus | None = None,
    check: Callable[[], None] = lambda: None,
) -> Estimate:
    """Count what can be counted, and measure a batch where a model is named and fits into this machine's memory.

    Raises:
        TrainingError: the training could not begin with these settings.
    """
    total, trainable = count(settings, start)
    memory = memory_of(settings, total, trainable)
    has_start = start.tokenizer is not None or start.pretrained is not None
    tokenizer = tokenizer_of(settings, start) if has_start else None
    amount = held_out_rows = None
    if corpus is not None and tokenizer is not None:
        packed = pack(corpus, tokenizer, settings.packing, settings.limit, check)
        rows, held_out = rows_of(packed, settings.context)
        plan = plan_of(settings, len(rows))
        amount = Amount(
            documents=packed.train.documents,
            rows=len(rows),
            tokens_left_out=rows.remainder,
            held_out_tokens=packed.held_out.tokens,
            steps=plan.steps,
            warmup_steps=math.ceil(plan.steps * settings.warmup_share),
            tokens=plan.tokens(plan.steps),
        )
        held_out_rows = len(held_out)
    measured = step_s = hours = None
    free = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if torch.cuda.is_available():
        free = int(torch.cuda.mem_get_info()[0])
    if tokenizer is not None and memory.total < free:
        with quiet():
            measured = measure(settings, shape_of(settings, start, tokenizer))
        step_s = settings.accumulation * measured.batch_s + measured.optimizer_s
    if measured and step_s and amount and held_out_rows:
        batches = math.ceil(held_out_rows / settings.batch_rows / settings.devices)
        measuring_s = (1 + settings.evaluations) * batches * measured.forward_s
        hours = (amount.steps * step_s + measuring_s) / 3600
    return Estimate(
        parameters=total,
        trainable_parameters=trainable,
        memory=memory,
        amount=amount,
        measured=measured,
        step_s=step_s,
        tokens_per_s=settings.tokens_per_step / step_s if step_s else None,
        hours=hours,
    )


def count(settings: TrainingSettings, start: Start) -> tuple[int, int]:
    """How many weights the model has, and how many of them learn, without its weights.

    Where no model is named, an adapter is counted for Mistral-7B, which the preset was made for.

    Raises:
        TrainingError: there is no such model, or the settings do not fit it.
    """
    config: PreTrainedConfig = MISTRAL_7B
    if settings.mode == "scratch":
        needs_tokenizer = start.config is None and start.tokenizer is not None
        tokenizer = tokenizer_of(settings, start) if needs_tokenizer else None
        config = scratch_config(settings, start.config, tokenizer)
    elif start.pretrained is not None:
        config = read_config(start.pretrained, revision=start.revision)
    check_window(config, settings.context)
    with torch.device("meta"), quiet():
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
        return parameters(with_adapter(model, settings.lora, "") if settings.lora else model)


def memory_of(settings: TrainingSettings, total: int, trainable: int) -> Memory:
    """Frozen weights take what their type takes; weights that learn, their gradients and moments are float32."""
    frozen_bytes = 2 if settings.dtype == "bfloat16" else FLOAT_BYTES
    return Memory(
        weights=(total - trainable) * frozen_bytes + trainable * FLOAT_BYTES,
        gradients=trainable * FLOAT_BYTES,
        optimizer=trainable * ADAM_BYTES,
    )
