"""The sentences on tests that are corrected together."""

from analysis.report.families import family_sentences
from analysis.stats.families import Family

TOGETHER = Family(n_tests=4, n_effective=2.5, mean_correlation=0.31, n_clear=1, smallest_p=0.01)


def test_a_family_says_how_many_are_significant_and_how_many_are_independent() -> None:
    assert family_sentences(TOGETHER) == (
        "As one family, after Holm's correction, 1 of 4 is significant (p below .05). "
        "The estimates correlate at 0.31 on average, so the 4 tests correspond to about 2.5 independent tests."
    )


def test_a_family_names_the_tests_of_the_other_question() -> None:
    words = family_sentences(Family(4, 2.5, 0.31, n_clear=2, smallest_p=0.01, n_others=3))
    assert words.startswith(
        "After Holm's correction over these 4 tests and 3 tests of the chapter's other question, 2 are significant (p below .05). "
    )


def test_a_single_test_is_no_family() -> None:
    assert family_sentences(Family(1, 1.0, None, n_clear=1, smallest_p=0.01)) == ""
