"""Alternations of verbs that ask for no knowledge. Pure."""

from collections.abc import Iterator

from experiment.domain.item_checks.findings import Finding, Level
from experiment.domain.item_checks.layout import Placed, placed
from experiment.domain.item_checks.words import (
    AUXILIARIES,
    FUNCTION_WORDS,
    NEGATIONS,
    REPORTING,
    Word,
    is_verb_of_direction,
    words,
)
from experiment.domain.markup import Abstract

_NOUN_ENDINGS = ("ion", "ions", "or", "ors", "ory", "ive", "ment", "ments")


def check_verbs(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: a verb of reporting became another; or nothing but verbs was changed in the whole text.

    >>> from experiment.domain.markup import parse
    >>> text = "The results [[suggest, indicate]] that rats [[slept, ran]]."
    >>> [(f.code, f.quote) for f in check_verbs(parse(text))]
    [('trivial_verb', 'suggest | indicate')]
    """
    alternations = placed(abstract)
    for one in alternations:
        if _says_the_same(one):
            yield one.warning(
                "trivial_verb",
                "only how it is reported changes, not what was found",
                "A test case asks what was found; another verb of saying so leaves that as it was.",
            )
    if alternations and all(_is_of_verbs(one) for one in alternations):
        quotes = "; ".join(one.quote for one in alternations)
        yield Finding(
            "only_verbs",
            Level.WARNING,
            "in the whole text, nothing but verbs of more and less, of saying, or yes and no was changed",
            "To swap a verb is the easiest alteration and the easiest to see through: who knows the field should be asked more.",
            quotes,
        )


def _differing(one: Placed) -> list[Word]:
    """Words of either passage that the other has not."""
    sides = [words(side) for _, side in one.sides]
    small = [{word.text.lower() for word in side} for side in sides]
    return [
        w
        for side, other in zip(sides, small[::-1], strict=True)
        for w in side
        if w.text.lower() not in other
    ]


def _says_the_same(one: Placed) -> bool:
    differing = [word.text.lower() for word in _differing(one)]
    return (
        any(word in REPORTING for word in differing)
        and all(word in REPORTING | FUNCTION_WORDS for word in differing)
        and not any(word in NEGATIONS for word in differing)
    )


def _is_of_verbs(one: Placed) -> bool:
    differing = _differing(one)
    return bool(differing) and all(
        word.text.lower() in AUXILIARIES | REPORTING
        or (is_verb_of_direction(word) and not word.text.lower().endswith(_NOUN_ENDINGS))
        for word in differing
    )
