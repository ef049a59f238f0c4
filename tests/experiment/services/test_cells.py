"""Groups by one answer: arms are balanced within them, and a group that is complete is closed with a way out."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.test import Client
from django.utils import timezone

from experiment.domain.arms import ArmDraw, ArmLoad
from experiment.models import Participant, Study
from experiment.services import arms, consenting, overview, taking_part
from experiment.services.flow import GroupFullError, lock
from experiment.services.readiness import readiness_problems
from experiment.services.recounting import check
from experiment.services.study_file import copy_study, document
from experiment.services.study_setup import change_study
from experiment.services.withdrawal import withdraw
from tests.experiment.people import agree, answer, client_of, enroll
from tests.factories import make_arms, make_channel, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(study: Study) -> Study:
    Study.objects.filter(pk=study.pk).update(cell_field="gender", cell_targets={"male": 1})
    study.refresh_from_db()
    return study


def describe(study: Study, gender: str, **fields: Any) -> Participant:
    """Somebody who has just said this of themselves."""
    person = enroll(study, **fields)
    return taking_part.save_demographics(person, {"gender": gender}, timezone.now())


def finish(study: Study, gender: str, **fields: Any) -> Participant:
    person = describe(study, gender, **fields)
    taking_part.attempt_practice(person, taking_part.practice_side(person), timezone.now())
    person = taking_part.start_trials(person, timezone.now())
    person = answer(person, until=person.n_trials)
    return taking_part.finish(person, cheated=False, comments="", now=timezone.now())


@pytest.mark.parametrize(("field", "full"), [("gender", True), ("", False)])
def test_arms_catch_up_in_each_group_and_not_over_all(
    study: Study, monkeypatch: pytest.MonkeyPatch, field: str, full: bool
) -> None:
    # Over all, an arm would get people whose group has no place for them
    make_arms(study)
    draw = ArmDraw((ArmLoad(1, 1, valid=102), ArmLoad(2, 1, valid=100)))
    monkeypatch.setattr(arms, "read", lambda *given: arms.Present(draw, draw, 0))
    study.cell_field, study.target_valid = field, 200
    study.cell_targets = {"male": 200}
    assert consenting.is_full(study, timezone.now()) is full
    person = Participant(study=study, kind="real", seed=1, cell="")
    assert arms.assign(person, timezone.now()) is not full
    person.cell = "male"
    assert arms.assign(person, timezone.now())


def test_arms_are_balanced_within_each_group_and_not_only_over_all(study: Study) -> None:
    make_arms(study)
    genders = ["female"] * 3 + ["other"] + ["female"] * 2 + ["other"] * 3 + ["female"]
    found: dict[str, Counter[int]] = defaultdict(Counter)
    for n, gender in enumerate(genders):
        person = finish(study, gender) if n % 2 else describe(study, gender)
        found[gender][person.arm_number] += 1
        person.refresh_from_db()
        assert arms.replay(person) == person.arm_number
        assert person.cell == gender
    assert set(found["other"].values()) == {2}
    # Three of each, or one more where half a finisher is expected of those under way
    assert abs(found["female"][1] - found["female"][2]) <= 1
    assert check([study]) == []


def test_the_plan_is_that_of_the_arm_of_the_group(study: Study) -> None:
    make_arms(study, {"human_items": 1}, {})
    for _ in range(4):
        person = describe(study, "female")
        person.refresh_from_db()
        assert len(person.plan) == {1: 6, 2: 11}[person.arm_number]


def test_a_group_is_closed_once_its_target_is_reached_and_stays_so(study: Study) -> None:
    describe(study, "male")
    finish(study, "male")
    person = enroll(study)
    for gender in ("male", "female"):  # another answer opens no door
        with pytest.raises(GroupFullError):
            taking_part.save_demographics(person, {"gender": gender}, timezone.now())
    person.refresh_from_db()
    assert (person.stage, person.demographics, person.cell) == ("demographics", {}, "")
    assert overview.n_screened_out(study, "real") == 1
    assert describe(study, "female").stage == "practice"
    # Pilots try the study whatever its targets are
    assert describe(study, "male", kind=lambda: "pilot").stage == "practice"
    assert withdraw(study, person.withdrawal_code, timezone.now()) is not None


def test_arms_share_the_target_of_a_group(study: Study) -> None:
    make_arms(study)
    # One half of each is expected to finish
    assert {describe(study, "male").arm_number, describe(study, "male").arm_number} == {1, 2}
    with pytest.raises(GroupFullError):
        describe(study, "male")


def test_participants_of_a_full_group_take_no_place_of_the_study(study: Study) -> None:
    make_arms(study)
    study.target_valid = 2
    for _ in range(2):
        describe(study, "male")
    for _ in range(2):
        with pytest.raises(GroupFullError):
            describe(study, "male")
    assert describe(study, "female").stage == "practice"


def test_a_participant_of_a_complete_group_is_shown_the_way_back(
    study: Study, client: Client
) -> None:
    make_channel(study, "prolific", screen_out_code="OUT77", completion_code="DONE")
    finish(study, "male")
    agree(study, "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1", client)
    home = study.get_absolute_url()
    form = {"gender": "male", "age_declined": "on", "country": "GB", "position": "faculty"}
    sent = client.post(f"{home}about-you/", form | {"experience_years_declined": "on"})
    assert sent.status_code == 403
    assert "Your group is full" in sent.text
    assert "cc=OUT77" in sent.text
    for path in ("about-you/", "practice/"):
        again = client.get(home + path)
        assert (again.status_code, "Your group is full" in again.text) == (403, True)


def test_a_place_is_said_to_depend_on_an_answer_only_where_a_group_has_a_target(
    study: Study,
) -> None:
    for targets in ({"male": 1}, {}):
        Study.objects.filter(pk=study.pk).update(cell_targets=targets)
        page = client_of(enroll(study)).get(f"{study.get_absolute_url()}about-you/").text
        assert ("still a place for you" in page) == bool(targets)


def test_without_groups_nothing_is_noted(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(cell_field="", cell_targets={})
    study.refresh_from_db()
    make_arms(study)
    person = enroll(study)
    person.refresh_from_db()
    before = person.arm_draw
    person = taking_part.save_demographics(person, {"gender": "male"}, timezone.now())
    person.refresh_from_db()
    assert (person.cell, person.arm_draw) == ("", before)


def test_a_request_that_read_the_arm_before_the_group_was_known_goes_on_in_the_new_one(
    study: Study,
) -> None:
    first, second = make_arms(study)
    person = describe(study, "female")
    before = Participant.objects.select_related("arm").get(pk=person.pk)
    other = second if before.arm == first else first
    Participant.objects.filter(pk=person.pk).update(arm=other)
    with transaction.atomic():
        assert lock(before).arm == other


def test_answers_that_form_the_groups_are_asked_as_long_as_the_study_runs(study: Study) -> None:
    ruth, others = make_user("ruth", study), {"demographic_fields": ["age"]}
    assert study.recruitment == "open"
    with pytest.raises(ValidationError, match="groups are formed by the answers on"):
        change_study(study, others, by=ruth)
    describe(study, "female")
    Study.objects.update(recruitment="closed")
    with pytest.raises(ValidationError, match="groups are formed by the answers on"):
        change_study(study, others, by=ruth)
    change_study(study, {"demographic_fields": ["gender"]}, by=ruth)
    assert Study.objects.get().forms_cells


def test_groups_go_along_with_a_copy_and_need_their_question(study: Study) -> None:
    copied = document(copy_study(study, slug="again", title="Again"))["study"]
    assert (copied["cell_field"], copied["cell_targets"]) == ("gender", {"male": 1})
    study.demographic_fields = ["age"]
    assert "groups are formed by an answer" in str(readiness_problems(study)[0])
