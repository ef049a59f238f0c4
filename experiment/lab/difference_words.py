"""Sentences of the pages that compare a file with a field, its test cases or its questions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiment.domain.item_checks.findings import Level
from experiment.imports.store.item_plans import ItemPlan
from experiment.imports.store.plans import Action, Plan
from experiment.imports.store.question_plans import QuestionPlan
from experiment.models import Item
from lib.formatting import count, number, verb

PROBLEMS, MISSING = "problems", "gone"
_LABELS = {
    Action.CREATE: "new",
    Action.UPDATE: "changed",
    Action.UNCHANGED: "unchanged",
    MISSING: "only here",
}
MOST_LINKED = 50
Note = tuple[str, str]  # a style, and what it says


@dataclass(frozen=True, slots=True)
class Tab:
    """Rows of one kind, and where they are listed."""

    n: int
    label: str
    url: str
    is_current: bool


def tabs(found: Mapping[str, Sequence[Any]], chosen: str, query: str) -> list[Tab]:
    """`query` is the address's, without which kind is shown."""
    start = f"?{query}&" if query else "?"
    return [
        Tab(
            len(rows),
            verb(len(rows), "problem", "problems") if kind == PROBLEMS else _LABELS[kind],
            f"{start}show={kind}",
            kind == chosen,
        )
        for kind, rows in found.items()
    ]


def heading(kind: str, noun: str) -> str:
    """
    >>> heading("update", "questions")
    'Changed questions'
    """
    if kind == PROBLEMS:
        return "Problems"
    if kind == MISSING:
        return f"{noun.capitalize()} that are not in the file"
    return f"{_LABELS[kind].capitalize()} {noun}"


def changed_meanwhile(noun: str) -> str:
    return (
        f"Nothing was stored: the field's {noun} have changed since you were shown the difference. The page now shows the "
        "current difference."
    )


def imported(created: int, updated: int, noun: str) -> str:
    """
    >>> imported(1, 2, "test case")
    '1 test case is new, 2 are changed.'
    """
    new = f"{count(created, noun)} {verb(created, 'is', 'are')} new"
    return f"{new}, {number(updated, 0)} {verb(updated, 'is', 'are')} changed."


def notes_of_items(plan: ItemPlan) -> Iterator[Note]:
    yield from _new_subfields(plan)
    if plan.accept:
        yield "", f"New and changed test cases are accepted at once: “{plan.accept}”"
    if n := plan.count_checked(Level.ERROR):
        they = verb(n, "It can be reviewed once they are", "These can be reviewed once they are")
        yield "", f"The checks find errors in {count(n, 'text')}. {they} corrected."
    if n := plan.count_checked(Level.WARNING):
        yield "", f"The checks warn about {count(n, 'text')}."
    if plan.changing and not plan.is_checked:
        yield (
            "quiet",
            "This file has too many texts to check here. Each text is checked when you open it.",
        )


def notes_of_questions(plan: QuestionPlan) -> Iterator[Note]:
    yield from _new_subfields(plan)
    if n := len(plan.new_templates):
        are = verb(
            n, "is stored by name only, without its", "are stored by name only, without their"
        )
        yield "quiet", f"{count(n, 'template')} {are} texts."
    if n := len(plan.repeated):
        ask = verb(
            n, "asks the same as another one; see the note", "ask the same as others; see the notes"
        )
        yield "quiet", f"{count(n, 'new question')} {ask} below."
    if plan.accept:
        yield "", f"New and changed questions are accepted at once: “{plan.accept}”"


def _new_subfields(plan: Plan[Any]) -> Iterator[Note]:
    if plan.new_subfields:
        yield "", f"New subfields: {', '.join(plan.new_subfields)}."


@dataclass(frozen=True, slots=True)
class Waiting:
    """Questions in review, which an import that accepts leaves to their reviewers; `more` stands for those without a link."""

    note: str
    items: list[Item]
    more: str


def waiting(plan: QuestionPlan) -> Waiting | None:
    rows = plan.waiting
    if not rows:
        return None
    n = len(rows)
    decision = verb(
        n, "its reviewer's decision, or return it", "their reviewers' decisions, or return them"
    )
    note = (
        f"{count(n, 'question')} {verb(n, 'is', 'are')} in review and will not be accepted by this import. Wait for "
        f"{decision} to draft first."
    )
    linked = [row.item for row in rows[:MOST_LINKED] if row.item is not None]
    return Waiting(note, linked, " …" if n > MOST_LINKED else "")


def missing_subfields(names: Sequence[str], *, may_add: bool) -> str:
    """
    >>> missing_subfields(["Soups"], may_add=False)
    'The field does not have 1 subfield of this file: Soups. A lead of the field can add them.'
    """
    said = (
        f"The field does not have {count(len(names), 'subfield')} of this file: {', '.join(names)}."
    )
    return said if may_add else f"{said} A lead of the field can add them."


def add_subfields(n: int) -> str:
    return "Add this subfield" if n == 1 else f"Add these {n} subfields"


def hopeless(n: int) -> str:
    """A sentence on so many problems, for which only another file is a cure."""
    start = "Nothing can be imported while there"
    if n == 1:
        return f"{start} is a problem. Correct it in the file and upload the file again."
    return f"{start} are problems. Correct them in the file and upload the file again."
