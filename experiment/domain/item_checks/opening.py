"""Edits where the writers' criteria allow none, or of more words than they need. Pure."""

from collections.abc import Iterator
from difflib import SequenceMatcher

from experiment.domain.item_checks.findings import Finding
from experiment.domain.item_checks.layout import Placed, placed
from experiment.domain.markup import Abstract
from lib.sentences import sentence_spans

N_OPENING = 2
# Of a sentence's words, in both passages
MIN_SHARED = 0.5
MIN_SENTENCE_WORDS = 4


def check_opening(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: what comes first is background and method, which the test leaves as they are.

    >>> from experiment.domain.markup import parse
    >>> text = "Rats [[sleep, run]]. We watched. They [[slept, ran]]."
    >>> [finding.quote for finding in check_opening(parse(text))]
    ['sleep | run']
    """
    spans = sentence_spans(abstract.original)
    # A text of so few sentences has no opening to keep
    if len(spans) <= N_OPENING:
        return
    opening_end = spans[N_OPENING - 1][1]
    for one in placed(abstract):
        if one.original.start < opening_end:
            yield one.warning(
                "edited_opening",
                f"it is in the first {N_OPENING} sentences",
                "The first sentences give the background; only findings are altered.",
            )


def check_whole_sentences(abstract: Abstract) -> Iterator[Finding]:
    """Warnings: of a sentence in both passages, most words are the same.

    >>> from experiment.domain.markup import parse
    >>> text = "We watched. [[The old rats slept well | The old rats ran well]]."
    >>> [finding.message for finding in check_whole_sentences(parse(text))]
    ['alternation 1: a whole sentence, of which 4 of 5 words are the same']
    """
    spans = [sentence_spans(text) for text in (abstract.original, abstract.altered)]
    for one in placed(abstract):
        if not _has_whole_sentence(one, spans):
            continue
        mine, other = (side.split() for _, side in one.sides)
        blocks = SequenceMatcher(None, mine, other, autojunk=False).get_matching_blocks()
        n_same, n = sum(block.size for block in blocks), max(len(mine), len(other))
        if n >= MIN_SENTENCE_WORDS and n_same >= MIN_SHARED * n:
            yield one.warning(
                "whole_sentence",
                f"a whole sentence, of which {n_same} of {n} words are the same",
                "Only the words that differ stand in an alternation: a long one hides what is asked.",
            )


def _has_whole_sentence(one: Placed, spans: list[list[tuple[int, int]]]) -> bool:
    """Whether either passage covers a sentence; the full stop may stand behind it."""
    return any(
        side.start <= start and end - 1 <= side.end
        for (side, _), sentences in zip(one.sides, spans, strict=True)
        for start, end in sentences
    )
