"""Queries of trials, in texts by name, and those that are refused."""

from datetime import date
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.domain import trial_query
from experiment.domain.trial_query import ALLOWED, NAMES, QueryError, TrialQuery, parse

# Of spaces the plain one alone can be printed, which names must be
NAME = st.text(
    st.characters(categories=("L", "N", "P", "S"), include_characters=" "), min_size=1
).filter(lambda text: text.strip() and text.isprintable())
DAYS = st.dates(date(2000, 1, 1), date(2050, 1, 1)).map(str)
VALUES = {name: st.sampled_from(levels) for name, levels in ALLOWED.items()} | {
    "rules": st.integers(1, 999).map(str),
    "from": DAYS,
    "to": DAYS,
    "participant": st.uuids().map(str),
}


@st.composite
def asked(draw: st.DrawFn) -> dict[str, list[str]]:
    found = {}
    for name in draw(st.sets(st.sampled_from(NAMES))):
        most = 4 if name in trial_query.SEVERAL else 1
        found[name] = draw(st.lists(VALUES.get(name, NAME), min_size=1, max_size=most))
    return found


@given(asked())
def test_a_query_is_read_back_from_its_own_words(values: dict[str, list[str]]) -> None:
    try:
        query = parse(values)
    except QueryError as error:  # days the wrong way round, or reasons in the analysis
        assert {problem.name for problem in error.problems} <= {"to", "reason"}
        return
    assert parse(parse_qs(query.encode())) == query
    assert {name for name, _ in query.pairs} == {"set"} | set(values)


def test_order_and_repetition_of_values_make_no_other_query() -> None:
    one = parse({"item": ["b", "a"], "status": ["trial"]})
    assert one == parse({"status": ["trial", "trial", ""], "item": ["a ", "b", "a"]})
    assert one.encode() == "set=all&status=trial&item=a&item=b"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("set", "everything"), ("kind", "Real"), ("rules", "0"), ("rules", "1.5")),
        *(("rules", "²"), ("rules", "9" * 5_000), ("from", "yesterday"), ("to", "2026-02-30")),
        *(("status", "withdrawn"), ("source", "alien"), ("participant", "1")),
        *(("reason", "withdrawn"), ("recognised", "yes"), ("item", "a\x00b")),
        *(("subfield", "a\ud800"), ("colour", "red"), ("cursor", "")),
    ],
)
def test_unknown_names_and_values_are_problems_with_their_name(name: str, value: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse({"status": ["trial"], name: [value]})
    assert [problem.name for problem in caught.value.problems] == [name]
    assert caught.value.problems[0].allowed == ALLOWED.get(name, ())


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({"set": ["x"], "kind": ["real", "pilot"], "shape": ["y"]}, ["set", "kind", "shape"]),
        # Nothing can fulfil these
        ({"from": ["2026-03-02"], "to": ["2026-03-01"]}, ["to"]),
        ({"set": ["analysis"], "reason": ["too_fast"]}, ["reason"]),
    ],
)
def test_all_problems_are_told_at_once(values: dict[str, list[str]], names: list[str]) -> None:
    with pytest.raises(QueryError) as caught:
        parse(values)
    assert [problem.name for problem in caught.value.problems] == names


def test_nothing_asked_is_every_trial_of_the_usual_kind() -> None:
    assert parse({}) == parse({name: [""] for name in NAMES}) == TrialQuery()
