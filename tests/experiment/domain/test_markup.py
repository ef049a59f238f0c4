import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.domain.markup import Abstract, Alternation, MarkupError, Plain, parse, render

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
def test_rendering_is_canonical(segments):
    markup = render(segments)
    assert render(parse(markup).segments) == markup


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


def test_an_ambiguous_split_shows_its_candidates():
    with pytest.raises(MarkupError) as caught:
        parse("[[a, b, c, d]]")
    assert caught.value.candidates == (
        Alternation("a", "b, c, d"),
        Alternation("a, b", "c, d"),
        Alternation("a, b, c", "d"),
    )
    assert "2. original “a, b” / altered “c, d”" in str(caught.value)


def test_versions_settle_an_ambiguous_split():
    text = parse("x [[a, b, c, d]] y", "x a, b y", "x c, d y")
    assert text.alternations == (Alternation("a, b", "c, d"),)


def test_versions_that_the_markup_cannot_give_are_a_mismatch():
    with pytest.raises(MarkupError) as caught:
        parse("x [[a, b]] y", "x a y", "x z y")
    assert caught.value.code == "mismatch"


def test_a_passage_with_single_brackets_keeps_them():
    assert parse("[[[18F]dopa, water [x]]]").alternations == (
        Alternation("[18F]dopa", "water [x]"),
    )


def test_a_pipe_separator_frees_the_commas():
    assert parse("[[1,000 cells, mostly | 2,000 cells]]").original == "1,000 cells, mostly"
