"""Sentences of a test case's page."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.contrib.auth.models import User

from experiment.domain.item_life import Move
from experiment.models import Item, ResearchField
from experiment.services.curation.reviews import Count
from lib.formatting import count, verb

Status = Item.Status
_CSS = {Status.ACCEPTED: "state-open", Status.RETIRED: ""}
# Moves that need nothing but the decision, in the order of their buttons
BUTTONS = (
    (Move.SUBMIT, "Send to review", "primary small"),
    (Move.ACCEPT, "Accept without a review", "primary small"),
    (Move.REVISE, "Start a new version", "secondary small"),
)


@dataclass(frozen=True, slots=True)
class About:
    """The head of the page. `part` is the entry of the field's menu that the page belongs to."""

    heading: str
    details: tuple[str, ...]
    css: str
    written: str
    accepted: str
    part: str


def about(item: Item, writers: Iterable[User]) -> About:
    generator = item.generator if item.is_question else f"altered by {item.generator}"
    details = (
        f"version {item.version}",
        item.subfield,
        item.kind_and_source,
        generator if item.generator else "",
        "demo material" if item.is_demo else "",
    )
    names = ", ".join(writer.get_username() for writer in writers)
    return About(
        heading_of_text(item),
        tuple(detail for detail in details if detail),
        _CSS.get(Status(item.status), "state-pilot"),
        f"Written here by {names}" if names else "Imported or built in: not written on this site",
        _accepted(item),
        "questions" if item.is_question else "items",
    )


def heading_of_text(item: Item) -> str:
    return "Question and expert answer" if item.is_question else "Both wordings, the original first"


def _accepted(item: Item) -> str:
    """
    >>> _accepted(Item(status="accepted", accepted_by=2))
    'Accepted by 2 people who did not write it'
    """
    if not item.is_frozen:
        return ""
    if item.accepted_by is None:
        how = "imported, built in, or accepted before reviews were recorded"
        return "" if item.is_retired else f"Accepted without a review on this site: {how}"
    if item.accepted_by == 0:
        return "Not reviewed: accepted by its writer, as this field allows"
    return f"Accepted by {count(item.accepted_by, 'person', 'people')} who did not write it"


def next_step(
    item: Item, research_field: ResearchField, counted: Count, newest: int, *, is_awaited: bool
) -> str:
    """The way on from the state of a version; `newest` is the newest accepted version, or 0."""
    match Status(item.status):
        case Status.DRAFT:
            return _from_draft(research_field.reviews_needed)
        case Status.IN_REVIEW:
            return _in_review(counted, is_awaited=is_awaited)
        case Status.RETIRED:
            return "Retired: studies no longer show it to participants. Answers to it are kept."
    if newest > item.version:
        return (
            f"Version {newest} is also accepted. Studies that choose this test case now use that version; studies that "
            "already have this version keep it."
        )
    return "Studies that choose this test case use this version. Its text cannot change; an edit creates a new version."


def review_rule(reviews_needed: int) -> str:
    """The meaning of review in a field.

    >>> review_rule(1)
    'In this field, 1 person who did not write a test case must accept it before studies can use it.'
    """
    if not reviews_needed:
        return "In this field, nobody reviews: writers accept their own test cases, and methods and exports say “not reviewed”."
    people = count(reviews_needed, "person", "people")
    return f"In this field, {people} who did not write a test case must accept it before studies can use it."


def _from_draft(reviews_needed: int) -> str:
    """
    >>> _from_draft(1)
    'This is a draft. Send it to review when it is ready. 1 person who did not write it must then accept it.'
    """
    start = "This is a draft. Send it to review when it is ready."
    if not reviews_needed:
        return f"{start} This field does not require a review, so its writer may then accept it."
    people = count(reviews_needed, "person", "people")
    return f"{start} {people} who did not write it must then accept it."


def _in_review(counted: Count, *, is_awaited: bool) -> str:
    if not counted.needed:
        return "This field does not require a review. Its writer may accept it, and the test case then says so."
    people = count(counted.needed, "person", "people")
    has = verb(counted.needed, "has", "have")
    said = (
        f"It is accepted when {people} who did not write it {has} accepted it and nobody has rejected it or asked for a "
        "revision."
    )
    if not counted.opposed or is_awaited:
        return said
    return (
        f"{said} Somebody has rejected it or asked for a revision: return it to draft, change it, and send it to review "
        "again."
    )


def retiring(item: Item, n_studies: int) -> str:
    """Consequences of retiring the version."""
    said = "This cannot be undone: participants no longer receive this test case. You can still write a new version."
    if item.status != Status.ACCEPTED:
        return said
    if not n_studies:
        return f"{said} This version is not in any draft, pilot or open study."
    studies = count(n_studies, "draft, pilot or open study", "draft, pilot or open studies")
    have = verb(n_studies, "has", "have")
    return f"{said} {studies} {have} this version and will no longer use it."


def buttons(moves: Collection[Move]) -> list[tuple[Move, str, str]]:
    return [button for button in BUTTONS if button[0] in moves]


def verdict(given: str, first: str | None) -> str:
    """
    >>> verdict("accept", "reject")
    'accept (before seeing the other verdicts: reject)'
    """
    return f"{given} (before seeing the other verdicts: {first})" if first else given


def still_shown(n: int) -> str:
    """
    >>> still_shown(1), still_shown(0)
    ('1 person who has received it but not answered yet still sees it.', '')
    """
    if not n:
        return ""
    who = f"{count(n, 'person', 'people')} who {verb(n, 'has', 'have')} received it"
    return f"{who} but not answered yet still {verb(n, 'sees', 'see')} it."
