"""The arms of a study's set-up: added, changed and removed until a real participant has entered."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from experiment.models import Arm, AuditEvent, Item, Study
from experiment.services import overview
from experiment.services.readiness import readiness_problems
from experiment.services.study_setup import create_study
from tests.experiment.lab_client import page
from tests.experiment.people import enroll, finish
from tests.factories import make_arms, make_study, make_survey

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study()


def opened(study: Study) -> None:
    """Opens the study, even if something is lacking."""
    study.recruitment = "open"
    study.save()


def url(path: str = "") -> str:
    return f"/lab/studies/memory/set-up/arms/{path}"


def send(client: Client, path: str, **changes: Any) -> Any:
    """The arm's form as its page shows it, with these changes."""
    shown = client.get(url(path)).context["form"]
    values = {field.name: field.value() for field in shown}
    sent = {name: value for name, value in (values | changes).items() if value is not None}
    return client.post(url(path), sent)


def arms(study: Study) -> list[tuple[int, str, int, str]]:
    return list(study.arms.order_by("number").values_list("number", "name", "share", "advice"))


def test_arms_are_added_changed_and_removed_and_the_trail_says_so(
    ruth: Client, study: Study
) -> None:
    assert "no arms" in ruth.get(url()).text
    assert send(ruth, "new/", name="alone").status_code == 302
    send(ruth, "new/", name="advised", share="2", advice="after", advised_items="3")
    assert arms(study) == [(1, "alone", 1, "none"), (2, "advised", 2, "after")]
    assert send(ruth, "1/", name="by oneself", human_items="4").status_code == 302
    assert study.arms.get(number=1).human_items == 4
    shown = ruth.get(url()).text
    assert ("by oneself" in shown, "67%" in shown, "(3 trials)" in shown) == (True, True, True)
    assert ruth.post(url("1/remove/")).status_code == 302
    assert arms(study) == [(2, "advised", 2, "after")]
    send(ruth, "new/", name="another")
    assert arms(study)[-1][:2] == (3, "another")
    said = [
        (event.details["arm"], event.details["change"])
        for event in AuditEvent.objects.filter(action="study_changed").order_by("pk")
    ]
    assert said == [
        ("alone", "added"),
        ("advised", "added"),
        ("by oneself", "changed"),
        ("by oneself", "removed"),
        ("another", "added"),
    ]


def test_saving_what_is_shown_changes_nothing(ruth: Client, study: Study) -> None:
    texts = {"instructions": "Read.\nThink.", "debriefing": "For science."}
    make_arms(study, {"ratings_required": False, "advice": "before", "machine_items": 0} | texts)
    before = Arm.objects.values().get()
    assert send(ruth, "1/").status_code == 302
    assert Arm.objects.values().get() == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "arm 2"}, "__all__"),
        ({"share": "0"}, "share"),
        ({"share": "101"}, "share"),
        ({"advice": "loudly"}, "advice"),
        ({"advised_items": "2"}, "__all__"),
        ({"advice": "after", "advised_items": "10"}, "advised_items"),
        ({"human_items": "0", "machine_items": "0"}, "__all__"),
        ({"human_items": "-1"}, "human_items"),
        ({"subfields": ["Astrology"]}, "subfields"),
    ],
)
def test_problems_are_reported_at_their_field_and_nothing_is_saved(
    ruth: Client, study: Study, changes: dict[str, Any], field: str
) -> None:
    item = Item.objects.filter(studies=study, kind="test").first()
    Item.objects.filter(pk=item.pk).update(subfield="Cellular")
    make_arms(study)
    before = list(Arm.objects.values())
    answer = send(ruth, "1/", **changes)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert list(Arm.objects.values()) == before


def test_arms_are_fixed_but_for_their_names_once_a_real_participant_has_entered(
    ruth: Client, study: Study
) -> None:
    make_arms(study)
    opened(study)
    enroll(study)
    assert send(ruth, "1/", name="renamed", share="5", advice="after").status_code == 302
    assert arms(study)[0] == (1, "renamed", 1, "none")
    answer = ruth.post(url("new/"), {"name": "late", "share": "1", "advice": "none"})
    assert answer.status_code == 422
    assert "only the names of its arms can change" in answer.text
    ruth.post(url("2/remove/"))
    assert len(arms(study)) == 2
    with pytest.raises(IntegrityError, match="only change their names"), transaction.atomic():
        Arm.objects.filter(study=study).update(share=9)


@pytest.mark.parametrize("state", ["open", "pilot"])
def test_arms_are_fixed_but_for_their_names_while_participants_can_enter(
    ruth: Client, study: Study, state: str
) -> None:
    make_arms(study)
    Study.objects.update(recruitment=state)
    assert send(ruth, "1/", name="renamed", share="5", advice="after").status_code == 302
    assert arms(study)[0] == (1, "renamed", 1, "none")
    answer = ruth.post(url("new/"), {"name": "late", "share": "1", "advice": "after"})
    assert answer.status_code == 422
    assert "Close recruitment before you change the arms" in answer.text
    ruth.post(url("2/remove/"))
    assert len(arms(study)) == 2
    assert "Close recruitment" in ruth.get(url()).text


def test_an_arm_with_pilots_is_not_removed(ruth: Client, study: Study) -> None:
    make_arms(study, {})
    opened(study)
    enroll(study, kind=lambda: "pilot")
    Study.objects.update(recruitment="closed")
    answer = ruth.post(url("1/remove/"), follow=True)
    assert "cannot be removed" in answer.text
    assert len(arms(study)) == 1


def test_an_arm_with_survey_questions_is_not_removed(ruth: Client, study: Study) -> None:
    arm = make_arms(study, {})[0]
    make_survey(study, "scale", arm=arm)
    answer = ruth.post(url("1/remove/"), follow=True)
    assert "Survey questions are asked in this arm only" in answer.text
    assert len(arms(study)) == 1


def test_an_incomplete_arm_keeps_the_study_from_opening(ruth: Client, study: Study) -> None:
    make_arms(study, {"name": "long", "human_items": 9}, {"name": "odd", "question_items": 2})
    said = [str(problem) for problem in readiness_problems(study)]
    assert said[0].startswith("arm “long”: each participant judges 9 human-created test cases")
    assert any(one.startswith("arm “odd”: ") and "itself gives none" in one for one in said)
    assert "Arm “long”: each" in ruth.get("/lab/studies/memory/set-up/").text


def test_the_study_page_counts_by_arm(ruth: Client, study: Study) -> None:
    assert "live-arms" not in page(ruth, study)
    make_arms(study, {"name": "alone", "share": 3}, {"name": "advised", "advice": "after"})
    opened(study)
    for _ in range(3):
        finish(study)
    enroll(study)
    rows = overview.by_arm(study, "real", timezone.now())
    found = {row.arm.name: (row.recruited, row.live, row.finished, row.valid) for row in rows}
    assert found in (
        {"alone": (3, 1, 2, 2), "advised": (1, 0, 1, 1)},
        {"alone": (3, 0, 3, 3), "advised": (1, 1, 0, 0)},
    )
    assert [row.percent_share for row in rows] == [75, 25]
    assert sum(row.percent_valid for row in rows) == pytest.approx(100)
    assert "live-arms" in page(ruth, study)
    person = study.participants.first()
    address = f"/lab/studies/memory/participants/{person.public_id}/"
    assert f"arm “{person.arm.name}”" in ruth.get(address).text


def test_the_preset_of_advised_trials_has_two_arms(db: None) -> None:
    study = create_study("advised", "brainbench-advised")
    assert arms(study) == [(1, "alone", 1, "none"), (2, "advised", 1, "after")]
    assert not create_study("plain", "brainbench").arms.exists()
