from pathlib import Path

import pytest
from transformers import GPT2Config

from scoring.demo_lm import MODEL_FOLDER
from scoring.training.lm.estimate import count, estimate
from scoring.training.lm.models import Start
from scoring.training.lm.train import train
from scoring.training.settings import PRESETS, TrainingError, of_preset
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


def test_what_is_estimated_is_what_is_trained(tmp_path: Path) -> None:
    corpus = make_corpus(tmp_path / "corpus")
    start = Start(tokenizer=make_tokenizer_folder(corpus, tmp_path / "tokenizer"))
    settings = small(epochs=2, limit=20)
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


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"context": 1024}, "longer than the model's window of 512"),
        ({"lora": PRESETS["braingpt-lora"].lora}, "it has c_attn, c_fc, c_proj, lm_head"),
    ],
)
def test_settings_that_do_not_fit_the_model_are_refused_in_a_sentence(
    changes: dict[str, object], sentence: str
) -> None:
    with pytest.raises(TrainingError, match=sentence):
        estimate(small("lora", **changes), Start(pretrained=MODEL_FOLDER))
