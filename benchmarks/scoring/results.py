"""What the benchmark of scoring finds. Loads no torch."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Growth:
    """What so many items cost; `cpu_ratio_with_probe` takes the other methods at their speed with the timed items."""

    items: int
    distinct_tokens: int
    cpu_s: float
    wall_s: float
    cpu_ms_per_token: float
    cpu_ratio_with_probe: dict[str, float]


@dataclass(frozen=True)
class Flops:
    """Operations a second in the weights' matrix products, and in a large product of the same run; `share` of it."""

    achieved_per_wall_s: float
    matrix_product_per_wall_s: float
    share: float
    share_cpu: float


@dataclass(frozen=True)
class Large:
    """A large random model on a GPU; `share` of a large matrix product's speed."""

    config: str
    dtype: str
    strategy: str
    items_per_s: float
    share: float


@dataclass(frozen=True)
class PeakMemory:
    """MiB above the weights; None where the system does not say."""

    ours: float | None
    published: float | None


@dataclass(frozen=True)
class Comparison:
    """All figures of the benchmark; `*_s` and `*_ratio*` by method, a ratio is the method's time over ours.

    probe_items: what trying the strategies out costs, in items that are scored. gpu: None where there is none.
    """

    items: int
    strategy: str
    refused: dict[str, str]
    head: str
    tokens: int
    distinct_tokens: int
    cpu_s: dict[str, float]
    wall_s: dict[str, float]
    cpu_ratio: dict[str, float]
    cpu_ratio_with_probe: dict[str, float]
    probe_cpu_s: float
    probe_items: float
    cpu_ratio_rounds: dict[str, list[float]]
    wall_ratio: dict[str, float]
    lm_eval_batch: int | None
    tokens_per_s: float
    max_rel_error: float
    decisions_changed: int
    max_rel_error_float64: float
    flops: Flops
    linear: list[Growth]
    peak_mb: PeakMemory | None
    gpu: list[Large] | None
