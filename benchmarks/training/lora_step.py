"""One step of BrainGPT's adapter on random weights: speed beside a large matrix product's, and memory. Learns nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from transformers import AutoModelForCausalLM, MistralConfig

from benchmarks.scoring.gpu import n_weights
from benchmarks.scoring.measuring import matrix_product_flops
from scoring.backends.causal_lm.loading import quiet
from scoring.training.lm.estimate import MISTRAL_7B, measure
from scoring.training.lm.models import parameters, with_adapter
from scoring.training.settings import Lora, TrainingSettings, of_preset

# For a machine without a GPU: the same layers, small
SMALL = MistralConfig(
    vocab_size=4096,
    hidden_size=256,
    intermediate_size=896,
    num_hidden_layers=4,
    num_attention_heads=8,
    num_key_value_heads=2,
)
BRAINGPT = of_preset("braingpt-lora")


@dataclass(frozen=True)
class Step:
    """One row, forward and backward, and a step of the optimiser.

    flop_share: of the device's speed at a large matrix product of the same type. Counted are 4 operations a token for each frozen
    weight of a projection (forward, and the gradient with respect to its input) and 6 for one that learns; attention's own
    products and what checkpointing computes again are not.
    """

    gradient_checkpointing: bool
    step_s: float
    tokens_per_s: float
    flop_share: float
    activation_bytes: int
    peak_bytes: int | None  # a CPU does not tell


@dataclass(frozen=True)
class Steps:
    device: str
    dtype: str
    context: int
    parameters: int
    trainable_parameters: int
    matrix_product_flops: float  # a second
    steps: tuple[Step, ...]


def bench(tick: Callable[[], None]) -> Steps:
    """Mistral-7B's shape with the paper's adapter in bfloat16 on a GPU; a small shape in float32 on a CPU."""
    is_cuda = torch.cuda.is_available()
    device = torch.device("cuda" if is_cuda else "cpu")
    config, settings = (MISTRAL_7B, BRAINGPT) if is_cuda else (SMALL, _small(BRAINGPT))
    dtype = torch.bfloat16 if is_cuda else torch.float32
    product, _ = matrix_product_flops(device, dtype)
    tick()
    steps = tuple(_steps(settings, config, device, dtype, product, tick))
    with torch.device("meta"), quiet():
        total, trainable = parameters(_model(settings, config, dtype))
    name = torch.cuda.get_device_name(device) if is_cuda else "CPU"
    return Steps(name, settings.dtype, settings.context, total, trainable, product, steps)


def _small(settings: TrainingSettings) -> TrainingSettings:
    assert settings.lora is not None
    lora: Lora = replace(settings.lora, rank=16, alpha=32)
    return replace(settings, context=256, dtype="float32", lora=lora)


def _model(settings: TrainingSettings, config: MistralConfig, dtype: torch.dtype) -> torch.nn.Module:  # fmt: skip
    assert settings.lora is not None
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)  # type: ignore[no-untyped-call]
    return with_adapter(model, settings.lora, "")


def _steps(
    settings: TrainingSettings,
    config: MistralConfig,
    device: torch.device,
    dtype: torch.dtype,
    product: float,
    tick: Callable[[], None],
) -> Iterator[Step]:
    for checkpointing in (False, True):
        with device, quiet():
            model = _model(settings, config, dtype)
        _, trainable = parameters(model)
        flop_per_token = 4 * n_weights(model) + 2 * trainable  # type: ignore[arg-type]
        found = measure(replace(settings, gradient_checkpointing=checkpointing), model)
        del model
        step_s = found.batch_s + found.optimizer_s
        tokens_per_s = settings.batch_rows * settings.context / step_s
        yield Step(
            checkpointing,
            step_s,
            tokens_per_s,
            tokens_per_s * flop_per_token / product,
            found.activation_bytes,
            found.peak_bytes,
        )
        tick()
