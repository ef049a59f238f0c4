"""float64 throughout: what architectures compute in float32 on purpose (norms, softmax, rotary angles) is done in float64.

For a model in float16 or bfloat16 that is a step up in precision, for one in float64 a step down. What stays in float32 are
tables of positions that an architecture makes when it is built and that cannot be made again (GPT-J's sinusoids).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import pi, sqrt
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel
from transformers.activations import NewGELUActivation

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
    # Rotary frequencies and the like, which a module makes from its configuration, anew in float64
    for module in model.modules():
        tables = {
            name: table
            for name, table in module.named_buffers(recurse=False)
            if name in module._non_persistent_buffers_set and table.is_floating_point()
        }
        if not tables or not hasattr(module, "config"):
            continue
        try:
            with NoFloat32(), torch.random.fork_rng(devices=[]):
                again = dict(type(module)(module.config).named_buffers(recurse=False))
        except Exception:  # noqa: BLE001, S112 (it takes more than its configuration: the table stays)
            continue
        for name, table in tables.items():
            new = again.get(name)
            if new is None or new.dtype is not torch.float64 or new.shape != table.shape:
                continue
            new = new.to(table.device)
            if torch.allclose(new, table.double(), rtol=SAME, atol=0):
                setattr(module, name, new)
    if model._can_set_experts_implementation():
        model.set_experts_implementation("eager")  # the fused kernel for experts knows no float64


ROWS = 32  # at a time: few enough to stay in a core's cache
INNER, CUBE = 2 * sqrt(2 / pi), 0.044715


class QuickTanhGELU(nn.Module):
    """gelu(x) = x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, which is x sigmoid(x w) with w = 2 sqrt(2/pi) (1 + 0.044715 x^2).

    Written as silu(x w) / w, in place and a few rows at a time, it takes a third of the time of PyTorch's own kernel on
    a CPU. In half precision x^2 may overflow: there, and on other devices, PyTorch's kernel is used.
    """

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
            return functional.gelu(x, approximate="tanh")
        rows = x.view(-1, x.shape[-1])  # (B T, D); the layer before made it for us alone
        inner = torch.tensor(INNER, dtype=x.dtype)
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            w = torch.addcmul(inner, part, part, value=INNER * CUBE)
            functional.silu(part.mul_(w), inplace=True).div_(w)
        return x


@contextmanager
def fused_gelu(model: PreTrainedModel) -> Iterator[None]:
    """Within it, the model's GPT-2 activations are the quick ones; afterwards as they were."""
    places = [
        (module, name)
        for module in model.modules()
        for name, child in module.named_children()
        if type(child) is NewGELUActivation
    ]
    before = [getattr(module, name) for module, name in places]
    quick = QuickTanhGELU()
    for module, name in places:
        setattr(module, name, quick)
    try:
        yield
    finally:
        for (module, name), activation in zip(places, before, strict=True):
            setattr(module, name, activation)
