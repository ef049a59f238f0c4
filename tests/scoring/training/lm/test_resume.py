import random
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from lib.files import sha256_of
from scoring.demo_lm import MODEL_FOLDER
from scoring.training.lm.models import Start
from scoring.training.settings import Mode
from tests.scoring.training.lm.killed import MOMENTS, Asked, moments_of, run
from tests.scoring.training.lm.made import make_corpus, make_tokenizer_folder, small

WEIGHTS: dict[Mode, str] = {"lora": "adapter_model.safetensors", "scratch": "model.safetensors"}

LIMITS: dict[Mode, tuple[int, int]] = {"lora": (2, 26), "scratch": (1, 10)}


@pytest.mark.parametrize(
    ("mode", "seed"),
    [
        pytest.param(mode, seed, marks=[pytest.mark.sweep] if seed else [])
        for mode in WEIGHTS
        for seed in range(5)
    ],
)
def test_a_training_killed_at_three_moments_ends_with_the_same_weights_bit_by_bit(
    mode: Mode, seed: int, tmp_path: Path
) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    start = (
        Start(pretrained=MODEL_FOLDER)
        if mode == "lora"
        else Start(tokenizer=make_tokenizer_folder(corpus, tmp_path / "tokenizer"))
    )
    # The last step of each of the two epochs has fewer rows than the others: 6 steps, and in the sweep 60, of which 50 are saved
    few, many = LIMITS[mode]
    settings = small(mode, epochs=2, limit=many if seed else few)
    whole = Asked(settings, corpus.folder, start, tmp_path / "whole", tmp_path / "model")
    assert run(whole) == 0
    seen = moments_of(whole)

    rng = random.Random(seed)
    killed = replace(whole, folder=tmp_path / "killed", output=tmp_path / "again")
    for moment in rng.sample(MOMENTS, 3):
        # Of those that are left, which are fewer after each kill
        number = rng.randint(1, max(1, seen[moment] // 3))
        assert run(killed, moment, number) == -signal.SIGKILL, (moment, number)
        assert not killed.output.exists()
    assert run(killed) == 0
    assert sha256_of(killed.output / WEIGHTS[mode]) == sha256_of(whole.output / WEIGHTS[mode])
    assert _last(killed, WEIGHTS[mode]) == _last(whole, WEIGHTS[mode])
    assert not [p for p in killed.folder.iterdir() if p.name.startswith(".")]


def _last(asked: Asked, weights: str) -> tuple[str, str]:
    """The last step and the hash of its weights, the best or not."""
    folder = max(asked.folder.glob("step-*"))
    return folder.name, sha256_of(folder / weights)
