import math
from typing import Any

import pytest

from scoring.training.settings import PRESETS, Lora, TrainingError, of_preset

# The table of shared/reference/BRAINGPT.md
SAME: dict[str, Any] = {
    "accumulation": 8,
    "devices": 4,
    "learning_rate": 2e-5,
    "weight_decay": 0.001,
    "schedule": "cosine",
    "warmup_share": 0.03,
    "dtype": "bfloat16",
    "packing": "joined",
}
TABLE: dict[str, dict[str, Any]] = {
    "braingpt-lora": {"mode": "lora", "context": 2048, "epochs": 2, "batch_rows": 1},
    "gpt2-neuro": {"mode": "scratch", "context": 1024, "epochs": 5, "batch_rows": 16},
    "gpt2-neuro-355m": {"mode": "scratch", "context": 1024, "epochs": 5, "batch_rows": 8},
    "gpt2-neuro-774m": {"mode": "scratch", "context": 1024, "epochs": 5, "batch_rows": 4},
}


@pytest.mark.parametrize("name", TABLE)
def test_a_preset_has_the_papers_numbers(name: str) -> None:
    settings = PRESETS[name]
    for field, value in (SAME | TABLE[name]).items():
        assert getattr(settings, field) == value, field


def test_the_papers_adapter_leaves_the_keys_alone() -> None:
    lora = PRESETS["braingpt-lora"].lora
    assert lora
    assert (lora.rank, lora.alpha, lora.dropout) == (256, 512, 0.1)
    assert sorted(lora.targets) == sorted(
        f"{n}_proj" for n in ("q", "v", "o", "gate", "up", "down")
    )
    assert PRESETS["braingpt-lora"].tokens_per_step == 65_536


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"clip_norm": -1.0}, "clip_norm"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"learning_rate": math.inf}, "learning_rate"),
        ({"epochs": math.nan}, "epochs"),
        ({"evaluations": 0}, "evaluations"),
        ({"seed": -1}, "seed"),
    ],
)
def test_numbers_that_no_training_can_have_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(TrainingError, match=f"^{word} must be"):
        of_preset("tiny", **changes)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ((0, 16, 0.1, ("c_attn",)), "rank"),
        ((8, 16, 2.0, ("c_attn",)), "dropout"),
        ((8, 16, 0.1, ()), "modules"),
    ],
)
def test_an_adapter_of_nothing_is_refused(values: Any, word: str) -> None:
    with pytest.raises(TrainingError, match=word):
        Lora(*values)
