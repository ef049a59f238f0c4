"""Measures one batch of random tokens on this machine. Learns nothing, and knows no corpus."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn

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
        forward().backward()  # type: ignore[no-untyped-call]

    loss, activation_bytes = _kept(model, forward)
    loss.backward()  # type: ignore[no-untyped-call]
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
