"""Prompts around a text, and a tokenizer's chat template within its bounds."""

import re
import resource
from typing import Any

import pytest
from jinja2 import TemplateError
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast

from scoring.domain import prompts
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import (
    KINDS,
    MOST_PLACES,
    PAPER_SENTENCE,
    PLACEHOLDER,
    Prompt,
    PromptError,
    applied,
    filled,
)
from tests.conftest import ROOT


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "custom"])
def test_a_prompt_is_rebuilt_from_its_kind_and_stored_template(kind):
    prompt = Prompt.of(kind, sentence="You are a chemist. Read:")
    assert Prompt(prompt.kind, prompt.template) == prompt
    assert Prompt(kind) == Prompt.of(kind)


def test_the_papers_prompt_is_its_sentence_a_space_and_the_text():
    assert PAPER_SENTENCE == (
        "You are a neuroscientist with deep knowledge in neuroscience. "
        "Here is an abstract from a neuroscience publication:"
    )
    for kind in ("paper", "clean"):
        assert Prompt.of(kind).fill("Rats slept.\n") == f"{PAPER_SENTENCE} Rats slept."
    assert Prompt.of("none").fill(" Rats slept.\n") == "Rats slept."


def test_a_custom_text_keeps_its_own_whitespace_and_loses_what_follows_the_text():
    prompt = Prompt.of("custom", f"\n\nRead:\n{PLACEHOLDER}\nDone.")
    assert prompt.fill("Rats slept. ") == "\n\nRead:\nRats slept."
    assert prompt.place("Rats slept.") == ("\n\nRead:\nRats slept.", 8)
    # A text that holds the placeholder is left as it is
    assert prompt.fill(f"a {PLACEHOLDER} b") == f"\n\nRead:\na {PLACEHOLDER} b"


def test_a_chat_has_a_system_turn_only_where_there_is_a_sentence_for_it():
    assert [turn["role"] for turn in Prompt.of("chat").turns("x")] == [
        "system",
        "user",
        "assistant",
    ]
    turns = Prompt.of("chat", sentence="Read this:").turns("Rats: slept.\nuser: me")
    assert turns == [
        {"role": "user", "content": "Read this:"},
        {"role": "assistant", "content": "Rats: slept.\nuser: me"},
    ]


@pytest.mark.parametrize(
    ("kind", "template", "message"),
    [
        ("sung", "", "“sung” is not a prompt"),
        ("custom", "", "or give a text that contains"),
        ("custom", "Read:", "“Read:” is not a prompt. Choose from none, paper, clean, chat"),
        ("custom", f"{PLACEHOLDER} {PLACEHOLDER}", "2 times"),
        ("clean", "Read:", "0 times"),
        ("chat", f"Read: {PLACEHOLDER}", "a line “system: …”"),
        ("chat", f"assistant: {PLACEHOLDER}\nuser: Thanks.", "ends with"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(kind, template, message):
    with pytest.raises(PromptError, match=message):
        Prompt(kind, template)


def test_prompts_that_do_not_go_together_are_refused():
    with pytest.raises(PromptError, match="only used with the prompt “custom”"):
        Prompt.of("paper", f"Read: {PLACEHOLDER}")
    with pytest.raises(PromptError, match="the model's own template"):
        Prompt.of("chat").fill("Rats slept.")


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
def test_errors_of_a_template_are_raised(template: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        applied(tokenizer_with(template), TURNS)


def test_a_place_stands_a_few_times_in_instructions_and_is_filled_once() -> None:
    assert filled("{a} {b} " * MOST_PLACES, a="{b}", b="x") == "{b} x " * MOST_PLACES
    with pytest.raises(ScoringError, match="contain it 6 times"):
        filled("{a}" * (MOST_PLACES + 1), a="x")


def test_nothing_fills_a_place_in_a_models_instructions_without_this_bound() -> None:
    """A replacement elsewhere could make megabytes of a form."""
    found = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "scoring").rglob("*.py")
        if re.search(r"replace\(\s*(f?\"\{|PLACE|FIELD|VERSIONS)", path.read_text())
    }
    # Once, since told() refuses any other number
    assert found == {"scoring/services/choosing/prompts.py"}
