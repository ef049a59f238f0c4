"""Survey questions in the set-up: added, changed, moved and removed, and shown as participants see them."""

from typing import Any

import pytest
from django.test import Client

from experiment.models import AuditEvent, Study
from experiment.services.survey import survey_questions
from tests.experiment.people import enroll
from tests.factories import PARTS, make_arms, make_study, make_survey
from tests.forms import form_at

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def url(path: str = "") -> str:
    return f"/lab/studies/memory/set-up/survey/{path}"


def send(client: Client, path: str, **changes: Any) -> Any:
    """The question's form as its page shows it, with these changes."""
    shown = client.get(url(path)).context["form"]
    values = {field.name: field.value() for field in shown} | changes
    sent = {n: value for n, value in values.items() if value is not None and value is not False}
    return client.post(url(path), sent)


def names(study: Study) -> list[str]:
    study.refresh_from_db()
    return [question.name for question in survey_questions(study)]


def test_each_kind_is_added_by_the_form_of_its_parts(ruth: Client, study: Study) -> None:
    assert "no survey questions" in ruth.get(url()).text
    for kind, parts in PARTS.items():
        given = dict(parts)
        if "labels" in given:
            given["labels"] = "\r\n".join(["", *given["labels"], " "])
        answer = send(ruth, f"new/{kind}/", text=f"Your {kind}?", name=kind, **given)
        assert answer.status_code == 302, answer.context["form"].errors
    assert names(study) == list(PARTS)
    assert {q.kind: q.parts for q in survey_questions(study)} == PARTS
    assert all(q.required for q in survey_questions(study))
    page = ruth.get(url()).text
    assert "survey_scale" in page
    assert "Asked of" not in page
    shown = send(ruth, "question/attention/", text="Please choose blue.", required=None)
    assert shown.status_code == 302
    assert study.survey_questions.get(name="attention").required is False


def test_questions_are_moved_and_removed_and_the_trail_says_so(ruth: Client, study: Study) -> None:
    make_survey(study, "choice", "text")
    ruth.post(url("question/text/move/"))
    assert names(study) == ["text", "choice"]
    ruth.post(url("question/choice/remove/"))
    assert names(study) == ["text"]
    said = [
        (event.details["survey_question"], event.details["change"])
        for event in AuditEvent.objects.filter(action="study_changed").order_by("-pk")[:2]
    ]
    assert said == [("choice", "removed"), ("text", "moved")]


@pytest.mark.parametrize(
    ("kind", "changes", "field"),
    [
        ("choice", {"labels": "yes"}, "labels"),
        ("attention", {"labels": "red\nblue", "correct": "green"}, "correct"),
        ("scale", {"points": "12"}, "points"),
        ("scale", {"low": " "}, "low"),
        ("number", {"lowest": "3", "highest": "2"}, "highest"),
        ("text", {"name": "Not a column"}, "name"),
        ("text", {"text": ""}, "text"),
        ("text", {"place": "between"}, "place"),
    ],
)
def test_problems_are_reported_beside_their_field(
    ruth: Client, study: Study, kind: str, changes: dict[str, str], field: str
) -> None:
    given = {"text": "Why?", "name": "why", "low": "a", "high": "b"} | changes
    answer = send(ruth, f"new/{kind}/", **given)
    assert (answer.status_code, [*answer.context["form"].errors]) == (422, [field])
    assert not study.survey_questions.exists()


def test_a_taken_name_is_refused_and_an_unknown_kind_is_not_found(
    ruth: Client, study: Study
) -> None:
    make_survey(study, "text")
    answer = send(ruth, "new/text/", text="Why?", name="text")
    assert "already has a question with this name" in answer.text
    assert ruth.get(url("new/essay/")).status_code == 404


def test_the_audience_of_a_question_can_be_chosen_where_there_are_arms(
    ruth: Client, study: Study
) -> None:
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    send(ruth, "new/text/", text="Why?", name="why", audience="1")
    send(ruth, "new/text/", text="How?", name="how", audience="advised")
    assert study.survey_questions.get(name="why").arm.name == "alone"
    assert study.survey_questions.get(name="how").advised_only
    assert ruth.get(url("question/how/")).context["form"]["audience"].value() == "advised"
    send(ruth, "question/how/", audience="")
    assert not study.survey_questions.get(name="how").advised_only


def test_trust_in_the_adviser_is_offered_once_where_an_arm_has_advice(
    ruth: Client, study: Study
) -> None:
    offer = "Add “trust in the adviser”"
    assert offer not in ruth.get(url()).text
    make_arms(study, {}, {"advice": "after"})
    assert offer in ruth.get(url()).text
    ruth.post(url("trust/"))
    page = ruth.get(url()).text
    assert ("How much did you trust the advice?" in page, offer in page) == (True, False)
    assert study.survey_questions.get().advised_only


def test_nothing_can_be_changed_once_a_real_participant_entered(ruth: Client, study: Study) -> None:
    make_survey(study, "text")
    removing, writing = (form_at(ruth, url(f"question/text/{end}")) for end in ("remove/", ""))
    assert removing
    assert writing
    enroll(study)
    page = ruth.get(url()).text
    assert ("cannot change" in page, "Remove" in page, "/survey/new/" in page) == (
        True,
        False,
        False,
    )
    told = ruth.post(url("question/text/remove/"), removing.filled(), follow=True)
    assert told.text.count("cannot change") == 2
    changed = ruth.post(url("question/text/"), writing.filled(text="Another?"))
    assert changed.status_code == 422


def test_the_preview_shows_the_questions_of_each_page(ruth: Client, study: Study) -> None:
    make_survey(study, "scale", place="after")
    page = ruth.get(url()).text
    assert ("/preview/survey_after/" in page, "/preview/survey_before/" in page) == (True, False)
    shown = ruth.get("/lab/studies/memory/set-up/preview/survey_after/").text
    assert "Your scale?" in shown
