"""Originals that are, or nearly are, those of another item. Pure."""

import re
from collections.abc import Iterator, Sequence

from rapidfuzz.distance import Indel

from experiment.domain.item_checks.facts import Facts, Other
from experiment.domain.item_checks.findings import Finding, Level

# 2 M / T: M characters that both have in the same order, T characters of both together
MIN_SIMILARITY = 0.8
# Runs of words of which a near text holds one at least, spread over the text
N_PROBES, PROBE_WORDS = 8, 5
MAX_SHOWN = 3
REASON = "Two test cases of one text ask a person the same twice, and models' scores of them are not independent."


def check_others(original: str, facts: Facts, others: Sequence[Other]) -> Iterator[Finding]:
    """Warnings, the nearest first.

    >>> others = [Other("sleep-2", "human", "", "Rats  sleep. They did."), Other("sleep-3", "human", "", "Mice ran.")]
    >>> [(f.code, f.message) for f in check_others("Rats sleep. They did!", Facts("sleep"), others)]
    [('near_original', 'the original is 95% the same as that of sleep-2')]
    """
    near = _near(_flat(original), facts.key, others)
    for similarity, other in near[:MAX_SHOWN]:
        is_equal = similarity == 1
        how = "the same as" if is_equal else f"{min(similarity, 0.99):.0%} the same as"
        message = f"the original is {how} that of {other.key}"
        if facts.doi and facts.doi.lower() == other.doi.lower():
            message += ", which has the same DOI"
            if facts.source != other.source:
                message += " and is of the other source"
        code = "equal_original" if is_equal else "near_original"
        yield Finding(code, Level.WARNING, message, REASON, other.key)


def probes(original: str) -> list[str]:
    """Runs of words, as written, by which a database finds texts that may be near.

    A text with fewer changes than there are runs holds one of them unchanged.

    >>> probes("Rats sleep.")
    ['Rats sleep.']
    """
    spans = [match.span() for match in re.finditer(r"\S+", original)]
    last = max(0, len(spans) - PROBE_WORDS)
    starts = sorted({round(last * n / (N_PROBES - 1)) for n in range(N_PROBES)})
    runs = [spans[start : start + PROBE_WORDS] for start in starts]
    return [original[run[0][0] : run[-1][1]] for run in runs if run]


def _near(flat: str, key: str, others: Sequence[Other]) -> list[tuple[float, Other]]:
    """Other items whose original is near, with how near, each once."""
    best: dict[str, tuple[float, Other]] = {}
    for other in others:
        if other.key == key:
            continue
        similarity = Indel.normalized_similarity(
            flat, _flat(other.original), score_cutoff=MIN_SIMILARITY
        )
        if similarity and similarity > best.get(other.key, (0.0, other))[0]:
            best[other.key] = similarity, other
    return sorted(best.values(), key=lambda found: (-found[0], found[1].key))


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()
