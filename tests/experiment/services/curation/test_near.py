"""Test cases of nearly the same text are found among many."""

import time

import pytest

from experiment.domain.item_checks.findings import Facts
from experiment.models import Item
from experiment.services.curation import remarks
from tests.factories import FILLER, make_item, make_research_field

pytestmark = pytest.mark.django_db
FACTS = Facts("cooking", "cooking-1")


def abstract(n: int) -> str:
    """Of 220 words, none of which another one has."""
    return " ".join(f"word{n}x{i}" for i in range(220)) + " and it [[rose, fell]]."


def near(markup: str, facts: Facts = FACTS) -> list[tuple[str, str]]:
    found = remarks.findings_of_text(markup, facts)
    return [(f.code, f.quote) for f in found if f.code.endswith("_original")]


def test_equal_and_near_ones_of_the_field_are_found_and_no_others() -> None:
    make_item("cooking-1", field="cooking", markup=abstract(1))  # itself
    make_item(
        "cooking-2",
        field="cooking",
        markup=abstract(1).replace("[[rose, fell]]", "rose [[by, from]] it"),
    )
    make_item("cooking-3", field="cooking", markup=abstract(1).replace("word1x50 ", "another "))
    make_item("cooking-4", field="cooking", markup=abstract(4))
    make_item("optics-1", field="optics", markup=abstract(1))
    assert near(abstract(1)) == [("near_original", "cooking-2"), ("near_original", "cooking-3")]
    assert near(abstract(1), Facts("cooking", "")) == [
        ("equal_original", "cooking-1"),
        ("near_original", "cooking-2"),
        ("near_original", "cooking-3"),
    ]


def test_one_of_the_same_doi_is_compared_whatever_words_they_share() -> None:
    spaced = abstract(1).replace(" ", "  ")
    make_item("cooking-2", field="cooking", source="machine", doi="10.1234/AB", markup=spaced)
    assert near(abstract(1)) == []
    assert near(abstract(1), Facts("cooking", doi="10.1234/ab")) == [
        ("equal_original", "cooking-2")
    ]


def test_signs_of_a_search_are_signs_of_the_text() -> None:
    text = r"100% of a_b \ and 'c' ; {} %s were [[up, down]]."
    make_item("cooking-2", field="cooking", markup=text)
    assert near(text) == [("equal_original", "cooking-2")]


def test_among_ten_thousand_it_takes_less_than_a_second() -> None:
    make_research_field("cooking")
    rows = [
        Item(
            key=f"cooking-{n}", field="cooking", markup=abstract(n), status="draft", source="human"
        )
        for n in range(2, 10_002)
    ]
    for row in rows:
        row.derive_texts()
    Item.objects.bulk_create(rows, batch_size=500)
    wanted = abstract(7_000).replace("word7000x100 ", "another ")
    started = time.process_time()
    assert near(wanted) == [("near_original", "cooking-7000")]
    assert time.process_time() - started < 1


def test_a_normal_abstract_takes_little_of_a_keystroke() -> None:
    item = make_item("cooking-2", field="cooking", markup=FILLER * 3 + "The dough [[rose, fell]].")
    remarks.findings(item)
    started = time.process_time()
    for _ in range(5):
        remarks.findings(item)
    assert (time.process_time() - started) / 5 < 0.05
