"""Templates filled from tables: the first rule that holds, pairs that clash with none, strata and seeds."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.questions import filling
from experiment.domain.questions.filling import (
    Pair,
    Reason,
    Rule,
    Template,
    TemplateFaultsError,
    allocate,
    fill,
    sample,
    unique,
)
from experiment.domain.questions.values import MixedColumn

DRUGS = Template(
    "How many targets does {{ drug }} have?",
    (
        Rule("targets == 0", "{{ drug }} has none."),
        Rule("targets == 1 and approved == 'yes'", "{{ drug }}, which is approved, has one."),
        Rule("targets > 1", "{{ drug }} has {{ targets }}."),
    ),
)


def rows(*lines):
    return [
        dict(zip(("drug", "targets", "approved"), line.split("|"), strict=True)) for line in lines
    ]


def test_the_first_rule_that_holds_gives_the_answer_and_other_rows_say_why_not():
    made = fill(DRUGS, rows("a|0|no", "b|1|yes", "c|1|no", "d|12|", "e||yes"))
    assert [(p.row, p.rule, p.answer) for p in made.pairs] == [
        (1, 1, "a has none."),
        (2, 2, "b, which is approved, has one."),
        (4, 3, "d has 12."),
    ]
    assert [(one.row, one.reason, one.detail) for one in made.left_out] == [
        (3, Reason.NO_RULE, ""),
        (5, Reason.EMPTY, "targets"),
    ]
    assert made.pairs[2].values == {"drug": "d", "targets": "12", "approved": ""}


def test_rows_that_clash_are_named_with_the_row_that_they_clash_with():
    made = fill(DRUGS, rows("a|2|", "b|3|", "A|2|", "b|4|", "b|3|", "c|2|"))
    assert [p.row for p in made.pairs] == [1, 6]
    assert [(one.row, one.reason, one.other) for one in made.left_out] == [
        (2, Reason.AMBIGUOUS, 4),
        (3, Reason.SAME_QUESTION, 1),
        (4, Reason.AMBIGUOUS, 2),
        (5, Reason.AMBIGUOUS, 4),
    ]


def test_questions_that_share_an_answer_are_kept_only_where_that_is_asked_for():
    template = Template("Is {{ drug }} approved?", (Rule("", "{{ approved }}"),))
    table = rows("a|1|yes", "b|1|no", "c|1|Yes")
    assert [p.row for p in fill(template, table).pairs] == [1, 2]
    assert [(o.row, o.reason, o.other) for o in fill(template, table).left_out] == [
        (3, Reason.SAME_ANSWER, 1)
    ]
    assert len(fill(template, table, unique_answers=False).pairs) == 3


FAMILY = Template(
    "Of which family is {{ name }}?",
    (Rule("group == 1", "An alkali metal."), Rule("", "None: group {{ group }}.")),
)


def test_one_cell_that_is_no_number_makes_no_wrong_answers_of_the_others():
    table = [{"name": "lithium", "group": "1"}, {"name": "cerium", "group": "-"}]
    made = fill(FAMILY, table)
    assert not made.pairs
    assert {one.reason for one in made.left_out} == {Reason.UNUSABLE}
    assert "is compared with 1" in made.left_out[0].detail
    assert made.mixed == [MixedColumn("group", 2, "-")]
    empty = fill(FAMILY, [table[0], {"name": "cerium", "group": ""}])
    assert [pair.answer for pair in empty.pairs] == ["An alkali metal."]
    assert [(one.row, one.reason) for one in empty.left_out] == [(2, Reason.EMPTY)]
    assert not empty.mixed


def test_many_rows_that_ask_the_same_are_each_compared_once(monkeypatch):
    read = []
    monkeypatch.setattr(filling, "plain", lambda text: (read.append(text), text)[1])
    pairs = [Pair(n, "Q?", "yes" if n <= 10_000 else "no", 1, {}) for n in range(1, 20_001)]
    kept, left = unique(pairs)
    assert not kept
    assert {one.other for one in left[:10_000]} == {10_001}
    assert {one.other for one in left[10_000:]} == {1}
    assert len(read) == 2 * len(pairs)


def test_every_fault_of_a_template_is_named_with_its_part():
    with pytest.raises(TemplateFaultsError) as found:
        fill(Template("{{ drug.x }}", (Rule("targets >", "ok"), Rule("", ""))), rows("a|1|"))
    said = " ".join(found.value.faults)
    assert all(part in said for part in ("the question", "condition of rule 1", "empty"))
    with pytest.raises(TemplateFaultsError, match=r"answer of rule 1: .* “dose”"):
        fill(Template("{{ drug }}?", (Rule("", "{{ dose }}"),)), rows("a|1|"))
    with pytest.raises(TemplateFaultsError, match="1 to 50 rules"):
        fill(Template("{{ drug }}?", ()), rows("a|1|"))


_CELL = st.text(st.characters(categories=("L", "N")), max_size=2)


@given(st.lists(st.tuples(_CELL, _CELL), max_size=30))
def test_each_row_makes_a_pair_or_says_why_not_and_no_two_pairs_clash(cells):
    table = [{"a": a, "b": b} for a, b in cells]
    if not table:
        return
    rules = (Rule("a == b", "Same: {{ b }}"), Rule("b is not empty", "{{ b }}."))
    made = fill(Template("What of {{ a }}?", rules), table)
    every = [*(p.row for p in made.pairs), *(one.row for one in made.left_out)]
    assert sorted(every) == list(range(1, len(table) + 1))
    for texts in ([p.question for p in made.pairs], [p.answer for p in made.pairs]):
        assert len({" ".join(one.split()).casefold() for one in texts}) == len(texts)
    for pair in made.pairs:
        row = table[pair.row - 1]
        assert pair.question == f"What of {row['a']}?"
        assert pair.answer == (f"Same: {row['b']}" if row["a"] == row["b"] else f"{row['b']}.")


@given(st.dictionaries(st.text(max_size=2), st.integers(1, 30), max_size=6), st.integers(0, 80))
def test_strata_give_as_evenly_as_they_can_and_the_same_for_the_same_seed(sizes, n):
    counts = allocate(sizes, n, random.Random(1))
    assert sum(counts.values()) == min(n, sum(sizes.values()))
    spare = [counts[name] for name in sizes if counts[name] < sizes[name]]
    assert not spare or max(counts.values()) - min(spare) <= 1
    every = [(name, k) for name, size in sizes.items() for k in range(size)]
    drawn = sample(every, n, lambda one: one[0], random.Random(7))
    assert drawn == sample(every, n, lambda one: one[0], random.Random(7))
    assert drawn == sorted(set(drawn), key=every.index)
    assert sorted(Counter(name for name, _ in drawn).values()) == sorted(
        k for k in counts.values() if k
    )


NEAREST = (
    "{% for other in rows | nearest('at', 2, 'chromosome') %}"
    "{{ other.gene }}{% if not loop.last %} and {% endif %}{% endfor %}"
)


def genes(*rows: str) -> list[dict[str, str]]:
    return [dict(zip(("gene", "chromosome", "at"), row.split(), strict=True)) for row in rows]


def test_the_rows_that_are_nearest_make_an_answer_and_chance_makes_none():
    table = genes("A 1 100", "B 1 90", "C 1 130", "D 1 900", "E 2 101", "F 2 5", "G x 7")
    template = Template("Which two are nearest to {{ gene }}?", (Rule("", NEAREST),))
    found = fill(template, table)
    assert {pair.question[-2]: pair.answer for pair in found.pairs} == {
        "A": "B and C",
        "B": "A and C",
        "C": "A and B",
        "D": "C and A",
    }
    assert {left.detail for left in found.left_out} == {
        "the answer of rule 1: only 1 of 2 rows are near in “at”",
        "the answer of rule 1: only 0 of 2 rows are near in “at”",
    }
    tied = fill(template, genes("A 1 100", "B 1 90", "C 1 80", "D 1 120"))
    assert [(left.row, left.reason) for left in tied.left_out if "equally" in left.detail] == [
        (1, Reason.UNUSABLE),  # C or D
        (2, Reason.UNUSABLE),  # “A and C” or “C and A”
    ]
    with pytest.raises(TemplateFaultsError, match="not have a column “at”"):
        fill(template, [{"gene": "A", "chromosome": "1"}])


@pytest.mark.parametrize("at", ["0.1 0.2 0.3", "1.10 1.2 1.3", "1e-1 0.20 +3e-1"])
def test_numbers_are_as_near_as_they_are_written(at: str):
    rows = [{"name": name, "at": n} for name, n in zip("ABC", at.split(), strict=True)]
    one = "{% for other in rows | nearest('at', 1) %}{{ other.name }}{% endfor %}"
    found = fill(Template("Near {{ name }}?", (Rule("", one),)), rows)
    assert [pair.row for pair in found.pairs] == [1]
    assert [left.row for left in found.left_out if "equally" in left.detail] == [2]


def test_the_nearest_of_many_rows_are_found_in_their_order():
    rows = [{"name": f"n{k}", "at": str(k * k), "empty": ""} for k in range(5_000)]
    near = "{% for other in rows | nearest('at', 3) %}{{ other.name }} {% endfor %}"
    pairs = fill(Template("Near {{ name }}?", (Rule("", near),)), rows).pairs
    assert (pairs[0].answer, pairs[100].answer) == ("n1 n2 n3", "n99 n101 n98")
    hole = near.replace("other.name", "other.empty")
    found = fill(Template("Near {{ name }}?", (Rule("", hole),)), rows[:9])
    assert {left.reason for left in found.left_out} == {Reason.EMPTY}
