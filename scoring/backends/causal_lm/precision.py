"""float64 throughout: what architectures compute in float32 on purpose (norms, softmax, rotary angles) is done in float64.

For a model in float16 or bfloat16 that is a step up in precision, for one in float64 a step down. What stays in float32 are
tables of positions that an architecture makes when it is built and that cannot be made again (GPT-J's sinusoids).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

# Where float32 and float64 agree to this, one is the other's rounding
SAME = 1e-5


class NoFloat32(TorchFunctionMode):
    """Within it, float32 that is asked for by name becomes float64."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is Tensor.float:
            return args[0].double()
        args = [torch.float64 if value is torch.float32 else value for value in args]
        named = {
            name: torch.float64 if value is torch.float32 else value
            for name, value in (kwargs or {}).items()
        }
        return func(*args, **named)


def precisely(model: PreTrainedModel) -> AbstractContextManager[object]:
    """Within it, a float64 model computes in float64 alone; another computes as it does anyway."""
    return NoFloat32() if model.dtype is torch.float64 else nullcontext()


def make_precise(model: PreTrainedModel) -> None:
    """Ready a float64 model for `precisely`; another stays as it is."""
    if model.dtype is not torch.float64:
        return
    _rebuild_tables(model)
    if model._can_set_experts_implementation():
        model.set_experts_implementation("eager")  # the fused kernel for experts knows no float64


def _rebuild_tables(model: PreTrainedModel) -> None:
    """Rotary frequencies and the like, which a module makes from its configuration, anew in float64."""
    for module in model.modules():
        tables = {
            name: table
            for name, table in module.named_buffers(recurse=False)
            if name in module._non_persistent_buffers_set and table.is_floating_point()
        }
        if tables and hasattr(module, "config"):
            _rebuild(module, tables)


def _rebuild(module: nn.Module, tables: Mapping[str, Tensor]) -> None:
    try:
        with NoFloat32(), torch.random.fork_rng(devices=[]):
            again = dict(type(module)(module.config).named_buffers(recurse=False))
    except Exception:  # noqa: BLE001 (it takes more than its configuration: the table stays)
        return
    for name, table in tables.items():
        new = again.get(name)
        if new is None or new.dtype is not torch.float64 or new.shape != table.shape:
            continue
        new = new.to(table.device)
        if torch.allclose(new, table.double(), rtol=SAME, atol=0):
            setattr(module, name, new)
