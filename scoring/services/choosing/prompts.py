"""Instructions and test cases for a model that chooses. The sentences are in templates/scoring/choosing."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import cycle

from django.template.loader import render_to_string

from experiment.domain.markup import Abstract, parse
from scoring.domain.backend import ScoringError
from scoring.domain.choosing.showing import shown
from scoring.domain.generating import Message
from scoring.domain.prompts import filled
from scoring.models.choices import ChoiceRun
from scoring.services.asking.settings import ANY_FIELD
from scoring.services.asking.turns import repeated

VERSIONS = "{versions}"
CUSTOM = "custom"
REASONING = "reasoning"
# Names of prompts, and the template of each
PROMPTS: Mapping[str, str] = {"default": "default", REASONING: "default", "plain": "plain"}
EXAMPLE_CONFIDENCE = 90  # percent; of an answer that is shown
Form = ChoiceRun.Form


@cache
def words(name: str) -> str:
    """A template's text."""
    return render_to_string(f"scoring/choosing/{name}.txt").strip()


def told(name: str, own: str = "", field: str = "") -> str:
    """A prompt, with the field in its place and {versions} where a test case is to stand.

    Args:
        name: one of PROMPTS, or "custom" for `own`.
    Raises:
        ScoringError: there is no such prompt, or it does not name {versions} once.
    """
    if name not in PROMPTS and name != CUSTOM:
        known = ", ".join(PROMPTS)
        raise ScoringError(
            f"There is no prompt “{name}” for models that choose. Choose from {known}, or give your own file."
        )
    text = own.strip() if name == CUSTOM else words(PROMPTS[name])
    told = filled(text, field=field or ANY_FIELD)
    if (n := told.count(VERSIONS)) != 1:  # a field may have this name, too
        raise ScoringError(
            f"A prompt must contain {VERSIONS} once, but this one contains it {n} times.",
            option="--prompt_file",
        )
    return told


def request(instructions: str, form: str, layout: str, abstract: Abstract, side: str) -> str:
    """The question to a model about a test case whose original is shown as `side`."""
    case = shown(abstract, side, layout)
    return f"{instructions.replace(VERSIONS, case)}\n\n{words(form)}"


def all_words(instructions: str, form: str, layout: str) -> str:
    """All that a model is told beside the test cases: equal words, equal measurement."""
    specimen = parse("It [[rose, fell]].")
    parts = [request(instructions, form, layout, specimen, side) for side in "AB"]
    return "\n".join([*parts, words("again")])


def conversation(
    run: ChoiceRun, examples: Sequence[Abstract], abstract: Abstract, side: str
) -> list[Message]:
    """The turns up to the model's answer: practice items with their answers first, the original as B, A, B, ..."""
    turns = []
    for example, where in zip(examples, cycle("BA"), strict=False):
        asked = request(run.instructions, run.form, run.layout, example, where)
        answer = json.dumps({"side": where, "confidence": EXAMPLE_CONFIDENCE})
        is_letter = run.form == Form.LIKELIHOOD
        turns += [Message("user", asked), Message("assistant", where if is_letter else answer)]
    last = request(run.instructions, run.form, run.layout, abstract, side)
    return [*turns, Message("user", last)]


def again(said: str) -> list[Message]:
    """The turns that ask once more, after what was no choice."""
    return [repeated(said), Message("user", words("again"))]


def plain_text(turns: Sequence[Message]) -> str:
    """A conversation as one text, for a model without a chat template; a model's answer goes on after it.

    >>> plain_text([Message("user", "A or B? Answer:"), Message("assistant", "B"), Message("user", "A or B? Answer:")])
    'A or B? Answer: B\\n\\nA or B? Answer:'
    """
    parts = [turn.content if turn.role == "user" else f" {turn.content}\n\n" for turn in turns]
    return "".join(parts)
