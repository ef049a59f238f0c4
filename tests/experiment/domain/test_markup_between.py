"""Two versions of a text as markup."""

import re

from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.markup import parse
from experiment.domain.markup_between import markup_between

words = st.lists(
    st.sampled_from(["rats", "slept,", "(more)", "[[a]]", "x|y", "1,000", "don't", "\\,", "µ"])
)


@given(words, words)
def test_the_markup_gives_both_versions_again(one, other):
    original, altered = " ".join(one).strip(), " ".join(other).strip()
    markup = markup_between(original, altered)
    if markup is None:
        # Nothing differs but white space: one version has no word at all
        assert original == altered or not original or not altered or same_words(one, other)
    else:
        abstract = parse(markup)
        assert (abstract.original, abstract.altered) == (original, altered)


def same_words(one: list[str], other: list[str]) -> bool:
    return re.findall(r"\S", "".join(one)) == re.findall(r"\S", "".join(other))


def test_words_that_stay_are_not_part_of_an_alternation():
    markup = markup_between("A b c d, e f.", "A x c d, e g h.")
    assert markup == "A [[b, x]] c d, e [[f, g h]]."


def test_added_words_go_with_a_neighbour():
    assert markup_between("It rose.", "Then it rose.") == "[[It, Then it]] rose."
    assert markup_between("It rose.", "It never rose.") == "[[It, It never]] rose."
    assert markup_between("b c.", "a b c.") == "[[b, a b]] c."
    assert markup_between("b c.", "a b x c.") == "[[b, a b x]] c."
    assert markup_between("a b x c.", "b c.") == "[[a b x, b]] c."


def test_texts_that_have_little_in_common_are_compared_in_no_time():
    one = " ".join(f"a{n % 7}" for n in range(3_000))
    other = " ".join(f"a{n % 5}" for n in range(3_000))
    markup = markup_between(f"{one} end", f"{other} end")
    assert markup is not None
    assert len(parse(markup).alternations) == 1
