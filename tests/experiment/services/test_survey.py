"""Survey questions: who is asked which, what is stored of the answers, and until when the study team may change them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from experiment.models import AuditEvent, Participant, Study, SurveyAnswer, SurveyQuestion
from experiment.services import survey, taking_part
from experiment.services.exclusions import verdicts
from experiment.services.flow import AlreadySentError, WrongPageError
from experiment.services.page_by_page import page_by_page
from experiment.services.study_versions import revise
from experiment.services.survey import asked
from experiment.services.withdrawal import withdraw
from experiment.simulation.run import Plan, ServiceDriver, simulate
from tests.experiment.people import answer, enroll, start
from tests.factories import PARTS, make_arms, make_survey

pytestmark = pytest.mark.django_db
Place = SurveyQuestion.Place
GIVEN = {"choice": "yes", "scale": "5", "number": "4.5", "text": "Two lines.", "attention": "red"}


def described(study: Study) -> Participant:
    return taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())


def send(person: Participant, place: Place, **answers: str) -> Participant:
    return taking_part.save_survey(person, place, answers, timezone.now())


def test_questions_before_the_trials_are_asked_once_and_stored_once(study: Study) -> None:
    make_survey(study)
    person = described(study)
    assert (person.stage, person.page_reached) == ("asked_before", 0)
    person = send(person, Place.BEFORE, **GIVEN)
    assert person.stage == "practice"
    assert send(person, Place.BEFORE, **GIVEN).stage == "practice"
    with pytest.raises(AlreadySentError):
        send(person, Place.BEFORE, **GIVEN | {"scale": "6"})
    assert survey.answers_given(person, Place.BEFORE) == GIVEN


def test_questions_after_the_trials_come_before_the_debrief(study: Study) -> None:
    make_survey(study, "scale", "text", place="after", required=False)
    person = start(study)
    with pytest.raises(WrongPageError):
        send(person, Place.AFTER, scale="1")
    person = answer(person, until=study.n_trials)
    assert (person.stage, person.debriefed_at) == ("asked_after", None)
    person = send(person, Place.AFTER, scale="1", text="")
    assert person.stage == "debrief"
    assert person.debriefed_at is not None
    assert SurveyAnswer.objects.count() == 1
    person = taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    assert send(person, Place.AFTER, scale="1").stage == "finished"


def test_early_answers_and_answers_of_a_withdrawn_participant_are_refused(study: Study) -> None:
    make_survey(study, "text")
    person = enroll(study)
    with pytest.raises(WrongPageError):
        send(person, Place.BEFORE, text="early")
    person = described(study)
    withdraw(study, person.withdrawal_code, timezone.now())
    with pytest.raises(WrongPageError):
        send(person, Place.BEFORE, text="late")


def test_without_demographic_fields_the_questions_are_the_first_page(study: Study) -> None:
    make_survey(study, "text")
    study.demographic_fields = []
    assert enroll(study).stage == "asked_before"


def test_an_arm_is_asked_its_own_questions_and_those_with_advice_theirs(study: Study) -> None:
    plain, advised = make_arms(study, {}, {"advice": "after"})
    make_survey(study, "choice")
    make_survey(study, "number", arm=plain)
    survey.add_example(study)
    names = {
        arm.name: [q.name for q in survey.survey_questions(study) if q.is_for(arm)]
        for arm in (plain, advised)
    }
    assert names == {"arm 1": ["choice", "number"], "arm 2": ["choice", "trust"]}
    people = [enroll(study) for _ in range(2)]
    for person in people:
        is_advised = person.arm == advised
        assert [q.name for q in asked(person, Place.AFTER)] == ["trust"] * is_advised


def test_a_study_without_survey_questions_asks_the_database_nothing(
    study: Study, django_assert_num_queries: Any
) -> None:
    person = enroll(study)
    with django_assert_num_queries(0):
        assert asked(person, Place.BEFORE) == []


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("choice", {"labels": ["yes", "yes"]}),
        ("choice", PARTS["scale"]),
        ("scale", {"points": 12, "low": "a", "high": "b"}),
        ("scale", {"points": True, "low": "a", "high": "b"}),
        ("number", {"lowest": 1, "highest": 1}),
        ("number", {"lowest": 1, "highest": "2"}),
        ("attention", {"labels": ["red", "blue"], "correct": "green"}),
    ],
)
def test_an_incomplete_question_is_refused(study: Study, kind: str, parts: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        make_survey(study, kind, parts=parts)
    assert not study.survey_questions.exists()


@pytest.mark.parametrize("name", ["Trust", "1st", "a b", "", "trust\n"])
def test_a_name_is_that_of_a_column(study: Study, name: str) -> None:
    with pytest.raises(ValidationError):
        make_survey(study, "text", name=name)


def test_names_are_unique_in_the_study(study: Study) -> None:
    make_survey(study, "text")
    with pytest.raises(ValidationError):
        make_survey(study, "choice", name="text")


def test_questions_move_within_their_page(study: Study) -> None:
    make_survey(study, "choice", "scale")
    make_survey(study, "text", place="after")
    _first, second, last = study.survey_questions.all()
    survey.move_question_up(second)
    survey.move_question_up(last)  # the first of its page
    study.refresh_from_db()
    assert [q.name for q in survey.survey_questions(study)] == ["scale", "choice", "text"]
    assert AuditEvent.objects.filter(details__survey_question="scale").count() == 2


def test_a_question_is_fixed_once_somebody_answered_it(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(recruitment="pilot")
    study.refresh_from_db()
    [question] = make_survey(study, "text")
    send(described(study), Place.BEFORE, text="pilot")
    question.text = "Another?"
    for act in (survey.save_question, survey.remove_question):
        with pytest.raises(ValidationError, match="answered"):
            act(question)
    make_survey(study, "choice")  # others can still be added


def test_all_questions_are_fixed_once_a_real_participant_entered(study: Study) -> None:
    [question] = make_survey(study, "text")
    enroll(study)
    question.refresh_from_db()
    question.text = "Another?"
    for act in (survey.save_question, survey.remove_question, survey.move_question_up):
        with pytest.raises(ValidationError, match="Real participants"):
            act(question)
    with pytest.raises(ValidationError, match="Real participants"):
        make_survey(study, "choice")
    with pytest.raises(IntegrityError, match="never change"), transaction.atomic():
        SurveyQuestion.objects.update(text="Another?")


@pytest.mark.both
def test_an_answer_stands_until_its_participant_withdraws(study: Study) -> None:
    make_survey(study, "text")
    person = send(described(study), Place.BEFORE, text="mine")
    row = SurveyAnswer.objects.filter(participant=person)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        row.update(value="theirs")
    with pytest.raises(IntegrityError, match="only when its participant"), transaction.atomic():
        row.delete()
    withdraw(study, person.withdrawal_code, timezone.now())
    assert not row.exists()


def test_an_anonymised_finisher_keeps_only_answers_that_rules_need(
    study: Study,
) -> None:
    Study.objects.filter(pk=study.pk).update(withdrawal_policy="anonymise")
    study.refresh_from_db()
    make_survey(study, "scale", "attention")
    person = send(described(study), Place.BEFORE, scale="2", attention="red")
    taking_part.attempt_practice(person, taking_part.practice_side(person), timezone.now())
    person = answer(taking_part.start_trials(person, timezone.now()), until=study.n_trials)
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    withdraw(study, person.withdrawal_code, timezone.now())
    [kept] = SurveyAnswer.objects.all()  # which rules may still ask for
    assert (kept.value, kept.received_at.day, kept.received_at.hour) == ("red", 1, 0)
    person.refresh_from_db()
    assert person.is_anonymous


@pytest.mark.parametrize(("given", "flags"), [("red", "wrong_attention"), ("blue", ""), ("", "")])
def test_a_wrong_answer_to_an_attention_check_is_flagged_and_excludes_where_the_rules_say_so(
    study: Study, given: str, flags: str
) -> None:
    make_survey(study, "attention", place="after", required=False)
    person = answer(start(study), until=study.n_trials)
    person = send(person, Place.AFTER, attention=given)
    person = taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    assert (person.excluded_by, person.flags) == ("", flags)
    rules = replace(study.exclusion_rules, missed_attention=True)
    changed = verdicts(study, "real", rules).participants[person.pk]
    assert changed.excluded_by == ("missed_attention" if flags else "")
    revise(study, rules=rules, reason="Attention matters.")
    person.refresh_from_db()
    assert (person.excluded_by, person.flags) == (changed.excluded_by, flags)
    assert study.versions.get(number=2).exclusion_rules.missed_attention
    assert not study.versions.get(number=1).exclusion_rules.missed_attention


def test_simulated_participants_answer_within_what_is_asked(study: Study) -> None:
    make_survey(study)
    make_survey(study, "scale", name="effort", place="after")
    plan = Plan(finish=4, dropout=0.2, arrival="waves", accuracy=0.7, seed=3)
    for _ in simulate(study, plan, lambda: ServiceDriver(study, "balanced")):
        pass
    people = Participant.objects.of(study, "simulated")
    assert people.finished().count() == 4
    for row in SurveyAnswer.objects.select_related("question"):
        levels = row.question.levels
        assert not levels or row.value in levels
    assert people.filter(survey_answers__question__name="effort").count() == 4


def test_the_time_of_the_practice_begins_after_the_questions_before_it(study: Study) -> None:
    make_survey(study, "text")
    person = send(described(study), Place.BEFORE, text="mine")
    taking_part.attempt_practice(person, taking_part.practice_side(person), timezone.now())
    person = answer(taking_part.start_trials(person, timezone.now()), until=study.n_trials)
    person = taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    assert person.started_at is not None
    earlier = person.started_at - timedelta(minutes=5)
    Participant.objects.filter(pk=person.pk).update(consented_at=earlier, demographics_at=earlier)
    found = page_by_page(study, "real", timezone.now())
    assert found is not None
    practice = next(row for row in found.rows if row.page == "practice")
    assert practice.time is not None
    assert practice.time.median_s < 60
