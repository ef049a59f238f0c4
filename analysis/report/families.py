"""Sentences on a chapter's tests as one family."""

from collections.abc import Iterable

from analysis.presentation import sentences
from analysis.stats.families import Family
from analysis.stats.verdicts import Verdict
from lib import formatting as f


def too_few(verdicts: Iterable[Verdict | None], of_what: str = "test cases") -> str:
    """A sentence on those of several tests that conclude nothing for want of data; "" where all conclude something.

    >>> too_few([Verdict.TOO_FEW, Verdict.UNCLEAR, None])
    'For 1 of them, there are too few test cases to say.'
    """
    n = sum(one is Verdict.TOO_FEW for one in verdicts)
    return f"For {f.number(n, 0)} of them, there are too few {of_what} to say." if n else ""


def family_sentences(found: Family) -> str:
    """How many tests are significant, and how many independent ones they are; "" of a single test."""
    if found.n_tests < 2:
        return ""
    significant = f"{f.verb(found.n_clear, 'is', 'are')} significant (p below .05)"
    clear = f.number(found.n_clear, 0)
    corrected = (
        f"After Holm's correction over these {found.n_tests} tests and {f.count(found.n_others, 'test')} of the chapter's other "
        f"question, {clear} {significant}."
        if found.n_others
        else f"As one family, after Holm's correction, {clear} of {found.n_tests} {significant}."
    )
    return sentences(
        corrected,
        f"The estimates correlate at {f.number(found.mean_correlation)} on average, so the {found.n_tests} tests correspond to "
        f"about {f.number(found.n_effective, 1)} independent tests.",
    )
