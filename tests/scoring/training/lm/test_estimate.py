"""The estimate of a training's time and memory, and the presets' numbers."""

import math
from pathlib import Path
from typing import Any

import pytest
from transformers import GPT2Config

from scoring.demo_lm import MODEL_FOLDER
from scoring.training.lm.estimate import count, estimate
from scoring.training.lm.models import Start
from scoring.training.lm.train import train
from scoring.training.settings import PRESETS, Mode, TrainingError, of_preset
from tests.scoring.training.lm.made import make_corpus, make_tokenizer_folder, small

GPT2_SIZES = {  # as their configurations on the Hub say, with the head's matrix that of the words
    "gpt2-neuro": 124_439_808,
    "gpt2-neuro-355m": 354_823_168,
    "gpt2-neuro-774m": 774_030_080,
}


def test_braingpts_adapter_has_as_many_weights_as_were_published() -> None:
    total, trainable = count(PRESETS["braingpt-lora"], Start())
    assert trainable == 629_145_600
    assert total - trainable == 7_241_732_096  # Mistral-7B-v0.1


@pytest.mark.parametrize("preset", GPT2_SIZES)
def test_models_from_scratch_have_gpt2s_sizes(preset: str) -> None:
    assert count(PRESETS[preset], Start()) == (GPT2_SIZES[preset],) * 2


def test_the_estimate_agrees_with_the_training(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    start = Start(tokenizer=make_tokenizer_folder(corpus, tmp_path / "tokenizer"))
    settings = small(epochs=2)
    told = estimate(settings, start, corpus)
    trained = train(settings, corpus, start, tmp_path / "on", tmp_path / "model")

    assert told.amount
    assert (told.amount.steps, told.amount.tokens) == (trained.steps, trained.tokens)
    assert (told.amount.rows, told.amount.tokens_left_out) == (
        trained.rows,
        trained.tokens_left_out,
    )
    assert told.parameters == told.trainable_parameters == trained.trainable_parameters
    assert told.memory.total == 16 * told.parameters
    assert told.measured
    assert told.measured.forward_s > 0
    assert told.step_s == 2 * told.measured.batch_s + told.measured.optimizer_s
    assert told.hours
    assert told.hours > told.amount.steps * told.step_s / 3600


def test_a_model_too_large_for_this_machine_is_counted_and_not_measured(tmp_path: Path) -> None:
    huge = GPT2Config(n_layer=200, n_embd=16384, n_head=128, vocab_size=3072)
    huge.save_pretrained(tmp_path)
    told = estimate(of_preset("tiny", "full"), Start(pretrained=tmp_path, tokenizer=MODEL_FOLDER))
    assert told.memory.total > 1e13
    assert (told.measured, told.hours) == (None, None)


@pytest.mark.parametrize("mode", ["lora", "full"])
def test_configuration_and_tokenizer_are_enough(mode: Mode, tmp_path: Path) -> None:
    for file in MODEL_FOLDER.glob("*.json"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    told, of_whole = (
        estimate(of_preset("tiny", mode), Start(pretrained=folder))
        for folder in (tmp_path, MODEL_FOLDER)
    )
    assert (told.parameters, told.trainable_parameters, told.memory) == (
        of_whole.parameters,
        of_whole.trainable_parameters,
        of_whole.memory,
    )
    assert told.measured
    assert told.step_s


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
    [({"clip_norm": -1.0}, "clip_norm"), ({"epochs": math.nan}, "epochs"), ({"seed": -1}, "seed")],
)
def test_numbers_that_no_training_can_have_are_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(TrainingError, match=f"^{word} must be"):
        of_preset("tiny", **changes)
