"""A model in this process writes through its chat template; the demonstration model shows the plumbing."""

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.backends.generating import open_generator
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Message
from tests.scoring.tiny_models import save_gpt2

ASKED = (Message("system", "Be brief."), Message("user", "What did the cells do?"))
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"


def with_template(folder: Path, template: str) -> Path:
    save_gpt2(folder, n_positions=128)
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


def test_a_seed_gives_the_same_draws_and_another_seed_others(folder: Path) -> None:
    texts = [
        opened(folder, temperature="2", seed=seed, max_tokens="20").generate(ASKED).text
        for seed in ("1", "1", "2")
    ]
    assert texts[0] == texts[1] != texts[2]


def test_an_answer_that_meets_its_limit_is_said_to_be_cut_off(folder: Path) -> None:
    assert opened(folder, max_tokens="1").generate(ASKED).finish == Finish.LENGTH


def test_messages_that_do_not_fit_into_the_window_are_an_answer_and_no_crash(folder: Path) -> None:
    answer = opened(folder).generate([Message("user", "cells " * 400)])
    assert answer.finish == Finish.TOO_LONG
    assert "the model's window holds 128" in answer.detail


def test_a_template_without_a_turn_for_the_system_has_its_words_first(tmp_path: Path) -> None:
    generator = opened(with_template(tmp_path, NO_SYSTEM + TEMPLATE))
    one_turn = [Message("user", f"{ASKED[0].content}\n\n{ASKED[1].content}")]
    assert generator.prompt_ids(ASKED) == generator.prompt_ids(one_turn)


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="no chat template"):
        opened(save_gpt2(tmp_path))


def test_the_embedded_model_goes_through_the_plumbing() -> None:
    generator = open_generator("embedded", {"max_tokens": "8"})
    answer = generator.generate([Message("user", "The hippocampus " * 300)])
    assert answer.text.strip()
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= 8
    generator.close()
