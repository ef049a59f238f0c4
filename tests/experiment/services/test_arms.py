"""Participants get into arms: evenly, for good, and with what their arm gives them."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.models import Arm, Item, ItemCount, Participant, PeopleCount, Study, Trial
from experiment.services import arms, consenting, counting, counts, drawing, overview, taking_part
from experiment.services.flow import NotOpenError
from experiment.services.page_by_page import page_by_page
from experiment.services.readiness import facts_of
from experiment.services.recounting import check, recount
from experiment.services.study_versions import revise
from experiment.services.withdrawal import withdraw
from tests.experiment.people import answer, client_of, come, enroll, open_trial, start
from tests.factories import make_arms

pytestmark = pytest.mark.django_db


def finish(person: Participant, **given: Any) -> Participant:
    person = answer(person, until=person.n_trials)
    values = {"cheated": False, "comments": "", "now": timezone.now()} | given
    return taking_part.finish(person, **values)


def numbers(study: Study) -> Counter[int]:
    return Counter(study.participants.order_by("pk").values_list("arm__number", flat=True))


def valid_by_arm(study: Study) -> dict[int, int]:
    rows = PeopleCount.objects.filter(study=study, fate="finished", excluded_by="", n__gt=0)
    return {row.arm_number: row.n for row in rows}


def test_without_arms_nobody_has_one(study: Study) -> None:
    person = finish(start(study))
    assert (person.arm, person.arm_draw, person.arm_number) == (None, None, 0)
    assert set(ItemCount.objects.values_list("arm_number", flat=True)) == {0}


def test_participants_are_assigned_by_share_and_the_record_gives_the_same_again(
    study: Study,
) -> None:
    make_arms(study, {"share": 2}, {"share": 1})
    people = [enroll(study) for _ in range(9)]
    assert numbers(study) == {1: 6, 2: 3}
    for person in people:
        person.refresh_from_db()
        assert arms.replay(person) == person.arm_number


def test_an_arm_that_people_leave_is_given_more_until_as_many_finished(study: Study) -> None:
    make_arms(study)
    first, second = start(study), start(study)
    assert {first.arm_number, second.arm_number} == {1, 2}
    counting.sweep(study, "real", timezone.now() + timedelta(minutes=16))
    finish(second)
    assert valid_by_arm(study) == {second.arm_number: 1}
    # Nobody else is expected to finish in the arm of the one who left
    assert enroll(study).arm_number == first.arm_number


def test_a_study_is_full_while_each_arm_is_expected_to_have_its_share_of_the_target(
    study: Study,
) -> None:
    make_arms(study)
    study.target_valid = 2
    # As long as nobody has finished or left, everybody's chance is one half
    people = {person.arm_number: person for person in [start(study) for _ in range(4)]}
    with pytest.raises(NotOpenError, match="study_full"):
        enroll(study)
    with pytest.raises(NotOpenError, match="study_full"):  # agreed to the page of a minute ago
        enroll(study, kind=lambda: "real")
    assert enroll(study, kind=lambda: "pilot").arm is not None
    counting.sweep(study, "real", timezone.now() + timedelta(minutes=16))
    assert enroll(study).kind == "real"
    finish(people[1])
    finish(people[2])
    with pytest.raises(NotOpenError, match="study_full"):
        enroll(study)


def test_an_open_page_takes_a_place_for_an_hour_from_consent_or_a_new_trial(study: Study) -> None:
    make_arms(study)
    study.target_valid = 2
    people = [start(study) for _ in range(4)]
    soon, late = (timezone.now() + timedelta(minutes=minutes) for minutes in (50, 70))
    for person in people:
        taking_part.touch(person, late)
    assert [consenting.is_full(study, now) for now in (soon, late)] == [True, False]
    for person in people:
        drawing.show_trial(person, 1, soon)
    assert consenting.is_full(study, late)


def test_items_are_balanced_within_each_arm(study: Study) -> None:
    make_arms(study)
    for _ in range(8):
        person = answer(start(study), until=11)
        for stratum in ("human", "machine"):
            arm = person.arm
            scores = drawing.read(study, "real", stratum, timezone.now(), arm).scores("balanced")
            assert max(scores.values()) - min(scores.values()) <= 0.5
    assert all(drawing.replay(trial) == trial.item_id for trial in Trial.objects.all())
    given = Counter(ItemCount.objects.values_list("arm_number", flat=True))
    assert set(given) == {1, 2}


FATES = {
    "left": lambda person: (
        answer(person, until=3),
        counting.sweep(person.study, "real", timezone.now() + timedelta(minutes=16)),
    ),
    "finished": finish,
    "excluded": lambda person: finish(person, cheated=True),
}


@pytest.mark.parametrize("fate", FATES)
def test_a_participant_is_counted_in_their_arm_and_after_a_withdrawal_there_too(
    study: Study, fate: str
) -> None:
    make_arms(study)
    person = start(study)
    FATES[fate](person)
    assert check([study]) == []
    assert counts.kind_counts(study) == {"real": 1}
    recount(study, "real")
    assert check([study]) == []
    withdraw(study, person.withdrawal_code, timezone.now())
    assert check([study]) == []
    person.refresh_from_db()
    assert (person.stage, person.arm_draw) == ("withdrawn", None)
    row = PeopleCount.objects.get(study=study, n=1)
    assert row.arm_number == person.arm_number > 0


def test_readers_of_counters_add_up_the_arms(study: Study) -> None:
    make_arms(study)
    for _ in range(4):
        finish(start(study))
    assert valid_by_arm(study) == {1: 2, 2: 2}
    assert counts.n_valid(study, "real") == 4
    now = timezone.now()
    assert overview.flow(study, "real", now).valid == 4
    assert sum(row.valid for row in counts.item_exposures(study, "real", now)) == 44
    revise(study, rules=Rules(min_rt_ms=400_000_000), reason="try")
    assert overview.readings(study, "real")["fast_page"] == 36


def test_an_arm_gives_its_own_number_of_trials_of_its_own_subfields(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(machine_items=2)
    study.refresh_from_db()
    two = Item.objects.filter(studies=study, source="human", kind="test").order_by("pk")[:2]
    # Subfields are no part of the frozen text
    Item.objects.filter(pk__in=[item.pk for item in two]).update(subfield="Cellular")
    make_arms(study, {"human_items": 2, "machine_items": 0, "subfields": ["Cellular"]})
    person = answer(start(study), until=4)
    assert Counter(stratum for stratum, _ in person.plan) == {"human": 2, "catch": 2}
    drawn = person.trials.filter(stratum="human").values_list("item", flat=True)
    assert set(drawn) == {item.pk for item in two}
    assert (person.stage, person.page_reached) == ("debrief", 7)


def test_an_arm_can_ask_for_both_ratings(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(ratings_required=False)
    study.refresh_from_db()
    make_arms(study, {"ratings_required": True}, {})
    people = {person.arm_number: person for person in (start(study), start(study))}
    for number, is_required in ((1, True), (2, False)):
        at = open_trial(people[number])
        shown = client_of(people[number]).get(at.address).content.decode()
        assert ("data-ratings-required" in shown) == is_required
        sent = at.send(confidence="", expertise="", reminded="1")
        assert sent.status_code == (422 if is_required else 303)


@pytest.mark.parametrize(
    "fields",
    [
        {"number": 1, "name": "twice"},
        {"number": 0, "name": "zero"},
        {"number": 2, "name": "arm 1"},
        {"number": 2, "name": "two", "share": 0},
        {"number": 2, "name": "two", "advice": "maybe"},
        {"number": 2, "name": "two", "advised_items": 3},
    ],
)
def test_the_database_refuses_what_is_no_arm(study: Study, fields: dict[str, Any]) -> None:
    make_arms(study, {})
    with pytest.raises(IntegrityError), transaction.atomic():
        Arm.objects.create(study=study, **fields)


def test_the_stated_duration_knows_of_second_pages_with_advice(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(human_items=60)
    study.refresh_from_db()
    alone, advised, some = make_arms(
        study, {}, {"advice": "after"}, {"advice": "after", "advised_items": 1}
    )
    high = [counts.study_duration(study, arm).high for arm in (alone, advised, some)]
    assert high[0] == high[2] < high[1]


def test_consent_says_the_fewest_and_the_most_and_that_the_group_is_stored(study: Study) -> None:
    assert "group" not in come(study)
    make_arms(study, {}, {})
    shown = come(study)
    assert "<strong>11 abstracts</strong>" in shown
    assert "The group that you are assigned to" in shown
    study.arms.filter(number=2).update(human_items=1)
    assert "<strong>6 to 11 abstracts</strong>" in come(study)
    # A text may say either
    assert {6, 11} <= facts_of(study).parts
    people = {person.arm_number: person for person in (enroll(study), enroll(study))}
    assert (people[1].n_trials, people[2].n_trials) == (11, 6)
    shown = client_of(people[2]).post(
        f"{study.get_absolute_url()}withdraw/", {"code": people[2].withdrawal_code}
    )
    assert "assigned to group 2" in shown.content.decode()


def test_consent_gives_a_range_of_minutes_where_only_these_differ(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(human_items=60)
    study.refresh_from_db()
    _, other = make_arms(study, {}, {})
    assert "This takes about" in come(study)
    study.arms.filter(pk=other.pk).update(advice="after")
    low, high = (counts.study_duration(study, arm) for arm in study.arms.order_by("number"))
    page = come(study)
    assert f"<strong>{study.n_trials} abstracts</strong>" in page
    assert f"<strong>{low.low} to {high.high} minutes</strong>" in page


def test_consent_says_that_a_group_may_judge_no_abstracts(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(catch_items=0, question_items=2)
    make_arms(study, {"question_items": 0}, {"human_items": 0, "machine_items": 0})
    page = come(study)
    assert "<strong>no abstracts, or up to 9</strong>" in page
    assert "<strong>no questions, or up to 2</strong>" in page


def test_pages_are_counted_by_what_they_are_where_arms_have_different_ones(study: Study) -> None:
    make_arms(study, {"human_items": 1}, {})
    people = {person.arm_number: person for person in (start(study), start(study))}
    for person in people.values():
        answer(person, until=person.n_trials)
    found = page_by_page(study, "real", timezone.now())
    assert found is not None
    rows = {(row.page, row.position): row for row in found.rows}
    assert len(rows) == 3 + 11 + 1
    assert (rows["trial", 6].reached, rows["trial", 7].reached) == (2, 1)
    assert (rows["debrief", None].reached, rows["debrief", None].now) == (2, 2)


def test_an_arm_has_its_own_texts_before_the_trials_and_at_the_end(study: Study) -> None:
    make_arms(study, {"instructions": "Trust\nnobody.", "debriefing": "It was a trap."}, {})
    Study.objects.filter(pk=study.pk).update(debriefing="As planned.")
    study.refresh_from_db()
    home = study.get_absolute_url()
    for person in (enroll(study), enroll(study)):
        is_first = person.arm_number == 1
        person = taking_part.save_demographics(person, {"age": "34"}, timezone.now())
        right = taking_part.practice_side(person)
        person = taking_part.attempt_practice(person, right, timezone.now())
        shown = client_of(person).get(f"{home}start/").content.decode()
        assert ("Trust<br>nobody." in shown) == is_first
        person = taking_part.start_trials(person, timezone.now())
        person = answer(person, until=person.n_trials)
        shown = client_of(person).get(f"{home}debrief/").content.decode()
        assert ("It was a trap." in shown, "As planned." in shown) == (is_first, not is_first)
