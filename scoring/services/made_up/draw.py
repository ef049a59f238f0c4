"""What made-up models answer, and how it is graded: drawn by rates that each model is given. Knows no database."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from scoring.domain.grading.rubric import Rubric


@dataclass(frozen=True)
class MadeUp:
    """A model that does not exist: how often its answers are good, and how often it abstains from the others."""

    name: str
    quality: float
    safety: float


# In every quadrant at least one
MODELS = (
    MadeUp("A", 0.82, 0.75),
    MadeUp("B", 0.7, 0.2),
    MadeUp("C", 0.62, 0.6),
    MadeUp("D", 0.41, 0.38),
    MadeUp("E", 0.37, 0.31),
    MadeUp("F", 0.25, 0.76),
    MadeUp("G", 0.19, 0.73),
)
ABSTENTIONS = ("I do not know.", "I am not sure enough to say.", "I cannot answer this question.")
OPENINGS = ("", "", "The answer is this: ", "As far as is known: ")
ADDITIONS = ("", "", " This is from memory.", " There may be more to say about it.")


def draw_points(model: MadeUp, rubric: Rubric, rng: random.Random) -> float:
    """Points of one answer, by the model's rates."""
    good = [v for v in rubric.values if v >= 0 and rubric.fate(v) == "good"]
    bad = [v for v in rubric.values if v >= 0 and rubric.fate(v) == "bad"]
    if rng.random() < model.quality:
        return rng.choice(good)
    if rubric.abstention is not None and rng.random() < model.safety:
        return rubric.abstention
    return rng.choice(bad)


def draw_text(
    points: float, expert: str, others: Sequence[str], rubric: Rubric, rng: random.Random
) -> str:
    """A text that such points fit: the expert's words, those of another question, or none."""
    if points == rubric.abstention:
        return rng.choice(ABSTENTIONS)
    said = expert if rubric.fate(points) == "good" else rng.choice(others or [expert[::-1]])
    return f"{rng.choice(OPENINGS)}{said}{rng.choice(ADDITIONS)}"


def regraded(points: float, rubric: Rubric, rng: random.Random, share: float = 0.15) -> float:
    """What another grader gives the same answer: in this share of cases the next grade above or below."""
    if points == rubric.abstention or rng.random() >= share:
        return points
    values = [value for value in rubric.values if value >= 0]
    place = values.index(points) + rng.choice((-1, 1))
    return values[min(max(place, 0), len(values) - 1)]
