"""Remarks on a version: by checks and in answer to them, by people in threads, and by its history."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Q, Value
from django.db.models.functions import Abs, Length, StrIndex
from django.utils import timezone

from experiment.domain.item_checks.characters import check_characters
from experiment.domain.item_checks.findings import Facts, Finding, Level, Other
from experiment.domain.item_checks.form import probes
from experiment.domain.item_checks.text import check_text
from experiment.domain.markup import MarkupError, Plain, parse
from experiment.domain.markup_between import MOST_STEPS, Piece, word_diff
from experiment.models import Comment, Explanation, Item, ItemChange

MOST_OTHERS = 50
MOST_COMPARED = 50_000  # characters: some 60 ms, and 200 test cases may be checked together
MOST_STEPS_OF_A_PAGE = 20 * MOST_STEPS


def others_near(original: str, facts: Facts) -> list[Other]:
    """Those that share a run of words or the DOI; each version of them by itself.

    One pass of the database over the field's texts, and few of them to compare: about a tenth of a second for 10,000. Of many,
    those with the DOI, then the nearest in length, as far as MOST_COMPARED goes.
    """
    runs = probes(original)
    if not runs:
        return []
    shared = {f"run_{n}": StrIndex("original", Value(run)) for n, run in enumerate(runs)}
    wanted = reduce(or_, (Q(**{f"{name}__gt": 0}) for name in shared))
    if facts.doi:
        wanted |= Q(doi__iexact=facts.doi)
    off = Abs(Length("original") - len(original))
    rows = Item.objects.filter(field=facts.field).exclude(key=facts.key).alias(**shared, off=off)
    found = rows.filter(wanted)
    if facts.doi:
        found = found.alias(is_same=Q(doi__iexact=facts.doi)).order_by(
            "-is_same", "off", "key", "version"
        )
    else:
        found = found.order_by("off", "key", "version")
    values = found.values_list("key", "source", "doi", "original")[:MOST_OTHERS]
    others, left = [], MOST_COMPARED
    for row in values:
        other = Other(*row)
        if len(other.original) <= left:
            left -= len(other.original)
            others.append(other)
    return others


@dataclass(frozen=True, slots=True)
class Explained:
    """A warning, and why it is none."""

    finding: Finding
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an item stands with the checks."""

    errors: tuple[Finding, ...]
    unexplained: tuple[Finding, ...]
    explained: tuple[Explained, ...]

    @property
    def may_be_reviewed(self) -> bool:
        return not self.errors and not self.unexplained

    @property
    def is_clean(self) -> bool:
        """True if the checks have nothing to say."""
        return self.may_be_reviewed and not self.explained


def findings(item: Item) -> list[Finding]:
    """Findings in a version as it is stored; of a question, what no reader sees in it."""
    if item.is_question:
        found = [*check_characters(item.markup), *check_characters(item.expert_answer)]
        return [replace(finding, place=None) for finding in found]
    return findings_of_text(item.markup, facts_of(item))


def findings_of_text(markup: str, facts: Facts) -> list[Finding]:
    """Findings in a text as it is being written, readable or not; errors first."""
    try:
        others = others_near(parse(markup).original, facts)
    except MarkupError:  # which is found below
        others = []
    return check_text(markup, facts, timezone.localdate(), others)


def errors_of(item: Item) -> list[Finding]:
    """Errors of a text that can be read, by itself: those that keep any from being accepted."""
    found = [*check_characters(item.markup), *check_characters(item.expert_answer), *item.warnings]
    return [finding for finding in found if finding.level == Level.ERROR]


def facts_of(item: Item) -> Facts:
    return Facts(
        field=item.field,
        key=item.key,
        kind=item.kind,
        source=item.source,
        doi=item.doi,
        publication_date=item.publication_date,
    )


def standing(item: Item) -> Standing:
    found = findings(item)
    answers = {answer.finding: answer for answer in item.explanations.select_related("by")}
    warnings = [finding for finding in found if finding.level == Level.WARNING]
    return Standing(
        errors=tuple(finding for finding in found if finding.level == Level.ERROR),
        unexplained=tuple(finding for finding in warnings if finding.key not in answers),
        explained=tuple(
            Explained(finding, answers[finding.key])
            for finding in warnings
            if finding.key in answers
        ),
    )


def explain(
    item: Item,
    finding_key: str,
    text: str,
    by: User | None,
    check: Callable[[Explanation], None] = lambda stored: None,
) -> Explanation:
    """Say why a warning is right as it is; a later word takes the place of an earlier one.

    check: raises what keeps another word than the stored one from taking its place.

    Raises:
        ValidationError: the item has no such warning, or nothing or too much is said.
    """
    warnings = {f.key for f in findings(item) if f.level == Level.WARNING}
    if finding_key not in warnings:
        raise ValidationError("The text no longer has this warning.")
    return _explain(item, finding_key, text, by, check)


def explain_kinds(item: Item, texts: Mapping[str, str], by: User | None) -> None:
    """Explain each unexplained warning of these kinds (the finding's code). Raises ValidationError as `explain` does."""
    for finding in standing(item).unexplained:
        if finding.code in texts:
            _explain(item, finding.key, texts[finding.code], by)


def _explain(
    item: Item,
    finding_key: str,
    text: str,
    by: User | None,
    check: Callable[[Explanation], None] = lambda stored: None,
) -> Explanation:
    answer = Explanation.objects.filter(item=item, finding=finding_key).first()
    answer = answer or Explanation(item=item, finding=finding_key)
    if answer.text != text.strip():
        check(answer)
    answer.text, answer.by = text.strip(), by
    answer.full_clean()
    answer.save()
    return answer


MOST_SAID, MOST_QUOTED = 5_000, 1_000  # characters


@dataclass(frozen=True, slots=True)
class Thread:
    """`is_in_text`: whether the passage it is about still stands in the text as somebody reads it."""

    comment: Comment
    answers: tuple[Comment, ...]
    is_in_text: bool


def threads(item: Item) -> list[Thread]:
    """Open ones first, each in the order in which they came."""
    rows = list(item.comments.select_related("author", "resolved_by").order_by("pk"))
    answers: dict[int, list[Comment]] = {}
    for row in rows:
        if row.parent_id is not None:
            answers.setdefault(row.parent_id, []).append(row)
    found = [
        Thread(row, tuple(answers.get(row.pk, ())), _stands(row.quote, item))
        for row in rows
        if row.parent_id is None
    ]
    return sorted(found, key=lambda thread: thread.comment.resolved_at is not None)


def add_comment(item: Item, by: User, text: str, quote: str = "") -> Comment:
    """Begin a thread. Raises ValidationError where nothing is said, or too much."""
    quote = " ".join(quote.split())
    return _store_comment(Comment(item=item, author=by, text=text.strip(), quote=quote))


def answer(comment: Comment, by: User, text: str) -> Comment:
    """Go on with a thread; one that was resolved is open again. Raises ValidationError as `add` does."""
    thread = comment.parent or comment
    given = _store_comment(Comment(item=thread.item, parent=thread, author=by, text=text.strip()))
    reopen(thread)
    return given


def resolve(comment: Comment, by: User) -> None:
    """A second time changes nothing."""
    unresolved = Comment.objects.filter(pk=comment.pk, parent=None, resolved_at=None)
    unresolved.update(resolved_at=timezone.now(), resolved_by=by)


def reopen(comment: Comment) -> None:
    Comment.objects.filter(pk=comment.pk).update(resolved_at=None, resolved_by=None)


def _store_comment(comment: Comment) -> Comment:
    for name, most in (("text", MOST_SAID), ("quote", MOST_QUOTED)):
        if len(getattr(comment, name)) > most:
            raise ValidationError({name: f"At most {most} characters are allowed."})
    comment.full_clean()
    comment.save()
    return comment


def _stands(quote: str, item: Item) -> bool:
    """True if a passage is in the text, whichever wordings it was copied from."""
    both = "".join(
        segment.text if isinstance(segment, Plain) else f"{segment.original} {segment.altered}"
        for segment in item.segments
    )
    texts = (item.original, item.altered, both, item.markup, item.expert_answer)
    return any(quote in " ".join(text.split()) for text in texts)


Action = ItemChange.Action


@dataclass(frozen=True, slots=True)
class Entry:
    """An action of a person; `pieces` where the text changed. label: names the version that a new one was made from.

    values: name, before and after of each other column, in words.
    """

    at: datetime
    by: User | None
    action: str
    label: str
    reason: str
    pieces: tuple[Piece, ...]
    values: list[dict[str, str]]


def history(item: Item, *, without_verdicts: bool = False) -> list[Entry]:
    """All changes; those that tell a verdict may be left out, for a reader who has given none yet.

    The texts of many changes are compared in fewer steps each: all of them are on one page.
    """
    rows = item.changes.select_related("by")
    shown = [row for row in rows if not (without_verdicts and row.action == Action.VERDICT)]
    most_steps = min(MOST_STEPS, MOST_STEPS_OF_A_PAGE // max(1, len(shown)))
    return [_entry(row, most_steps) for row in reversed(shown)]


def _entry(row: ItemChange, most_steps: int) -> Entry:
    before, after = dict(row.before), dict(row.after)
    texts = before.pop("markup", ""), after.pop("markup", "")
    label = str(row.get_action_display())
    if from_version := after.pop("from_version", None):
        label = f"{label} from version {from_version}"
    changed = row.action == Action.TEXT and texts[0] != texts[1]
    names = list(dict.fromkeys([*before, *after]))
    return Entry(
        at=row.at,
        by=row.by,
        action=row.action,
        label=label,
        reason=row.reason,
        pieces=word_diff(*texts, most_steps) if changed else (),
        values=[
            {"name": _name(n), "before": _said(n, before), "after": _said(n, after)} for n in names
        ],
    )


def _name(column: str) -> str:
    columns = {field.name: field for field in Item._meta.concrete_fields}
    return str(columns[column].verbose_name) if column in columns else column


def _said(column: str, values: dict[str, Any]) -> str:
    """A stored value as pages say it."""
    value = values.get(column)
    if isinstance(value, dict):  # categories
        return "; ".join(f"{name}: {', '.join(found)}" for name, found in value.items())
    choices = {field.name: field for field in Item._meta.concrete_fields}.get(column)
    known = dict(getattr(choices, "flatchoices", ()))
    return "" if value is None else str(known.get(value, value))
