import pytest

from scoring.domain.prompts import KINDS, PAPER_SENTENCE, PLACEHOLDER, Prompt, PromptError


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


def test_a_text_that_holds_the_placeholder_is_left_as_it_is():
    assert Prompt.of("custom", f"Read: {PLACEHOLDER}").fill(f"a {PLACEHOLDER} b") == (
        f"Read: a {PLACEHOLDER} b"
    )


def test_only_the_papers_prompt_counts_itself():
    assert [kind for kind in KINDS if kind != "custom" and Prompt.of(kind).counts_itself] == [
        "paper"
    ]


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
        ("sung", "", "there is no prompt “sung”"),
        ("custom", "", "or give a text that says once"),
        ("custom", "Read:", "“Read:” is no prompt: choose none, paper, clean, chat"),
        ("custom", f"{PLACEHOLDER} {PLACEHOLDER}", "2 times"),
        ("clean", "Read:", "0 times"),
        ("chat", f"Read: {PLACEHOLDER}", "a line “system: …”"),
        ("chat", f"assistant: {PLACEHOLDER}\nuser: Thanks.", "ends with"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(kind, template, message):
    with pytest.raises(PromptError, match=message):
        Prompt(kind, template)


def test_a_custom_text_goes_with_no_other_prompt():
    with pytest.raises(PromptError, match="goes with the prompt “custom”"):
        Prompt.of("paper", f"Read: {PLACEHOLDER}")
    with pytest.raises(PromptError, match="there is no prompt “sung”"):
        Prompt.of("sung")


def test_a_chat_has_no_string_of_its_own():
    with pytest.raises(PromptError, match="the model's own template"):
        Prompt.of("chat").fill("Rats slept.")
