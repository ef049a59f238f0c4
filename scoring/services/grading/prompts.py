"""The words in which a judge is asked: its prompt with the rubric, an answer to grade, and the request for a grade that can be read."""

import hashlib

from django.template.loader import render_to_string

from scoring.domain.generating import Message
from scoring.domain.grading.rubric import Rubric
from scoring.domain.prompts import filled
from scoring.services.asking.turns import repeated
from scoring.services.grading.targets import Target


def default_prompt() -> str:
    return render_to_string("scoring/grading/judge_prompt.txt").strip()


def instructions(prompt: str, rubric: Rubric) -> str:
    """The prompt with the rubric in its place; all other braces are text."""
    told = render_to_string("scoring/grading/rubric.txt", {"rubric": rubric}).strip()
    return filled(prompt, rubric=told)


def opening(told: str, target: Target) -> list[Message]:
    texts = (target.question, target.expert_answer, target.text)
    # Of the texts themselves: the same each time, and none can hold it
    mark = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    values = {
        "mark": mark,
        "question": target.question,
        "expert_answer": target.expert_answer,
        "text": target.text,
    }
    asked = render_to_string("scoring/grading/answer.txt", values).strip()
    return [Message("system", told), Message("user", asked)]


def again(said: str, rubric: Rubric) -> list[Message]:
    """The turns that ask once more, after what was no grade."""
    asked = render_to_string("scoring/grading/again.txt", {"rubric": rubric}).strip()
    return [repeated(said), Message("user", asked)]


def prompt_sha256(told: str) -> str:
    """The hash of all that a judge is told beside the texts that it grades."""
    empty = Target(0, "", "", "", "stop", False)
    asked = opening(told, empty)[1].content
    return hashlib.sha256(f"{told}\0{asked}".encode()).hexdigest()
