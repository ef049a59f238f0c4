"""The language of templates lets nothing through but slots, comparisons, arithmetic, if, simple filters and short loops."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.questions.language import (
    LONGEST,
    MOST_TURNS,
    LanguageError,
    condition,
    text,
)
from experiment.domain.questions.values import (
    Empty,
    EmptyCellError,
    Number,
    UnlikeError,
    Word,
    typed,
)

HOSTILE = [
    *("{{ ''.__class__ }}", "{{ name.__init__.__globals__ }}", "{{ name['x'] }}"),
    *("{{ name|attr('__class__') }}", "{{ range(9) }}", "{{ cycler }}{{ cycler() }}"),
    *("{% for n in name %}x{% endfor %}", "{% set n = 1 %}", "{% macro m() %}{% endmacro %}"),
    *("{% include 'x' %}", "{% extends 'x' %}", "{% import 'os' as os %}", "{{ 9 ** 9 ** 9 }}"),
    *("{{ name ~ name }}", "{{ name // 2 }}", "{{ name % 2 }}", "{{ name|center(99999999) }}"),
    *("{{ name|round(99999999) }}", "{{ name|round(precision=9) }}", "{{ name|upper('x') }}"),
    *("{{ [1] * 999999999 }}", "{{ [name] }}", "{{ name, name }}", "{{ 1e400 }}"),
    *("{{ name is defined }}", "{{ name is empty(1) }}", "{{ 'a' if name else 'b' }}"),
    *("{% if name %}x{% endif %}", "{{ name or 'b' }}", "{{ name in 'abc' }}", "{{ self }}"),
    *("{{ loop }}", "{{ (" * 900 + "}}", "{{ " + "not " * 900 + "name }}"),
    # Loops: of what there is no end, within one another, of a row as a whole, of what is no column
    *("{% for n in name|upper %}x{% endfor %}", "{% for n in rows %}x{% endfor %}"),
    *("{% for n in name|split('x') %}x{% endfor %}", "{% for n in 'a;b'|split %}x{% endfor %}"),
    *(
        "{% for n in a|split if n == 'x' %}x{% endfor %}",
        "{% for n in a|split recursive %}x{% endfor %}",
    ),
    *("{% for n in a|split %}{% for m in b|split %}x{% endfor %}{% endfor %}", "{{ a|split }}"),
    *("{% for n in a|split %}x{% else %}y{% endfor %}", "{% for a, b in n|split %}x{% endfor %}"),
    *(
        "{% for n in rows|nearest('at', 101) %}x{% endfor %}",
        "{% for n in rows|nearest('at', True) %}x{% endfor %}",
    ),
    *(
        "{% for n in rows|nearest(at, 2) %}x{% endfor %}",
        "{% for n in name|nearest('at', 2) %}x{% endfor %}",
    ),
    *(
        "{% for n in rows|nearest('at', 2) %}{{ n }}{% endfor %}",
        "{% for loop in a|split %}x{% endfor %}",
    ),
    *(
        "{% for n in a|split %}{{ n.x }}{% endfor %}",
        "{% for n in a|split %}{{ loop.cycle }}{% endfor %}",
    ),
    *(
        "{% for n in rows|nearest('at', 2) %}{{ m.at }}{% endfor %}",
        "{{ loop.first }}",
        "{{ rows }}",
    ),
    *("{% if name %}" * 200 + "{% endif %}" * 200, "{{ name", "{% if name %}", "x" * (LONGEST + 1)),
]


@pytest.mark.parametrize("source", HOSTILE, ids=range(len(HOSTILE)))
def test_code_beyond_the_language_of_templates_is_refused(source):
    with pytest.raises(LanguageError):
        text(source)


@pytest.mark.parametrize(
    "source",
    [
        *("a) }}{{ (b", "a; b", "a b", "a = 1", "a()", "a.b", "a[0]", "a + 1", "a is none", "a"),
        *("a and a < 25", "not a", "a if a > 1 else 2", "0", "{{ a }}", "self"),
    ],
)
def test_a_condition_is_one_expression_without_code(source):
    with pytest.raises(LanguageError):
        condition(source)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_in_a_sentence(source):
    for read in (text, condition):
        try:
            read(source)
        except LanguageError as error:
            assert str(error)


@given(st.text(st.characters(codec="utf-8", exclude_characters="{}%#\r"), max_size=200))
def test_a_cell_is_written_as_it_stands_and_is_never_a_template(cell):
    assert text("a {{ x }} b").write({"x": "{{ y }}" + cell}) == "a {{ y }}" + cell + " b"


@given(st.lists(st.decimals(-(10**6), 10**6, places=3), min_size=1), st.integers(-(10**6), 10**6))
def test_numbers_compare_as_numbers_and_keep_their_spelling(numbers, limit):
    holds, written = condition(f"n < {limit}"), text("{{ n }}")
    rows = [{"n": str(number)} for number in numbers]
    for number, values in zip(numbers, typed(rows), strict=True):
        assert holds.holds(values) == (number < limit)
        assert written.write(values) == str(number)


def test_one_cell_that_is_no_number_makes_its_column_texts():
    first, _ = typed([{"n": "10"}, {"n": "n/a"}])
    for unlike in (
        *("n < 5", "n == 10", "10 == n", "n != 10", "n in [9, 10]", "n|trim == 10", "-n == 1"),
    ):
        with pytest.raises(UnlikeError):
            condition(unlike).holds(first)
    assert condition("n == '10' and n in ['9', '10']").holds(first)
    for cell, limit in (("007", "9"), ("1e999", "2"), ("10 mg", "9 mg")):
        (row,) = typed([{"n": cell}])
        with pytest.raises(UnlikeError):
            condition(f"n < '{limit}'").holds(row)


@pytest.mark.parametrize(
    "unlike", ["n == '18'", "n != 'x'", "n < 'x'", "n in ['x']", "n|length == 'x'"]
)
def test_a_number_beside_a_text_is_an_error_and_never_false(unlike):
    (row,) = typed([{"n": "18"}])
    with pytest.raises(UnlikeError):
        condition(unlike).holds(row)


def test_dates_alone_are_texts_with_a_before_and_an_after():
    (row,) = typed([{"day": "2020-12-31"}])
    assert condition("day < '2021-01-01' and '2020-01-01' <= day").holds(row)
    with pytest.raises(UnlikeError):
        condition("day < '2021'").holds(row)


EMPTY_BESIDE = [
    *("n < 2", "n == 1", "n != 1", "1 != n", "n == 'x'", "n in [1, 2]", "n == other", "other == n"),
]


def test_an_empty_cell_can_be_asked_for_and_neither_written_nor_compared():
    values, other = typed([{"n": "", "other": "3"}, {"n": "0", "other": "3"}])
    assert condition("n is empty and n == '' and not n is not empty and not n != ''").holds(values)
    assert condition("n is not empty and n < 25").holds(other)
    reads = [lambda: text("{{ n|upper }}").write(values), lambda: text("{{ -n }}").write(values)]
    reads += [lambda c=c: condition(c).holds(values) for c in EMPTY_BESIDE]
    for read in reads:
        with pytest.raises(EmptyCellError, match="n"):
            read()


def test_filters_round_and_group_digits():
    values = {"n": Number("-0.04"), "big": Number("40225590")}
    written = text("{{ n|round(1) }} {{ n|round(2) }} {{ big|thousands }}").write(values)
    assert written == "0.0 -0.04 40,225,590"
    shown = [text("{{ n|thousands }}").write({"n": Number(n)}) for n in ("-0.5", "-1234.5", "1e5")]
    assert shown == ["-0.5", "-1,234.5", "1e5"]
    assert text("{{ -n }} {{ +big }}").write(values) == "0.04 40225590"


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("{{ end - start }}", "0.2"),
        ("{{ (start + 1) * 3 }}", "3.3"),
        ("{{ 1 / n|round(2) }}", "0.333333333333333"),
        ("{{ (start - end)|abs }}", "0.2"),
        ("{{ big * 100 }}", "4022559000"),
        ("{% if end - start > 0.2 %}far{% else %}near{% endif %}", "near"),
    ],
)
def test_numbers_are_worked_out_as_on_paper(source, written):
    numbers = {"start": "0.1", "end": "0.30", "n": "3", "big": "40225590"}
    assert text(source).write({name: Number(n) for name, n in numbers.items()}) == written


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        *(("{{ word * 999999999 }}", UnlikeError), ("{{ word + word }}", UnlikeError)),
        ("{{ 'a' * 999999999 }}", UnlikeError),
        *(("{{ n / (n - 2) }}", UnlikeError), ("{{ n + (n > 1) }}", UnlikeError)),
        ("{{ " + "n * 1e300 * " * 2 + "n }}", UnlikeError),
        ("{{ n - gone }}", EmptyCellError),
        ("{% for g in gone|split %}x{% endfor %}", EmptyCellError),
        ("{% for g in many|split %}x{% endfor %}", UnlikeError),
    ],
)
def test_arithmetic_without_numbers_and_loops_over_long_lists_are_refused(source, fault):
    many = Word(";".join("x" * (MOST_TURNS + 1)))
    values = {"word": Word("tin"), "n": Number("2"), "gone": Empty("gone"), "many": many}
    with pytest.raises(fault):
        text(source).write(values)


def test_a_loop_goes_over_the_values_of_a_cell():
    comma = "{% if not loop.last %}, {% endif %}"
    listed = text("{% for g in genes | split %}{{ loop.index }} {{ g }}" + comma + "{% endfor %}")
    assert listed.slots == {"genes"}
    assert listed.write({"genes": Word("TP53; BRCA1;")}) == "1 TP53, 2 BRCA1"
    above = text("{% for n in sizes | split %}{% if n > least %}{{ n }} {% endif %}{% endfor %}")
    assert above.slots == {"sizes", "least"}
    assert above.write({"sizes": Word("9; 10; 11"), "least": Number("9")}) == "10 11"
