"""What the checks say of an item, and what people answered."""

from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.translation import gettext as _

from experiment.domain.item_checks import Facts, Finding, Level, check_text
from experiment.domain.item_checks.characters import check_characters
from experiment.domain.markup import MarkupError, parse
from experiment.models import Explanation, Item
from experiment.services.curation.near import others_near


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


def findings(item: Item) -> list[Finding]:
    """Of a version as it is stored; of a question, what no reader sees in it."""
    if item.is_question:
        found = [*check_characters(item.markup), *check_characters(item.expert_answer)]
        return [replace(finding, place=None) for finding in found]
    return findings_of_text(item.markup, facts_of(item))


def findings_of_text(markup: str, facts: Facts) -> list[Finding]:
    """Of a text as it is being written, readable or not; errors first."""
    try:
        others = others_near(parse(markup).original, facts)
    except MarkupError:  # which is found below
        others = []
    return check_text(markup, facts, timezone.localdate(), others)


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


def explain(item: Item, finding_key: str, text: str, by: User | None) -> Explanation:
    """Say why a warning is right as it is; a later word takes the place of an earlier one.

    Raises:
        ValidationError: the item has no such warning, or nothing or too much is said.
    """
    warnings = {f.key for f in findings(item) if f.level == Level.WARNING}
    if finding_key not in warnings:
        raise ValidationError(_("The text has no such warning any more."))
    answer = Explanation.objects.filter(item=item, finding=finding_key).first()
    answer = answer or Explanation(item=item, finding=finding_key)
    answer.text, answer.by = text.strip(), by
    answer.full_clean()
    answer.save()
    return answer
