"""Things that wait for a person who may do them: reviews, answers to grade or to settle, and decisions about studies."""

import html
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from experiment.domain.roles import Role
from experiment.models import Item, ItemImport, Study
from experiment.services.curation import reviews
from scoring.services.grading import people
from scoring.services.waiting import Waiting, lately_ended, waiting_for
from tests.factories import (
    make_arms,
    make_item,
    make_participant,
    make_question,
    make_research_field,
    make_study,
    make_user,
)
from tests.scoring.services.grading.rows import make_answers
from tests.scoring.services.grading.test_people import EXACT, WRONG, grade_all, plan

pytestmark = pytest.mark.django_db
IN_REVIEW = Item.Status.IN_REVIEW


def waits(user: Any) -> Waiting:
    return waiting_for(user, timezone.now())


@pytest.fixture
def ben() -> Any:
    return make_user("ben")


def test_reviews_of_ones_own_fields_that_somebody_else_wrote(ben: Any) -> None:
    ada = make_user("ada")
    make_research_field("cooking", curators=[ada, ben])
    make_research_field("sailing", curators=[ada])
    make_item("a", field="cooking", status=IN_REVIEW, created_by=ada)
    make_item("b", field="cooking", status=IN_REVIEW, created_by=ben)
    make_item("c", field="cooking", status="draft", created_by=ada)
    make_item("d", field="sailing", status=IN_REVIEW, created_by=ada)
    make_question(field="cooking", status=IN_REVIEW, created_by=ada)
    found = {(each.field.slug, each.are_questions): each.n for each in waits(ben).reviews}
    assert found == {("cooking", False): 1, ("cooking", True): 1}
    assert waits(ben).n == 2


def test_a_request_to_revise_waits_for_the_writer_with_its_words_until_they_act(
    client: Client, ben: Any
) -> None:
    ada, lea = make_user("ada"), make_user("lea")
    make_research_field("cooking", lead=lea, curators=[ada, ben])
    item = make_item("a", field="cooking", status=IN_REVIEW, created_by=ada)

    def told(*users: Any) -> list[int]:
        """How much waits for each, as the number in the menu, the page's heading and its list say alike."""
        counted = []
        for user in users:
            client.force_login(user)
            page = client.get("/lab/").text
            n = waits(user).n
            assert page.count(f'<span class="count">{n}</span>') == 2 * bool(n)
            assert ("Waiting for you" in page) == bool(n)
            listed = client.get("/lab/fields/cooking/").text
            assert (f'Waiting <span class="count">{n}</span>' in listed) == bool(n)
            assert ("Name the <b>drug</b>." in html.unescape(page)) == bool(waits(user).revisions)
            counted.append(n)
        return counted

    assert told(ada, ben) == [0, 1]
    reviews.review(item, ben, "revise", "Name the <b>drug</b>.")
    [task] = waits(ada).tasks
    assert (task.label, task.words) == (f"Revise {item} of cooking", "Name the <b>drug</b>.")
    assert told(ada, ben) == [1, 0]
    item = reviews.back_to_draft(item, ada, "To name it.")
    assert told(ada, ben) == [1, 0]
    item.markup = item.markup.replace("[[", "today [[", 1)
    item.save()
    assert told(ada, ben) == [0, 0]
    item = reviews.set_status(item, IN_REVIEW, by=ada)
    reviews.review(item, ben, "refuse", "Name the <b>drug</b>.")
    assert waits(ada).tasks[0].label == f"{item} of cooking was rejected"
    reviews.take_back(item, ben)
    assert told(ada, ben) == [0, 1]
    reviews.review(item, ben, "revise", "Name the <b>drug</b>.")
    reviews.retire(item, lea, "It is known.")
    assert told(ada, ben) == [0, 0]


def test_answers_to_grade_and_to_settle_where_somebody_made_a_plan(study: Study, ben: Any) -> None:
    ada, cleo = make_user("ada"), make_user("cleo")
    for user in (ada, ben, cleo):
        study.memberships.create(user=user, role=Role.CURATOR)
    make_answers(study, ["one", "two"])
    assert waits(ben).n == 0
    plan(study, double_share=1.0)
    [grades] = waits(ben).grades
    assert (grades.study, grades.n, grades.n_to_settle) == (study, 2, 0)
    grade_all(ada, study, EXACT)
    grade_all(ben, study, WRONG)
    assert waits(ben).n == 0
    assert people.n_open(study) == 2
    [grades] = waits(cleo).grades
    assert (grades.n, grades.n_to_settle) == (0, 2)


def test_open_studies_that_are_full_or_over_wait_for_who_sets_them_up(ben: Any) -> None:
    now = timezone.now()
    full, over, dates = make_study("full"), make_study("over"), timedelta(days=1)
    # It goes on until the other arm has its share
    uneven = make_study("uneven")
    first, _ = make_arms(uneven)
    for study in (full, over, uneven, make_study("fine"), make_study("closed")):
        study.memberships.create(user=ben, role=Role.RESEARCHER)
        Study.objects.filter(pk=study.pk).update(recruitment="open", target_valid=2)
    make_participant(full)
    assert waits(ben).n == 0
    make_participant(full)
    for _ in range(2):
        make_participant(uneven, arm=first)
    Study.objects.filter(pk=over.pk).update(closes_at=now - dates)
    Study.objects.filter(slug="closed").update(closes_at=now - dates, recruitment="closed")
    decisions = waits(ben).decisions
    assert [(each.study, each.is_full, each.is_over) for each in decisions] == [
        (full, True, False),
        (over, False, True),
    ]
    ben.memberships.update(role=Role.AUDITOR)
    assert waits(ben).n == 0


def test_an_ended_job_is_shown_for_a_day_to_the_person_who_asked(ben: Any) -> None:
    now = timezone.now()
    field = make_research_field("cooking")
    for who, ended in ((ben, now), (ben, now - timedelta(days=2)), (make_user("ada"), now)):
        ItemImport.objects.create(
            research_field=field,
            created_by=who,
            asked_by=who.pk,
            status="finished",
            finished_at=ended,
        )
    assert [row.job.finished_at for row in lately_ended(ben, now)] == [now]


def test_the_first_page_says_it_and_every_page_has_the_number(client: Client, ben: Any) -> None:
    ada = make_user("ada")
    make_research_field("cooking", curators=[ada, ben])
    client.force_login(ben)
    assert "Waiting" not in client.get("/lab/account/").text
    make_item("a", field="cooking", status=IN_REVIEW, created_by=ada)
    page = client.get("/lab/").text  # it counts again, other pages do so after half a minute
    assert "Review 1 test case of cooking" in page
    assert client.get("/lab/fields/cooking/?is_waiting=on").context["listed"].lines
    for address in ("/lab/", "/lab/account/"):
        assert 'Waiting <span class="count">1</span>' in client.get(address).text
    assert "1 waits for your review" in client.get("/lab/fields/").text


def test_a_page_with_the_number_leaves_the_session_alone(client: Client, ben: Any) -> None:
    """A page that is slower than the end of the session, or than another page, has nothing to save in it."""
    client.force_login(ben)
    for address in ("/lab/", "/lab/account/"):
        page = client.get(address)
        assert not page.wsgi_request.session.modified


def test_the_number_is_not_shown_before_the_second_step(
    client: Client, ben: Any, settings: Any
) -> None:
    make_research_field("cooking", curators=[ben])
    make_item("a", field="cooking", status=IN_REVIEW, created_by=make_user("ada"))
    client.force_login(ben)
    for is_required in (False, True):
        settings.REQUIRE_TOTP = is_required
        page = client.get("/lab/account/", follow=True)
        assert page.status_code == 200
        assert ('Waiting <span class="count">1</span>' in page.text) == (not is_required)
