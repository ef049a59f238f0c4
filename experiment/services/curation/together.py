"""One step with many versions at a time, each by the service that takes it with one, and a reviewer's way through what waits."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_life import Move
from experiment.models import Item, ResearchField, Review
from experiment.services.curation import remarks, reviews


class Act(StrEnum):
    SUBMIT = "submit"
    ACCEPT = "accept"
    BACK = "back"
    RETIRE = "retire"

    @property
    def label(self) -> str:
        return _LABELS[self]


_LABELS = {
    Act.SUBMIT: "Send to review",
    Act.ACCEPT: "Accept",
    Act.BACK: "Back to draft",
    Act.RETIRE: "Retire",
}


@dataclass(frozen=True, slots=True)
class Words:
    """Words that are said once for all: why they go back or are retired, and why each kind of warning (its code) is none."""

    reason: str = ""
    explanations: Mapping[str, str] | None = None
    every_version: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """refused: versions by the reason why nothing was done with them."""

    done: tuple[Item, ...]
    refused: Mapping[str, tuple[Item, ...]]


@dataclass(frozen=True, slots=True)
class Warnings:
    """The unexplained warnings of one kind."""

    code: str
    found: tuple[tuple[Item, Finding], ...]

    @property
    def heading(self) -> str:
        message = self.found[0][1].message
        return f"For example: {message}" if len(self.found) > 1 else message

    @property
    def reason(self) -> str:
        return self.found[0][1].reason


@dataclass(frozen=True, slots=True)
class Plan:
    outcome: Outcome
    warnings: tuple[Warnings, ...]


def take(
    items: Iterable[Item],
    act: Act,
    by: User,
    words: Words,
    check: Callable[[Item], None] = lambda stored: None,
) -> Outcome:
    """Take the step with each version. One that is refused stays as it was, and the others go on.

    check: raises ValidationError where a stored version is another than was shown.
    """
    done: list[Item] = []
    refused: dict[str, tuple[Item, ...]] = {}
    for item in items:
        try:
            with reviews.held(item) as stored:
                check(stored)
                done.append(_take(item, act, by, words))
        except ValidationError as error:
            why = " ".join(error.messages)
            refused[why] = (*refused.get(why, ()), item)
    return Outcome(tuple(done), refused)


def plan(items: Iterable[Item], act: Act, by: User) -> Plan:
    """A plan of what `take` would do once everything is said that it asks for; nothing is stored."""
    items = tuple(items)
    found: dict[str, list[tuple[Item, Finding]]] = {}
    for item in items if act == Act.SUBMIT else ():
        for finding in remarks.standing(item).unexplained:
            found.setdefault(finding.code, []).append((item, finding))
    warnings = [Warnings(code, tuple(pairs)) for code, pairs in found.items()]
    said = {each.code: "-" for each in warnings}
    with transaction.atomic():
        outcome = take(items, act, by, Words("-", said))
        transaction.set_rollback(True)
    ready = {item.pk for item in outcome.done}
    asked = (
        Warnings(each.code, tuple(pair for pair in each.found if pair[0].pk in ready))
        for each in warnings
    )
    return Plan(outcome, tuple(each for each in asked if each.found))


def _take(item: Item, act: Act, by: User, words: Words) -> Item:
    if act == Act.SUBMIT:
        remarks.explain_kinds(item, words.explanations or {}, by)
        return reviews.submit(item, by)
    if act == Act.BACK:
        return reviews.back_to_draft(item, by, words.reason)
    if act == Act.RETIRE:
        reviews.retire(item, by, words.reason, every_version=words.every_version)
        return item
    research_field = ResearchField.objects.get(name=item.field)
    if Move.ACCEPT in reviews.open_moves(item, research_field, by):
        return reviews.accept_alone(item, by)
    return reviews.review(item, by, Review.Verdict.ACCEPT)


@dataclass(frozen=True, slots=True)
class Queue:
    """Versions of an item's field and kind that wait for somebody's verdict, the item left out, by key.

    n: how many wait, the item counted. previous, next: the neighbours; after the last comes the first.
    """

    n: int
    previous: int | None
    next: int | None


def queue(item: Item, user: User) -> Queue:
    waiting = Item.objects.filter(reviews.waiting_for(user), field=item.field)
    questions = Item.Kind.QUESTION
    same = waiting.filter(kind=questions) if item.is_question else waiting.exclude(kind=questions)
    rows = list(same.order_by("key", "version").values_list("key", "version", "pk"))
    others = [row for row in rows if row[2] != item.pk]
    if not others:
        return Queue(len(rows), None, None)
    place = sum(row[:2] < (item.key, item.version) for row in others)
    return Queue(len(rows), others[place - 1][2], others[place % len(others)][2])
