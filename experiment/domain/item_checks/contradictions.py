"""Alternations of one text that do not go together. Pure."""

from collections.abc import Iterator
from itertools import combinations

from experiment.domain.item_checks.context import Context
from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_checks.layout import Placed, placed
from experiment.domain.item_checks.words import direction, is_name, stem
from experiment.domain.markup import Abstract

# Content words around two alternations that must be the same for both to be about one finding
MIN_SHARED = 3
# Each is held against each; the published abstracts have at most a dozen or two
MOST_ALTERNATIONS = 100
REASON = "The altered abstract must agree with itself: one that does not is found without knowing the field."


def check_contradictions(abstract: Abstract) -> Iterator[Finding]:
    """Warnings, at the second of two alternations.

    Two are found to contradict each other where one name became two, or where they speak of more and less about the
    same words and only one of them was turned round.

    >>> from experiment.domain.markup import parse
    >>> text = "Cells of the [[VTA, PFC]] fired. So the [[VTA, NAc]] matters."
    >>> [finding.message for finding in check_contradictions(parse(text))]
    ['alternation 2: “VTA” became “NAc” here and “PFC” in alternation 1']
    """
    context = Context(abstract.original)
    for first, second in combinations(placed(abstract)[:MOST_ALTERNATIONS], 2):
        if message := _two_names(first, second) or _one_turned(first, second, context):
            yield second.warning("contradiction", message, REASON)


def _two_names(first: Placed, second: Placed) -> str:
    one, other = first.alternation, second.alternation
    is_same = stem(one.original) == stem(other.original) and is_name(one.original)
    if not is_same or stem(one.altered) == stem(other.altered):
        return ""
    return f"“{other.original}” became “{other.altered}” here and “{one.altered}” in alternation {first.n}"


def _one_turned(first: Placed, second: Placed, context: Context) -> str:
    signs = [direction(side) for one in (first, second) for _, side in one.sides]
    if 0 in signs:
        return ""
    agree_before, agree_after = signs[0] == signs[2], signs[1] == signs[3]
    if agree_before == agree_after:
        return ""
    about = [context.around(one.original.start, one.original.end) for one in (first, second)]
    if len(about[0] & about[1]) < MIN_SHARED:
        return ""
    was, became = ("agrees", "disagrees") if agree_before else ("disagrees", "agrees")
    return (
        f"in the original it {was} with alternation {first.n}, in the altered version it {became}"
    )
