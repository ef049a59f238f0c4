"""What happened to a version, to be read."""

import pytest

from experiment.domain.markup_between import word_diff
from experiment.services.curation import reviews, writing
from experiment.services.curation.remarks import history
from tests.experiment.services.curation.test_lifecycle import TEXT, Kitchen

pytestmark = pytest.mark.django_db


def test_each_change_has_its_author_and_words_the_newest_first() -> None:
    kitchen = Kitchen()
    new = TEXT.replace("fell late", "sank late")
    item = writing.write_draft(
        kitchen.draft, by=kitchen.ben, edits=0, markup=new, note="softer", source="machine"
    )
    reviews.submit(item, kitchen.ada)
    submitted, written, created = history(item)
    assert (created.by, created.label, created.pieces) == (kitchen.ada, "created", ())
    assert [p.text.strip() for p in written.pieces if p.kind in ("removed", "added")] == [
        "fell",
        "sank",
    ]
    assert {(value.before, value.after) for value in written.values} == {
        ("", "softer"),
        ("human-created", "machine-created"),
    }
    [status] = submitted.values
    assert (submitted.by, status.before, status.after) == (kitchen.ada, "draft", "in review")


def test_a_new_version_names_the_one_that_it_is_from() -> None:
    kitchen = Kitchen()
    item = kitchen.draft
    item.status = "accepted"
    item.save()
    [entry] = history(reviews.revise(item, kitchen.ben))
    assert (entry.from_version, entry.values, entry.pieces) == (1, (), ())


def test_a_verdict_that_was_taken_back_is_hidden_from_who_has_none_given() -> None:
    kitchen = Kitchen()
    item = reviews.submit(kitchen.draft, kitchen.ada)
    reviews.review(item, kitchen.ben, "refuse", "Too easy.")
    reviews.take_back(item, kitchen.ben)
    assert {value.before for value in history(item)[0].values} == {"refuse", "Too easy."}
    assert len(history(item, without_verdicts=True)) == len(history(item)) - 1


def test_of_a_long_text_only_the_surroundings_of_a_change_are_shown() -> None:
    words = [f"word{n}" for n in range(400)]
    before = " ".join(words)
    after = " ".join([*words[:200], "new", *words[201:]])
    pieces = word_diff(before, after)
    kinds = [piece.kind for piece in pieces]
    assert kinds == ["gap", "same", "removed", "added", "same", "gap"]
    assert sum(len(piece.text.split()) for piece in pieces) == 26


def test_texts_of_100_kb_are_compared_at_once() -> None:
    before = "a b " * 25_000
    pieces = word_diff(before, "c " + before.replace("b", "d") + "e")
    assert {"removed", "added"} <= {piece.kind for piece in pieces}
