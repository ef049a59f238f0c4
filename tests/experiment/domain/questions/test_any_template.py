"""With any template, each row of any table gives bounded texts with finite numbers, or a reason that names the part."""

import re
import time
from collections.abc import Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiment.domain.markup import MAX_CHARACTERS
from experiment.domain.questions.filling import (
    LONGEST_DETAIL,
    LeftOut,
    Pair,
    Reason,
    Rule,
    Template,
    TemplateFaultsError,
    fill,
)

NOT_FINITE = re.compile(r"\b(inf|infinity|nan|snan)\b", re.IGNORECASE)
NUMBERS = (
    *(
        "0",
        "-0",
        "1",
        "3",
        "2.50",
        "-0.5",
        "1e308",
        "-1e308",
        "1e-308",
        "1e-999",
        "1e999",
        "5e-324",
    ),
    *(
        "NaN",
        "inf",
        "-Infinity",
        "9" * 309,
        "1" + "0" * 300,
        "0." + "0" * 299 + "1",
        "007",
        "+5",
        "",
    ),
)
WORDS = (
    "tin",
    "2020-12-31",
    "TP53; BRCA1",
    "1;2;1e400",
    "%s {{ n }}",
    "",
    "\x00",
    "\u202e",
    "x" * 900,
)
CELLS = {"n": NUMBERS, "m": NUMBERS, "w": WORDS, "v": WORDS}

_LITERALS = ("0", "1", "3", "2.5", "1e308", "1e-308", "1e-400", "0x" + "f" * 200, "1_000")
_WILD = (
    "1e400",
    "9" * 400,
    "none",
    "[n, m]",
    "(w, n)",
    "n ** m",
    "w ~ w",
    "w | center(60000000)",
    "n | round(True)",
)


def _calculated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    filters = st.sampled_from(["abs", "round", "round(10)", "thousands", "length"])
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, filters).map(lambda t: f"({t[0]} | {t[1]})"),
        inner.map(lambda one: f"(-{one})"),
    )


def _truths(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
        inner.map(lambda one: f"(not {one})"),
    )


_numbers = st.recursive(st.sampled_from([*_LITERALS, "n", "m"]), _calculated, max_leaves=6)
_words = st.tuples(
    st.sampled_from(["w", "v", "'tin'", "''", "'2020-01-01'"]),
    st.sampled_from(["", " | lower", " | upper", " | capitalize", " | trim"]),
).map("".join)
_usual = st.one_of(_numbers, _words)
_values = st.one_of(*[_usual] * 5, st.sampled_from(_WILD))
_same = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_compared = st.one_of(
    st.tuples(_values, _same, _values).map(lambda t: f"({' '.join(t)})"),
    st.tuples(_values, st.sampled_from(["in", "not in"]), st.lists(_values, max_size=3)).map(
        lambda t: f"({t[0]} {t[1]} [{', '.join(t[2])}])"
    ),
    st.tuples(_words, _words).map(lambda t: f"({t[0]} in ({t[1]}))"),
    _values.map(lambda one: f"({one} is empty)"),
)
_conditions = st.recursive(_compared, _truths, max_leaves=4)
_slots = st.one_of(
    _values.map(lambda found: f"{{{{ {found} }}}}"),
    st.tuples(_values, _conditions, _values).map(
        lambda t: f"{{{{ {t[0]} if {t[1]} else {t[2]} }}}}"
    ),
)
_loops = st.one_of(
    st.tuples(st.sampled_from("wvnm"), _values).map(
        lambda t: f"{{% for x in {t[0]} | split %}}{{{{ x }}}}{{{{ {t[1]} }}}}{{% endfor %}}"
    ),
    st.tuples(st.sampled_from("nmw"), st.integers(0, 3), _values).map(
        lambda t: (
            f"{{% for x in rows | nearest('{t[0]}', {t[1]}) %}}{{{{ x.n * 2 }}}}{{{{ {t[2]} }}}}{{% endfor %}}"
        )
    ),
)
_choices = st.tuples(_conditions, _slots).map(lambda t: f"{{% if {t[0]} %}}{t[1]}{{% endif %}}")
_texts = st.lists(st.one_of(_slots, _loops, _choices), max_size=3).map(
    lambda t: "Is it? " + "".join(t)
)
_rows = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()}),
    min_size=1,
    max_size=5,
)


@settings(max_examples=600, deadline=None)
@given(question=_texts, when=st.one_of(st.just(""), _conditions), answer=_texts, rows=_rows)
@example("{{ 1e400 * n }}", "", "Yes.", [dict.fromkeys(CELLS, "0")])
@example("{{ w }}?", "n * 1e308 / n > 0", "Yes.", [dict.fromkeys(CELLS, "0")])
@example(
    "{{ n / m }}",
    "",
    "{{ n * n * n }}",
    [{**dict.fromkeys(CELLS, "tin"), "n": "1e-308", "m": "1e308"}],
)
@example("{{ [n, 1e400] }}", "", "{{ n | round(True) }}", [dict.fromkeys(CELLS, "1")])
def test_each_row_gives_a_bounded_text_of_finite_numbers_or_says_in_which_part_not(
    question: str, when: str, answer: str, rows: list[Mapping[str, str]]
) -> None:
    rules = (Rule(when, answer), Rule("", "No."))
    try:
        filling = fill(Template(question, rules), rows, unique_answers=False)
    except TemplateFaultsError as error:
        assert all(fault.strip() for fault in error.faults)
        return
    found = [*filling.pairs, *filling.left_out]
    assert sorted(one.row for one in found) == list(range(1, len(rows) + 1))
    for one in found:
        row = rows[one.row - 1]
        if isinstance(one, LeftOut):
            _is_said(one)
        elif not any(NOT_FINITE.search(cell) for cell in row.values()):
            _is_written(one)


def _is_said(one: LeftOut) -> None:
    assert len(one.detail) <= LONGEST_DETAIL + 1
    if one.reason == Reason.UNUSABLE:
        assert re.match(r"the (question|condition of rule \d|answer of rule \d)", one.detail)


def _is_written(pair: Pair) -> None:
    for text in (pair.question, pair.answer):
        assert 0 < len(text) <= MAX_CHARACTERS
        assert not NOT_FINITE.search(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{ 1e400 * n }}", "the question: line 1: a number is too large"),
        ("a\n{{ n + 0x" + "f" * 400 + " }}", "the question: line 2: a number is too large"),
        ("{{ n \x00 }}", "the question: contains a character that cannot be part of a text"),
        ("a \ud800", "the question: contains a character that cannot be part of a text"),
        ("{{ [n, n] }}", "the question: line 1: only slots"),
        ("{{ n, n }}", "the question: line 1: only slots"),
        ("{{ n | round(true) }}", "the question: the filter “round” takes digits"),
    ],
)
def test_no_template_is_taken_that_says_what_no_row_can(text: str, said: str) -> None:
    with pytest.raises(TemplateFaultsError, match=re.escape(said)):
        fill(Template(text, (Rule("", "Yes."),)), [{"n": "1"}])


@pytest.mark.parametrize(
    ("when", "answer", "said"),
    [
        ("", "{{ n * n }}", "the answer of rule 1: 1e308 * 1e308 is too large"),
        ("1 / n / n > 0", "Yes.", "the condition of rule 1: 1e-308 / 1e308 is too small"),
        ("n < w", "Yes.", "the condition of rule 1: the number 1e308 is compared with “tin"),
    ],
)
def test_a_row_that_gives_no_number_names_the_part_and_what_was_calculated(
    when: str, answer: str, said: str
) -> None:
    template = Template("Is it {{ n }}?", (Rule(when, answer),))
    [left] = fill(template, [{"n": "1e308", "w": "tin"}]).left_out
    assert (left.row, left.reason) == (1, Reason.UNUSABLE)
    assert left.detail.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        "{{ w }}" * 400,
        "{% for x in w | split %}" + "{{ w }}" * 300 + "{% endfor %}",
        "{{ w | upper }}" * 200,
        "{{ w * 2 }}",
    ],
)
def test_a_long_cell_named_often_takes_neither_time_nor_memory(text: str) -> None:
    begun = time.process_time()
    [left] = fill(Template(text, (Rule("", "Yes."),)), [{"w": "long; " * 300_000}]).left_out
    assert (left.reason, len(left.detail) <= LONGEST_DETAIL + 1) == (Reason.UNUSABLE, True)
    assert time.process_time() - begun < 5
