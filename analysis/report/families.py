"""Sentences on a chapter's tests as one family."""

from analysis.presentation import sentences
from analysis.stats.families import Family
from lib import formatting as f


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
