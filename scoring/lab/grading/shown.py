"""What the page on which people grade shows: choices with their keys, and a name for the answer that says nothing of it."""

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.http import HttpRequest

from scoring.domain.grading.rubric import Rubric
from scoring.lab.grading.forms import ABSTAINED

Task = Literal["new", "last", "settle"]
STORE = "grading"
MOST_OPEN = 12  # pages at a time
LETTERS = "qwertz"
ABSTAINED_KEY = "a"


@dataclass(frozen=True, slots=True)
class Choice:
    """A radio button or a check box, and the key that chooses it."""

    value: str
    label: str
    description: str
    points: float | None
    key: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer that a page shows to somebody, and since when; seconds of the server's clock."""

    slug: str
    task: Task
    row: int
    at: float

    @property
    def seconds(self) -> float:
        return max(0.0, round(time.time() - self.at, 1))


def remember(request: HttpRequest, slug: str, task: Task, row: int) -> str:
    """A name for the answer on this page: numbers of rows would tell which answers are of one model."""
    token = secrets.token_urlsafe(16)
    known: dict[str, Any] = request.session.get(STORE, {})
    kept = dict(list(known.items())[-MOST_OPEN + 1 :])
    request.session[STORE] = kept | {token: [slug, task, row, time.time()]}
    return token


def recall(request: HttpRequest, slug: str, token: str) -> Shown | None:
    """What the page of this name showed; None where it is too old, or another study's."""
    found = request.session.get(STORE, {}).get(token)
    shown = None if found is None else Shown(*found)
    return shown if shown is not None and shown.slug == slug else None


def verdicts(rubric: Rubric, chosen: str) -> list[Choice]:
    """A level's key is its number of points where that is one digit for all of them, else its place."""
    levels = rubric.levels
    by_points = all(level.points in range(10) for level in levels)
    found = [
        Choice(
            str(level.points),
            level.label,
            level.description,
            level.points,
            str(int(level.points)) if by_points else str(n),
            str(level.points) == chosen,
        )
        for n, level in enumerate(levels, start=1)
    ]
    if rubric.abstention is not None:
        is_chosen = chosen == ABSTAINED
        found.append(Choice(ABSTAINED, "", "", None, ABSTAINED_KEY, is_chosen))
    return found


def deductions(rubric: Rubric, chosen: Sequence[str]) -> list[Choice]:
    return [
        Choice(d.name, d.name, d.description, d.points, key, d.name in chosen)
        for key, d in zip(LETTERS, rubric.deductions, strict=False)
    ]
