"""One step with many versions: each by its own rules, and what is refused does not keep the others."""

import pytest

from experiment.models import Explanation, Item
from experiment.services.curation import remarks, reviews, writing
from experiment.services.curation.together import Act, Words, plan, queue, take
from tests.experiment.services.curation.test_lifecycle import Kitchen
from tests.factories import make_item, make_question

pytestmark = pytest.mark.django_db


@pytest.fixture
def kitchen() -> Kitchen:
    return Kitchen()


def in_review(kitchen: Kitchen, *keys: str) -> list[Item]:
    return [
        make_item(key, field="cooking", status="in_review", created_by=kitchen.ada) for key in keys
    ]


def status_of(item: Item) -> str:
    return Item.objects.get(pk=item.pk).status


def test_a_kind_of_warning_is_explained_once_for_all(kitchen: Kitchen) -> None:
    drafts = [
        writing.create_draft(kitchen.field, f"Rats {n} [[slept, ran]] in boxes.", by=kitchen.ada)
        for n in range(3)
    ]
    found = {key.code for draft in drafts for key in remarks.standing(draft).unexplained}
    assert found, "they are short"
    planned = plan(drafts, Act.SUBMIT, kitchen.ada)
    assert {each.code for each in planned.warnings} == found
    assert planned.outcome.done == tuple(drafts)
    assert not Explanation.objects.exists(), "a plan stores nothing"
    assert {status_of(draft) for draft in drafts} == {"draft"}
    words = Words(explanations=dict.fromkeys(found, "They are short reports."))
    assert len(take(drafts, Act.SUBMIT, kitchen.ada, words).done) == 3
    assert {status_of(draft) for draft in drafts} == {"in_review"}
    assert set(Explanation.objects.values_list("text", flat=True)) == {"They are short reports."}


def test_a_text_with_unexplained_findings_stays_a_draft_without_explanations(
    kitchen: Kitchen,
) -> None:
    short = writing.create_draft(kitchen.field, "Rats [[slept, ran]] in boxes.", by=kitchen.ada)
    codes = [finding.code for finding in remarks.standing(short).unexplained]
    words = Words(explanations=dict.fromkeys(codes[1:], "So it is."))
    outcome = take([short, kitchen.draft], Act.SUBMIT, kitchen.ada, words)
    assert [item.pk for item in outcome.done] == [kitchen.draft.pk]
    assert list(outcome.refused.values()) == [(short,)]
    assert not Explanation.objects.exists()


def test_each_is_accepted_by_its_own_rules_and_the_others_say_why_not(kitchen: Kitchen) -> None:
    others, own = (
        in_review(kitchen, "a", "b"),
        make_item("c", field="cooking", status="in_review", created_by=kitchen.ben),
    )
    judged = others[0]
    reviews.review(judged, kitchen.ben, "revise", "Too long.")
    outcome = take([*others, own, kitchen.draft], Act.ACCEPT, kitchen.ben, Words())
    assert [item.pk for item in outcome.done] == [others[1].pk]
    assert list(outcome.refused.values()) == [(judged,), (own,), (kitchen.draft,)]
    assert judged.reviews.get().verdict == "revise"
    take(others, Act.ACCEPT, kitchen.cleo, Words())
    assert [status_of(item) for item in others] == ["in_review", "accepted"]


def test_a_writer_accepts_their_own_together_where_the_field_asks_for_no_review(
    kitchen: Kitchen,
) -> None:
    kitchen.field.reviews_needed = 0
    kitchen.field.save()
    own = in_review(kitchen, "a", "b")
    assert len(take(own, Act.ACCEPT, kitchen.ada, Words()).done) == 2
    assert {item.accepted_by for item in Item.objects.filter(pk__in=[i.pk for i in own])} == {0}


@pytest.mark.parametrize(
    ("act", "who", "after"),
    [
        (Act.BACK, "ada", ["draft", "accepted"]),
        (Act.BACK, "ben", ["in_review", "accepted"]),
        (Act.RETIRE, "lead", ["retired", "retired"]),
        (Act.RETIRE, "ada", ["in_review", "accepted"]),
    ],
)
def test_going_back_and_retiring_ask_who_may(
    kitchen: Kitchen, act: Act, who: str, after: list[str]
) -> None:
    rows = [*in_review(kitchen, "a"), make_item("b", field="cooking", status="accepted")]
    take(rows, act, getattr(kitchen, who), Words("We found a better one."))
    assert [status_of(item) for item in rows] == after


def test_a_reason_is_needed_of_each(kitchen: Kitchen) -> None:
    rows = in_review(kitchen, "a", "b")
    outcome = take(rows, Act.BACK, kitchen.ada, Words(" "))
    assert (outcome.done, list(outcome.refused.values())) == ((), [tuple(rows)])


def test_a_queue_goes_round_what_waits_for_the_same_person(kitchen: Kitchen) -> None:
    a, b, c = in_review(kitchen, "a", "b", "c")
    make_item("b2", field="cooking", status="in_review", created_by=kitchen.ben)
    make_question("q", field="cooking", status="in_review")
    found = queue(b, kitchen.ben)
    assert (found.n, found.previous, found.next) == (3, a.pk, c.pk)
    assert (queue(a, kitchen.ben).previous, queue(c, kitchen.ben).next) == (c.pk, a.pk)
    reviews.review(b, kitchen.ben, "accept")
    found = queue(b, kitchen.ben)
    assert (found.n, found.next) == (2, c.pk), "its own place is kept"
    for item in (a, c):
        reviews.review(item, kitchen.ben, "accept")
    assert queue(c, kitchen.ben).next is None
