"""Threads about a version and its passages."""

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Item
from experiment.services.curation import remarks, writing
from tests.factories import FILLER, make_item, make_research_field, make_user

pytestmark = pytest.mark.django_db


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
    writing.write_draft(item, by=ada, edits=0, markup=f"{FILLER}The bread [[rose, fell]] at once.")
    found = remarks.threads(Item.objects.get())
    assert [thread.is_in_text for thread in found] == [False, False, False, True, False]
