"""Where an item stands with the checks, and what curators answer."""

import pytest
from django.core.exceptions import ValidationError

from experiment.domain.item_checks.findings import Facts
from experiment.services.curation import remarks
from tests.factories import FILLER, make_item, make_user

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
