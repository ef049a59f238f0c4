import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.domain.markup import Abstract, Alternation, MarkupError, Plain, parse, render
from experiment.domain.markup_between import markup_between

# Every character with a meaning, often; the rest of Unicode, sometimes.
TEXT = st.text(st.one_of(st.sampled_from("[]|,\\ ab\n"), st.characters(codec="utf-8")), max_size=12)
PASSAGE = TEXT.map(lambda text: text.strip(" \t\r\n")).filter(bool)
ALTERNATION = (
    st.tuples(PASSAGE, PASSAGE).filter(lambda p: p[0] != p[1]).map(lambda p: Alternation(*p))
)


@st.composite
def segment_lists(draw):
    segments = []
    for alternation in draw(st.lists(ALTERNATION, min_size=1, max_size=4)):
        segments += [Plain(text) for text in [draw(TEXT)] if text]
        segments.append(alternation)
    return [*segments, *(Plain(text) for text in [draw(TEXT)] if text)]


@given(segment_lists())
@settings(max_examples=1000)
def test_any_segments_survive_rendering_and_parsing(segments):
    assert list(parse(render(segments)).segments) == segments


@given(segment_lists())
def test_the_versions_differ_exactly_inside_alternations(segments):
    abstract = parse(render(segments))
    at_original = at_altered = 0
    for segment in abstract.segments:
        one, other = (
            (segment.text, segment.text)
            if isinstance(segment, Plain)
            else (segment.original, segment.altered)
        )
        assert abstract.original.startswith(one, at_original)
        assert abstract.altered.startswith(other, at_altered)
        assert (one != other) == isinstance(segment, Alternation)
        at_original += len(one)
        at_altered += len(other)
    assert (at_original, at_altered) == (len(abstract.original), len(abstract.altered))


@given(segment_lists())
def test_known_versions_settle_every_split_that_they_can(segments):
    abstract = Abstract(tuple(segments))
    try:
        again = parse(render(segments), abstract.original, abstract.altered)
    except MarkupError as error:
        # Two splits that give the same texts cannot be distinguished; nothing else may fail.
        assert error.code == "ambiguous"
    else:
        assert (again.original, again.altered) == (abstract.original, abstract.altered)


@given(st.text(max_size=60))
def test_any_text_parses_or_fails_with_a_place(text):
    try:
        parse(text)
    except MarkupError as error:
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.column >= 1


@pytest.mark.parametrize(
    ("markup", "code", "line", "column"),
    [
        ("", "empty_text", 1, 1),
        (" \n ", "empty_text", 1, 1),
        ("No choice here.", "no_alternation", 1, 1),
        ("It was so [12, 13].\nRecall [rose, fell].", "no_alternation", 2, 8),
        ("a\nb [[c, d", "unbalanced", 2, 3),
        ("a]] b", "unbalanced", 1, 2),
        ("[[a, b]]]]", "unbalanced", 1, 7),
        ("[[a, [[b, c]]]]", "nested", 1, 6),
        ("x [[decreased, increased] at y, while [[a, b]]", "nested", 1, 39),
        ("x [[ab]]", "no_separator", 1, 3),
        ("x [[a|b]]", "no_separator", 1, 3),
        ("x [[, b]]", "empty_passage", 1, 3),
        ("x [[a,  ]]", "empty_passage", 1, 3),
        ("x [[a , a]]", "equal_passages", 1, 3),
        ("x\ny [[a, b, c]]", "ambiguous", 2, 3),
        ("[[a | b | c]]", "ambiguous", 1, 1),
    ],
)
def test_errors_name_what_and_where(markup, code, line, column):
    with pytest.raises(MarkupError) as caught:
        parse(markup)
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, line, column)


def test_an_ambiguous_split_shows_its_candidates_and_versions_settle_it():
    with pytest.raises(MarkupError) as caught:
        parse("[[a, b, c, d]]")
    assert caught.value.candidates == (
        Alternation("a", "b, c, d"),
        Alternation("a, b", "c, d"),
        Alternation("a, b, c", "d"),
    )
    assert "2. original “a, b” / altered “c, d”" in str(caught.value)
    text = parse("x [[a, b, c, d]] y", "x a, b y", "x c, d y")
    assert text.alternations == (Alternation("a, b", "c, d"),)


def test_versions_that_the_markup_cannot_give_are_a_mismatch():
    with pytest.raises(MarkupError) as caught:
        parse("x [[a, b]] y", "x a y", "x z y")
    assert caught.value.code == "mismatch"


def test_single_brackets_stay_and_a_pipe_frees_the_commas():
    found = parse("[[[18F]dopa, water [x]]]").alternations
    assert found == (Alternation("[18F]dopa", "water [x]"),)


def test_a_pipe_separator_frees_the_commas():
    assert parse("[[1,000 cells, mostly | 2,000 cells]]").original == "1,000 cells, mostly"


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


@pytest.mark.parametrize(
    ("original", "altered", "markup"),
    [
        ("A b c d, e f.", "A x c d, e g h.", "A [[b, x]] c d, e [[f, g h]]."),
        # Added words go with a neighbour
        ("It rose.", "Then it rose.", "[[It, Then it]] rose."),
        ("It rose.", "It never rose.", "[[It, It never]] rose."),
        ("b c.", "a b c.", "[[b, a b]] c."),
        ("b c.", "a b x c.", "[[b, a b x]] c."),
        ("a b x c.", "b c.", "[[a b x, b]] c."),
    ],
)
def test_words_that_stay_are_not_part_of_an_alternation(original, altered, markup):
    assert markup_between(original, altered) == markup


def test_texts_that_have_little_in_common_are_compared_in_no_time():
    one = " ".join(f"a{n % 7}" for n in range(3_000))
    other = " ".join(f"a{n % 5}" for n in range(3_000))
    markup = markup_between(f"{one} end", f"{other} end")
    assert markup is not None
    assert len(parse(markup).alternations) == 1
