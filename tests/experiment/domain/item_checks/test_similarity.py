"""Originals that are, or nearly are, another item's."""

from hypothesis import given
from hypothesis import strategies as st

from experiment.domain.item_checks.findings import Facts, Finding, Other
from experiment.domain.item_checks.form import MAX_SHOWN, N_PROBES, check_others, probes

TEXT = "Sleep matters to every animal. Little is known of its causes. Rats slept through the night."
FACTS = Facts("sleep", key="sleep-1", doi="10.1234/A", source="human")


def found(text: str, *others: Other) -> list[Finding]:
    return list(check_others(text, FACTS, others))


def test_an_equal_and_a_near_one_are_found_the_equal_first() -> None:
    near = Other("sleep-3", "human", "", TEXT.replace("night", "day"))
    equal = Other("sleep-2", "machine", "10.1234/a", TEXT.upper().replace(". ", ".\n"))
    assert [(f.code, f.quote) for f in found(TEXT, near, equal)] == [
        ("equal_original", "sleep-2"),
        ("near_original", "sleep-3"),
    ]


def test_what_has_the_same_doi_is_said_to() -> None:
    equal = Other("sleep-2", "machine", "10.1234/a", TEXT)
    assert found(TEXT, equal)[0].message.endswith("the same DOI and is of the other source")


def test_another_text_and_other_versions_of_it_are_not() -> None:
    assert not found(TEXT, Other("sleep-2", "human", "10.1234/A", "Mice ran at noon, unseen."))
    assert not found(TEXT, Other("sleep-1", "human", "10.1234/A", TEXT))


def test_versions_of_one_item_are_named_once_and_many_items_are_not_all_named() -> None:
    assert len(found(TEXT, Other("a", "human", "", TEXT), Other("a", "human", "", TEXT + "!"))) == 1
    assert len(found(TEXT, *(Other(str(n), "human", "", TEXT) for n in range(9)))) == MAX_SHOWN


@given(st.text())
def test_runs_stand_in_the_text_as_written(text: str) -> None:
    runs = probes(text)
    assert len(runs) <= N_PROBES
    assert all(run in text and run.strip() for run in runs)
    assert bool(runs) == bool(text.strip())
