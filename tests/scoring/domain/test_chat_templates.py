"""Chat templates are programs of strangers: one that does not end, or writes without end, is stopped."""

import resource
import threading
from typing import Any

import pytest
from jinja2 import TemplateError
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from scoring.domain import prompts
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import applied

TURNS = [{"role": "user", "content": "Rats slept."}]
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
RECURSING = "{% macro again(n) %}{{ again(n + 1) }}{% endmacro %}{{ again(0) }}"
STOPPED = [
    ENDLESS,
    "{{ 9 ** (9 ** 9) }}",  # one operation
    "{{ 'a' * 10**12 }}",
    "{% for a in range(10**9) %}{% for b in range(10**9) %}{% endfor %}{% endfor %}",
    RECURSING,
    "{% set x = 'x' * 1000000000 %}{{ x ~ x ~ x ~ x }}",
    "{% for a in range(99999) %}{{ 'x' * 1000000 }}{% endfor %}",
    "{{ range(99999) | map('string') | map('center', 100000) | join }}",
    "{{ 'x' * 20000000 }}",
]
GOOD = (
    "{{ bos_token }}{% for m in messages %}<{{ m.role }}>\n  {{ m.content | trim | tojson }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}{{ strftime_now('%d') | length }}"
)


def tokenizer_with(template: str) -> Any:
    rules = Tokenizer(WordLevel({"a": 0}, unk_token="a"))
    made = PreTrainedTokenizerFast(tokenizer_object=rules, unk_token="a", bos_token="<s>")
    made.chat_template = template
    made.name_or_path = "/models/tiny"
    return made


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompts, "SECONDS", 0.5)
    monkeypatch.setattr(prompts, "MEMORY", 300_000_000)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize("template", STOPPED)
def test_a_template_without_end_is_stopped_and_the_folder_named(template: str) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(ScoringError, match="chat template of /models/tiny"):
        applied(tokenizer_with(template), TURNS)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_one_is_written_as_the_library_writes_it_after_another_was_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prompts, "SECONDS", 0.1)
    with pytest.raises(ScoringError):
        applied(tokenizer_with("{{ 9 ** (9 ** 9) }}"), TURNS)
    monkeypatch.undo()
    tokenizer = tokenizer_with(GOOD)
    for words in ("Rats slept.", " Ätsch \ud83d\x00\u2028 “so” 👩‍🔬\r\n"):
        turns = [{"role": "user", "content": words}]
        for how in ({}, {"add_generation_prompt": True}):
            expected = tokenizer.apply_chat_template(turns, tokenize=False, **how)
            assert applied(tokenizer, turns, **how) == expected


def test_threads_are_answered_each_its_own() -> None:
    said: dict[str, str] = {}

    def ask(words: str) -> None:
        said[words] = applied(tokenizer_with("{{ messages[0].content }}"), [{"content": words}])

    threads = [threading.Thread(target=ask, args=(f"Rat {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert said == {f"Rat {n}": f"Rat {n}" for n in range(8)}


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("{{ raise_exception('No system turn.') }}", TemplateError),
        ("{{ messages.role", TemplateError),
        ("{{ 1 + 'a' }}", TypeError),
        ("{{ '%z' % 1 }}", ValueError),
        ("{{ 1 / 0 }}", ScoringError),
    ],
)
def test_what_a_template_refuses_is_raised_here(template: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        applied(tokenizer_with(template), TURNS)
