"""Texts around an alternation, long enough to be an abstract."""

from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_checks.text import check_item
from experiment.domain.markup import parse

OPENING = (
    "Sleep matters to every animal. Little is known of its causes. We watched them for a year. "
)


def found(finding: str) -> list[Finding]:
    """What the checks say of a finding's sentences, which stand behind an opening."""
    return check_item(parse(OPENING + finding))


def codes(finding: str) -> set[str]:
    """Without that it is short."""
    return {one.code for one in found(finding)} - {"length"}
