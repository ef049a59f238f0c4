"""A model's thoughts are no part of its answer, however they are marked."""

import pytest

from scoring.domain.generating import Finish
from scoring.domain.grading.reading import read_points
from scoring.domain.grading.rubric import BIOSCORE
from scoring.domain.thinking import Marks, answer_in, apart

STOP, LENGTH, THINKING = Finish.STOP, Finish.LENGTH, Finish.THINKING


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("A gas.", "", "A gas."),
        ("<think>\nHmm.\n</think>\n\nA gas.", "Hmm.", "A gas."),
        ("Hmm.\n</think>\n\nA gas.", "Hmm.", "A gas."),
        ("<think></think>A gas.", "", "A gas."),
        ("<THINKING>Hmm.</THINKING> A gas.", "Hmm.", "A gas."),
        ("\u200b<seed:think>Hmm.</seed:think>A gas.", "Hmm.", "A gas."),
        ("[THINK]Hmm.[/THINK]A gas.", "Hmm.", "A gas."),
        ("<|channel|>analysis<|message|>Hmm.assistant<|channel|>final<|message|>A gas.", "Hmm.", "A gas."),
        ("<|channel|>analysis<|message|>A?<|end|><|start|>assistant<|channel|>analysis<|message|>B?<|end|><|start|>assistant<|channel|>final<|message|>A gas.", "A?\nB?", "A gas."),
        ("<|channel>thought\nHmm.\n<channel|>A gas.", "Hmm.", "A gas."),
        ("<|begin_of_thought|>Hmm.<|end_of_thought|>A gas.", "Hmm.", "A gas."),
        ("<reasoning>Hmm.</reasoning>A gas.", "Hmm.", "A gas."),
        ("<reflection>\nHmm.\n</reflection>\nA gas.", "Hmm.", "A gas."),
        ("It closes with </think> or so.\n</think>\nA gas.", "It closes with </think> or so.", "A gas."),
        ("<think>It says </think> 3.</think>A gas.", "It says </think> 3.", "A gas."),
        ("Is x < think > y? A gas.", "", "Is x < think > y? A gas."),
        *((text, "", text) for text in (
            "The tag <think> opens a thought.",
            "A thought begins with <think>, closes with </think> and then answers.",
            "A gas.\n<think> is a tag.",
            "[Thought] that dopamine matters.\nAnswer: dopamine",
            "<thinking> is what models write.",
            "Hmm.\n</thought>\nA gas.",
        )),
    ],
)  # fmt: skip
def test_the_answer_is_what_follows_the_last_closing_tag(
    text: str, thought: str, answer: str
) -> None:
    said = apart(text, STOP)
    assert (said.thought, said.text, said.finish) == (thought, answer, STOP)


@pytest.mark.parametrize("finish", [STOP, LENGTH])
@pytest.mark.parametrize(
    "text", ["<think>A gas, or", "\ufeff <think>A gas", "<|channel>thought\nA gas", "<think>a</think>\n<think>b"]
)  # fmt: skip
def test_a_thought_without_an_end_is_no_answer(text: str, finish: Finish) -> None:
    said = apart(text, finish)
    assert (said.text, said.finish) == ("", THINKING)
    assert said.thought


@pytest.mark.parametrize("text", ["A gas.\n<think>Or a", "[THINK]A gas, or", "<reasoning>\nA gas"])
def test_a_thought_that_was_cut_off_is_no_answer(text: str) -> None:
    assert (apart(text, LENGTH).text, apart(text, LENGTH).finish) == ("", THINKING)
    assert apart(text, STOP).text == text


def test_a_thought_that_the_prompt_began_is_known_without_its_tag() -> None:
    assert apart("A gas, or", LENGTH, begun=True).finish == THINKING
    assert apart("Hm.</think>A gas.", STOP, begun=True).text == "A gas."


def test_an_end_that_is_named_is_the_only_one() -> None:
    marks = Marks("<|end_of_thought|>")
    said = apart("a</think>b<|end_of_thought|>A gas.", STOP, marks)
    assert (said.thought, said.text) == ("a</think>b", "A gas.")
    assert apart("A gas, or", LENGTH, marks).finish == THINKING
    assert apart("A gas.", STOP, marks).text == "A gas."


def test_a_thought_that_a_server_gives_apart_stays_apart() -> None:
    assert apart("A gas.", STOP, thought="Hmm. ").thought == "Hmm."
    assert apart("", LENGTH, thought="Hmm, is").finish == THINKING
    assert apart("", STOP, thought="Hmm.").finish == Finish.EMPTY


@pytest.mark.parametrize(
    ("said", "points"),
    [
        ('<think>\nIt agrees, so 3; though maybe 2.\n</think>\n\n{"points": 3}', 3.0),
        ("The answer agrees.\n</think>\n\n3", 3.0),
        ("3</think>", None),
        ("<think>3", None),
    ],
)
def test_the_grade_is_what_follows_a_judges_thought(said: str, points: float | None) -> None:
    assert read_points(answer_in(said), BIOSCORE) == points
