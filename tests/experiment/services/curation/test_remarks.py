"""The remarks on a version, by the checks and by people, and its history."""

import time

import pytest
from django.core.exceptions import ValidationError

from experiment.domain.item_checks.findings import Facts
from experiment.domain.markup_between import word_diff
from experiment.models import Item
from experiment.services.curation import remarks, reviews, writing
from experiment.services.curation.remarks import history, others_near
from tests.experiment.services.curation.test_lifecycle import TEXT, Kitchen
from tests.factories import FILLER, make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db
SHORT = "Rats [[slept, ran]]."


def test_a_warning_waits_for_a_word_and_is_then_explained() -> None:
    item, ada = make_item(markup=SHORT, status="draft"), make_user("ada")
    before = remarks.standing(item)
    assert (before.errors, before.explained, before.may_be_reviewed) == ((), (), False)
    for finding in before.unexplained:
        remarks.explain(item, finding.key, " It is a teaching example. ", ada)
    after = remarks.standing(item)
    assert (after.errors, after.unexplained, after.may_be_reviewed) == ((), (), True)
    assert [e.finding for e in after.explained] == list(before.unexplained)
    assert {(e.explanation.text, e.explanation.by) for e in after.explained} == {
        ("It is a teaching example.", ada)
    }


def test_a_later_word_takes_the_place_of_an_earlier_one() -> None:
    item, ada, ben = make_item(markup=SHORT, status="draft"), make_user("ada"), make_user("ben")
    remarks.explain(item, "length", "Short.", ada)
    remarks.explain(item, "length", "Short on purpose.", ben)
    assert [(e.text, e.by) for e in item.explanations.all()] == [("Short on purpose.", ben)]


@pytest.mark.parametrize(
    ("key", "text"), [("spacing", "x"), ("length", "  "), ("length", "x" * 501)]
)
def test_no_such_warning_no_word_and_too_many_are_refused(key: str, text: str) -> None:
    item = make_item(markup=SHORT, status="draft")
    with pytest.raises(ValidationError):
        remarks.explain(item, key, text, None)
    assert not item.explanations.exists()


def test_an_error_is_not_explained_away() -> None:
    item = make_item(markup=f"{FILLER}Rats [[slept, ra\u200bn]].", status="draft")
    (error,) = remarks.standing(item).errors
    with pytest.raises(ValidationError):
        remarks.explain(item, error.key, "It is fine.", None)
    assert not remarks.standing(item).may_be_reviewed


def test_a_text_that_cannot_be_read_is_an_error_with_its_place() -> None:
    found = remarks.findings_of_text("Rats\n[[slept, ran, ate]].", Facts("sleep", doi="x"))
    assert [f.code for f in found] == ["markup", "doi_form"]
    assert found[0].place is not None
    assert (found[0].place.start, found[0].quote[:7]) == (5, "[[slept")


# Test cases of nearly the same text

FACTS = Facts("cooking", "cooking-1")


def abstract(n: int) -> str:
    """A text of 220 words, none of which another one has."""
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


@pytest.mark.sweep
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


@pytest.mark.sweep
def test_a_normal_abstract_takes_little_of_a_keystroke() -> None:
    item = make_item("cooking-2", field="cooking", markup=FILLER * 3 + "The dough [[rose, fell]].")
    remarks.findings(item)
    started = time.process_time()
    for _ in range(5):
        remarks.findings(item)
    assert (time.process_time() - started) / 5 < 0.05


# Threads about a version and its passages


def test_a_thread_is_answered_resolved_and_opened_again_by_an_answer() -> None:
    ada, ben = make_user("ada"), make_user("ben")
    item = make_item()
    first = remarks.add_comment(item, ada, " Which rats? ", " the  measure\nwas ")
    remarks.answer(remarks.answer(first, ben, "All of them."), ada, "Even the old ones?")
    later = remarks.add_comment(item, ben, "Fine.")
    remarks.resolve(first, ben)
    remarks.resolve(first, ada)
    done = remarks.threads(item)[-1]
    assert [thread.comment for thread in remarks.threads(item)] == [later, first]
    assert (done.comment.text, done.comment.quote, done.is_in_text) == (
        "Which rats?",
        "the measure was",
        True,
    )
    assert [answer.text for answer in done.answers] == ["All of them.", "Even the old ones?"]
    assert done.comment.resolved_by == ben
    remarks.answer(first, ben, "No.")
    assert remarks.threads(item)[0].comment.resolved_at is None


def test_nothing_and_too_much_are_refused() -> None:
    ada, item = make_user("ada"), make_item()
    for text, quote in (("  ", ""), ("x" * 5_001, ""), ("Hm.", "x" * 1_001)):
        with pytest.raises(ValidationError):
            remarks.add_comment(item, ada, text, quote)
    assert not item.comments.exists()


def test_a_passage_is_found_in_either_wording_until_it_is_changed() -> None:
    ada = make_user("ada")
    item = writing.create_draft(
        make_research_field(), f"{FILLER}The dough [[rose, fell]] slowly.", by=ada
    )
    quotes = ("dough rose slowly", "dough fell slowly", "rose fell slowly", "[[rose, fell]]")
    for quote in (*quotes, "the soup"):
        remarks.add_comment(item, ada, "Sure?", quote)
    assert [thread.is_in_text for thread in remarks.threads(item)] == [True] * 4 + [False]
    writing.write_draft(item, by=ada, markup=f"{FILLER}The bread [[rose, fell]] at once.")
    found = remarks.threads(Item.objects.get())
    assert [thread.is_in_text for thread in found] == [False, False, False, True, False]


# What happened to a version


def test_each_change_has_its_author_and_words_the_newest_first() -> None:
    kitchen = Kitchen()
    new = TEXT.replace("fell late", "sank late")
    item = writing.write_draft(
        kitchen.draft, by=kitchen.ben, markup=new, note="softer", source="machine"
    )
    reviews.submit(item, kitchen.ada)
    submitted, written, created = history(item)
    assert (created.by, created.label, created.pieces) == (kitchen.ada, "created", ())
    assert [p.text.strip() for p in written.pieces if p.kind in ("removed", "added")] == [
        "fell",
        "sank",
    ]
    assert {(value["before"], value["after"]) for value in written.values} == {
        ("", "softer"),
        ("human-created", "machine-created"),
    }
    [status] = submitted.values
    assert (submitted.by, status["before"], status["after"]) == (kitchen.ada, "draft", "in review")


def test_a_new_version_names_the_one_that_it_is_from() -> None:
    kitchen = Kitchen()
    item = kitchen.draft
    item.status = "accepted"
    item.save()
    [entry] = history(reviews.revise(item, kitchen.ben))
    assert entry.label.endswith(" from version 1")
    assert (entry.values, entry.pieces) == ([], ())


def test_a_verdict_that_was_taken_back_is_hidden_before_ones_own() -> None:
    kitchen = Kitchen()
    item = reviews.submit(kitchen.draft, kitchen.ada)
    reviews.review(item, kitchen.ben, "refuse", "Too easy.")
    reviews.take_back(item, kitchen.ben)
    assert {value["before"] for value in history(item)[0].values} == {"refuse", "Too easy."}
    assert len(history(item, without_verdicts=True)) == len(history(item)) - 1


def test_only_the_surroundings_of_a_change_in_a_long_text_are_shown() -> None:
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


def test_a_text_of_few_words_that_takes_long_to_compare_is_shown_as_replaced() -> None:
    """How long grows with the cube of its length; an edit of a usual text does not."""
    before, after = (
        f"{start} " + f"{pair} " * 170 + "end." for start, pair in (("x", "a b"), ("y", "b a a b"))
    )
    assert [p.kind for p in word_diff(before, after)] == ["removed", "added", "same"]
    pairs = [f"w{n}" for n in range(620)]
    before, after = (sign.join([*pairs, ""]) for sign in ("!" * 28, "?" * 28))
    assert [p.kind for p in word_diff(f"x{before}x", f"y{after}y")] == ["removed", "added"]
    words = " ".join(f"w{n % 97}" for n in range(400))
    kinds = [p.kind for p in word_diff(f"Old {words} was.", f"New {words} is.")]
    assert kinds == ["removed", "added", "same", "gap", "same", "removed", "added", "same"]


def test_only_texts_nearest_in_length_or_of_the_same_doi_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To compare a text takes as long as it is, and anybody can import many."""
    text = " ".join(f"word{n}" for n in range(60))
    for key, more, doi in (
        ("far", 40, ""),
        ("near", 1, ""),
        ("nearer", 0, ""),
        ("same", 150, "10.1/x"),
    ):
        words = " ".join(["more"] * more)
        make_item(key, markup=f"{text} {words} [[a, b]].", field="cooking", doi=doi)
    facts = Facts("cooking", "own", doi="10.1/X")
    assert [other.key for other in others_near(f"{text} a.", facts)] == [
        "same",
        "nearer",
        "near",
        "far",
    ]
    monkeypatch.setattr("experiment.services.curation.remarks.MOST_OTHERS", 3)
    assert [other.key for other in others_near(f"{text} a.", facts)] == ["same", "nearer", "near"]
    monkeypatch.setattr("experiment.services.curation.remarks.MOST_COMPARED", 900)
    near = [other.key for other in others_near(f"{text} a.", facts)]
    assert near == ["nearer", "near"], "one that is too long hides no shorter one"
