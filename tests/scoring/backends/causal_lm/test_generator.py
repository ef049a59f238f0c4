"""A model in this process writes through its chat template; the demonstration model shows the plumbing."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import decoders
from transformers import AutoTokenizer, LlamaConfig

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.backends.opening import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Message
from tests.scoring.tiny_models import save_gpt2, save_random

ASKED = (Message("system", "Be brief."), Message("user", "What did the cells do?"))
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"


def with_template(folder: Path, template: str) -> Path:
    return templated(save_gpt2(folder, n_positions=128), template)


def templated(folder: Path, template: str) -> Path:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_template(tmp_path_factory.mktemp("chat"), TEMPLATE)


def opened(folder: Path, **args: str) -> TransformersGenerator:
    return TransformersGenerator({"pretrained": str(folder), "device": "cpu", **args})


def test_the_greedy_answer_is_the_same_each_time_and_counts_its_tokens(folder: Path) -> None:
    generator = opened(folder, max_tokens="12")
    once, again = generator.generate(ASKED), generator.generate(ASKED)
    assert once.text == again.text != ""
    assert once.usage is not None
    assert once.usage.prompt_tokens == len(generator.prompt_ids(ASKED))
    assert once.usage.completion_tokens <= 12
    assert generator.identity()["max_tokens"] == 12


def test_its_identity_says_all_that_a_scored_models_says_of_weights_and_tokenizer(
    folder: Path, tmp_path: Path
) -> None:
    identity = opened(folder).identity()
    scored = TransformersBackend({"pretrained": str(folder), "device": "cpu"})._described()
    assert identity.items() >= scored.items()
    assert identity["kernels"] == {}
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    other = opened(templated(copy, TEMPLATE + " "), max_tokens="12").identity()
    assert other["weights_sha256"] == identity["weights_sha256"]
    assert other["tokenizer_sha256"] != identity["tokenizer_sha256"]


def test_a_seed_gives_the_same_draws_and_another_seed_others(folder: Path) -> None:
    texts = [
        opened(folder, temperature="2", seed=seed, max_tokens="20").generate(ASKED).text
        for seed in ("1", "1", "2")
    ]
    assert texts[0] == texts[1] != texts[2]


def test_messages_that_do_not_fit_into_the_window_are_an_answer_and_no_crash(folder: Path) -> None:
    answer = opened(folder).generate([Message("user", "cells " * 400)])
    assert answer.finish == Finish.TOO_LONG
    assert "the model's window has 128" in answer.detail


def test_a_template_without_a_turn_for_the_system_has_its_words_first(tmp_path: Path) -> None:
    generator = opened(with_template(tmp_path, NO_SYSTEM + TEMPLATE))
    one_turn = [Message("user", f"{ASKED[0].content}\n\n{ASKED[1].content}")]
    assert generator.prompt_ids(ASKED) == generator.prompt_ids(one_turn)


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="not have a chat template"):
        opened(save_gpt2(tmp_path))


THINKS = "{% for m in messages %}{{ m.content }}\n{% endfor %}{% if enable_thinking is not defined or enable_thinking %}<think>\n{% endif %}"


@pytest.fixture(scope="module")
def thinker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer has tags of its own, which are special, and whose template opens the thought."""
    folder = save_gpt2(tmp_path_factory.mktemp("thinker"), n_positions=128, vocab_size=500)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<think>", "</think>", "<|out|>", "<|end|>"]}
    )
    tokenizer.backend_tokenizer.decoder = decoders.ByteLevel()
    tokenizer.chat_template = THINKS
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("written", "args", "text", "finish", "thought"),
    [
        ("Cells?</think>\nRats.<|end|>", {}, "Rats.", "stop", "Cells?"),
        ("Cells?", {}, "", "thinking", "Cells?"),
        ("Rats.", {"enable_thinking": "False"}, "Rats.", "length", ""),
        ("Cells?<|out|>Rats.", {"think_end_token": "<|out|>"}, "Rats.", "length", "Cells?"),
        ("Cells?<|out|>Rats.<|end|>", {"think_end_token": "NUMBER"}, "Rats.", "stop", "Cells?"),
        ("Cells?</think>Rats.<|out|>", {}, "Rats.", "length", "Cells?"),
    ],
)  # fmt: skip
def test_a_thought_is_no_part_of_the_answer_though_its_tags_are_special_tokens(
    thinker: Path,
    monkeypatch: pytest.MonkeyPatch,
    written: str,
    args: dict[str, str],
    text: str,
    finish: str,
    thought: str,
) -> None:
    number = AutoTokenizer.from_pretrained(thinker).convert_tokens_to_ids("<|out|>")
    args = {name: value.replace("NUMBER", str(number)) for name, value in args.items()}
    generator = opened(thinker, **args)
    ids = generator.tokenizer(written)["input_ids"]
    end = generator.tokenizer.convert_tokens_to_ids("<|end|>")
    generator.model.generation_config.eos_token_id = end
    monkeypatch.setattr(generator, "_written_many", lambda prompts, *_: [ids] * len(prompts))
    answer = generator.generate([ASKED[1]])
    assert (answer.text, answer.finish, answer.thought) == (text, finish, thought)


LENGTHS = (1, 30, 4, 18, 2, 9, 25, 12, 60, 3)


def llama(folder: Path) -> Path:
    config = LlamaConfig(
        vocab_size=400, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    save_random(folder, config)
    return templated(folder, TEMPLATE)


@pytest.fixture(scope="module", params=["learned", "rotary"])
def generator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TransformersGenerator:
    """The generator of a model that knows positions in this way."""
    made = tmp_path_factory.mktemp(request.param)
    chosen = with_template(made, TEMPLATE) if request.param == "learned" else llama(made)
    generator = opened(chosen, dtype="float32", max_tokens="40", batch_size="4")
    # Ends that answers meet now and then
    generator.model.generation_config.eos_token_id = list(range(0, 400, 17))
    return generator


class TestABatch:
    def test_has_the_answers_that_each_question_has_alone(
        self, generator: TransformersGenerator
    ) -> None:
        asked = [[Message("user", f"Is it {n}? " + "cells " * n)] for n in LENGTHS]
        many = generator.generate_many(asked)
        alone = [generator.generate(messages) for messages in asked]
        assert [(a.text, a.finish, a.usage) for a in many] == [
            (a.text, a.finish, a.usage) for a in alone
        ]
        assert {a.finish for a in many} >= {Finish.STOP, Finish.LENGTH}
        assert len({a.text for a in many}) > len(LENGTHS) / 2
        rooms = [generator._room(generator.prompt_ids(messages)) for messages in asked]
        assert min(rooms) < max(rooms), "one is near the window's end"

    def test_leaves_out_what_does_not_fit_and_answers_the_others(
        self, generator: TransformersGenerator
    ) -> None:
        asked = [ASKED, [Message("user", "cells " * 400)], ASKED]
        first, second, third = generator.generate_many(asked)
        assert second.finish == Finish.TOO_LONG
        assert first.text == third.text != ""

    def test_becomes_smaller_where_memory_runs_out(
        self, generator: TransformersGenerator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, sizes = generator._written, list[int]()

        def small(prompts: Any, *how: int) -> Any:
            sizes.append(len(prompts))
            if len(prompts) > 1:
                raise torch.OutOfMemoryError
            return write(prompts, *how)

        monkeypatch.setattr(generator, "_written", small)
        monkeypatch.setattr(generator, "batch", 4)
        alone = generator.generate(ASKED)
        sizes.clear()
        assert [a.text for a in generator.generate_many([ASKED] * 4)] == [alone.text] * 4
        assert sizes == [4, 2, 1, 1, 1, 1]


def test_the_embedded_model_goes_through_the_plumbing() -> None:
    generator = open_generator("embedded", {"max_tokens": "8"})
    answer = generator.generate([Message("user", "The hippocampus " * 300)])
    assert answer.text.strip()
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= 8
    generator.close()
