"""Pages of survey questions: what they ask, what they refuse, and that they are sent once."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from experiment.models import Participant, Study, SurveyAnswer, SurveyQuestion
from experiment.services import taking_part
from tests.experiment.people import answer, client_of, come, enroll, finish, start
from tests.factories import make_arms, make_study, make_survey

pytestmark = pytest.mark.django_db
GIVEN = {
    "survey_choice": "yes",
    "survey_scale": "5",
    "survey_number": "4.50",
    "survey_text": "Two\r\nlines.",
    "survey_attention": "blue",
}


def at_questions(study: Study) -> tuple[Participant, Client, str]:
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    return person, client_of(person), f"{study.get_absolute_url()}questions-before/"


def test_every_kind_is_asked_and_stored_as_it_was_given(study: Study) -> None:
    make_survey(study)
    person, client, address = at_questions(study)
    page = client.get(address).content.decode()
    assert page.count("<legend>") == 3
    assert page.count('type="radio"') == 2 + 7 + 2
    for end in ("not at all", "completely"):
        assert page.count(end) == 1
    response = client.post(address, GIVEN)
    assert (response.status_code, response["Location"]) == (
        303,
        f"{study.get_absolute_url()}practice/",
    )
    stored = dict(SurveyAnswer.objects.values_list("question__name", "value"))
    assert stored == {
        "choice": "yes",
        "scale": "5",
        "number": "4.5",
        "text": "Two\nlines.",
        "attention": "blue",
    }
    held = client.post(
        f"{study.get_absolute_url()}withdraw/", {"code": person.withdrawal_code}
    ).content.decode()
    assert "Your number? <q" in held


def test_a_copy_of_the_form_changes_nothing_and_another_is_refused(study: Study) -> None:
    make_survey(study)
    _, client, address = at_questions(study)
    for _ in range(2):
        assert client.post(address, GIVEN).status_code == 303
    assert client.post(address, GIVEN | {"survey_scale": "6"}).status_code == 409
    assert client.post(address, {}).status_code == 409
    assert client.get(address)["Location"].endswith("/practice/")
    assert SurveyAnswer.objects.filter(value="5").count() == 1


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("choice", "", "Please choose one of the answers."),
        ("choice", "maybe", "Please choose one of the answers."),
        ("scale", "8", "Please choose one of the answers."),
        ("number", "41", "Please give a number from 0 to 40."),
        ("number", "four", "Please give a number from 0 to 40."),
        ("number", "4.0625", "Please give a number from 0 to 40, with at most three"),
        ("text", " ", "Please write an answer."),
        ("text", "x" * 1001, "Please use at most 1000 characters."),
    ],
)
def test_problems_are_shown_beside_the_question_and_other_answers_are_kept(
    study: Study, name: str, value: str, message: str
) -> None:
    make_survey(study)
    _, client, address = at_questions(study)
    response = client.post(address, GIVEN | {f"survey_{name}": value})
    page = response.content.decode()
    assert response.status_code == 422
    assert f'<p class="field-error" id="id_survey_{name}_error" role="alert">{message}' in page
    assert page.count("field-error") == 1
    assert "Error:" in page
    if name != "scale":
        assert re.search(r'value="5"[^>]* checked', page)
    assert not SurveyAnswer.objects.exists()


@pytest.mark.parametrize("kind", ["attention", "scale"])
def test_answers_to_attention_checks_are_said_to_be_kept_where_there_are_any(
    study: Study, kind: str
) -> None:
    Study.objects.update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    make_survey(study, kind, place="after")
    consent = Client().get(study.get_absolute_url()).content.decode()
    assert ("your answers to attention checks" in consent) == (kind == "attention")
    person = answer(start(study), until=study.n_trials)
    given = {kind: GIVEN[f"survey_{kind}"]}
    person = taking_part.save_survey(person, SurveyQuestion.Place.AFTER, given, timezone.now())
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    sent = {"code": person.withdrawal_code}
    held = client_of(person).post(f"{study.get_absolute_url()}withdraw/", sent).content.decode()
    assert "We then keep your choices, your ratings" in held
    assert ("attention checks" in held) == (kind == "attention")


def test_questions_that_need_no_answer_may_stay_empty(study: Study) -> None:
    make_survey(study, required=False)
    _, client, address = at_questions(study)
    assert client.get(address).content.decode().count("(optional)") == 5
    assert client.post(address, {}).status_code == 303
    assert not SurveyAnswer.objects.exists()


def test_the_last_answer_leads_to_questions_after_the_trials(study: Study) -> None:
    make_survey(study, "scale", place="after")
    person = answer(start(study), until=study.n_trials)
    client, home = client_of(person), study.get_absolute_url()
    assert client.get(f"{home}debrief/")["Location"] == f"{home}questions-after/"
    sent = client.post(
        f"{home}questions-after/", {"survey_scale": "1"}, headers={"accept": "application/json"}
    )
    assert sent.json()["next"] == f"{home}debrief/"
    assert "page" in sent.json()


def test_kept_pages_are_those_of_the_arm(study: Study) -> None:
    one, _ = make_arms(study)
    make_survey(study, "choice")
    make_survey(study, "text", arm=one)
    shown = {}
    for _ in range(2):
        person, client, address = at_questions(study)
        shown[person.arm_number] = "Your text?" in client.get(address).content.decode()
    assert shown == {1: True, 2: False}


def test_consent_says_that_answers_are_stored(study: Study) -> None:
    said = "Your answers to any further questions from the study team"
    assert said not in come(study)
    make_survey(study, "text")
    assert said in come(study)


def test_pages_of_a_study_without_survey_questions_send_on(study: Study, settings: Any) -> None:
    person = finish(study)
    for place in ("before", "after"):
        response = client_of(person).get(f"{study.get_absolute_url()}questions-{place}/")
        assert response["Location"] == f"{study.get_absolute_url()}done/"


def test_german_pages_are_german() -> None:
    study = make_study("gedaechtnis", recruitment="open", language="de")
    make_survey(study, required=False)
    _, client, address = at_questions(study)
    page = client.post(address, {"survey_number": "99"}).content.decode()
    for text in ("Einige Fragen", "(freiwillig)", "Bitte geben Sie eine Zahl von 0 bis 40 an."):
        assert text in page
