"""Pages opened or sent when it is not their turn: old tabs, skipped pages, late returns, closed studies."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from experiment.domain.trial_query import TrialQuery
from experiment.models import Judgment, Participant, RecruitmentRecord, Study, Trial
from experiment.services import counting, taking_part
from experiment.services.export.trials import count
from experiment.services.study_setup import word_consent
from tests.experiment.people import (
    ABOUT_ME,
    PAGES,
    AtPage,
    answer,
    client_of,
    finish,
    open_page,
    open_trial,
    start,
    stored,
)
from tests.experiment.refusals import assert_page
from tests.factories import make_channel, make_study, recruited

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study


def leave(person: Participant, **ago: int) -> None:
    """Let the person's page be silent for a while."""
    people = Participant.objects.filter(pk=person.pk)
    people.update(last_seen_at=timezone.now() - timedelta(**ago))
    person.refresh_from_db()


def test_a_stale_tab_is_told_and_the_first_answer_stands(study: Study) -> None:
    at = open_page(study, "trial")
    assert at.send(side="A", confidence="70").status_code == 303
    before = stored()
    stale = at.send(side="B", confidence="1", idempotency_key=str(uuid.uuid4()))
    assert_page(
        stale, 409, "Already answered", "Your first answer is stored", "Go on where you were"
    )
    assert stored() == before


def test_the_same_form_again_succeeds_and_leads_to_the_present_page(study: Study) -> None:
    at = open_page(study, "trial")
    at.send(side="A")
    at.person.refresh_from_db()
    open_trial(at.person).send(side="B")
    at.person.refresh_from_db()
    open_trial(at.person)
    before = stored()
    again = at.send(side="A")
    assert (again.status_code, again["Location"]) == (303, f"{study.get_absolute_url()}trial/4/")
    as_script = at.client.post(at.address, at.fields, headers={"accept": "application/json"})
    assert as_script.json()["next"] == f"{study.get_absolute_url()}trial/4/"
    assert stored() == before


def test_a_page_that_is_answered_while_it_is_asked_for_leads_on(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page(study, "trial")
    read_before = counting.sweep_if_due

    def answered_in_another_tab(*given: Any) -> None:
        monkeypatch.setattr(counting, "sweep_if_due", read_before)
        assert at.send().status_code == 303

    monkeypatch.setattr(counting, "sweep_if_due", answered_in_another_tab)
    response = at.client.get(at.address)
    assert (response.status_code, response["Location"]) == (
        303,
        f"{study.get_absolute_url()}trial/3/",
    )
    assert Judgment.objects.count() == 2


def test_a_script_is_told_of_a_refusal_in_its_own_language(study: Study) -> None:
    at = open_page(study, "trial")
    at.send()
    fields = at.fields | {"idempotency_key": str(uuid.uuid4())}
    response = at.client.post(at.address, fields, headers={"accept": "application/json"})
    assert response.status_code == 409
    assert response.json()["title"] == "Already answered"


def test_another_participants_trial_is_not_answered(study: Study) -> None:
    mine, theirs = open_page(study, "trial"), open_page(study, "trial")
    before = stored()
    response = mine.send(trial_token=theirs.fields["trial_token"])
    assert_page(response, 403, "This is not your page", "belongs to another participant")
    assert stored() == before


@pytest.mark.parametrize("position", [0, 1, 3, 11, 12, 99, 10**30, 10**300])
def test_a_position_skipped_or_replayed_is_refused(study: Study, position: int) -> None:
    at = open_page(study, "trial")  # at position 2
    before = stored()
    wrong = AtPage(at.client, f"{study.get_absolute_url()}trial/{position}/", at.fields)
    assert_page(wrong.send(), 409, "on another page")
    assert_page(wrong.send(side=""), 409, "on another page")
    first = at.person.trials.get(position=1)
    replayed = wrong.send(trial_token=str(first.token))
    assert_page(replayed, 409, "Already answered" if position == 1 else "on another page")
    assert stored() == before
    response = at.client.get(wrong.address)
    assert (response.status_code, response["Location"]) == (303, at.address)


@pytest.mark.parametrize("page", PAGES[1:6])
def test_every_other_page_leads_to_the_present_one_and_takes_no_form(
    study: Study, page: str
) -> None:
    home, at = study.get_absolute_url(), open_page(study, page)
    before = stored()
    for other in (
        "",
        "about-you/",
        "practice/",
        "start/",
        "trial/1/",
        "trial/2/",
        "debrief/",
        "done/",
    ):
        if at.address == home + other:
            continue
        response = at.client.get(home + other)
        assert (response.status_code, response["Location"]) == (303, at.address), other
        for fields in ({}, {"side": "A"}, ABOUT_ME):
            response = at.client.post(home + other, fields)
            # An earlier form may be a double click: then it leads on. It never stores anything.
            assert response.status_code in (303, 409, 422, 403), (other, response.status_code)
            if response.status_code == 303:
                assert response["Location"] == at.address
    assert stored() == before


def test_a_page_that_is_not_reached_yet_is_not_shown_by_a_bad_form(study: Study) -> None:
    home, at = study.get_absolute_url(), open_page(study, "about-you")
    for page, fields in (
        ("practice/", {"side": "C"}),
        ("start/", {}),
        ("trial/1/", {}),
        ("debrief/", {}),
    ):
        assert_page(at.client.post(home + page, fields), 409, "on another page")


def test_other_answers_about_oneself_are_not_silently_dropped(study: Study) -> None:
    at = open_page(study, "about-you")
    assert at.send().status_code == 303
    before = stored()
    assert at.send().status_code == 303
    assert_page(at.send(age_number="35"), 409, "What you sent first is stored")
    assert_page(at.send(age_number="abc"), 409)
    assert stored() == before


def test_another_comment_after_the_end_is_not_silently_dropped(study: Study) -> None:
    at = open_page(study, "debrief")
    assert at.send().status_code == 303
    before = stored()
    assert at.send().status_code == 303
    assert_page(at.send(comments="One more thing"), 409, "What you sent first is stored")
    assert stored() == before


def test_who_withdrew_is_told_on_every_page_and_nothing_comes_back(study: Study) -> None:
    at = open_page(study, "withdraw")
    assert_page(at.send(), 200, "Your answers are withdrawn")
    before = stored()
    home = study.get_absolute_url()
    trial = {"side": "A", "trial_token": str(uuid.uuid4()), "idempotency_key": str(uuid.uuid4())}
    for page in ("about-you/", "practice/", "start/", "trial/1/", "trial/11/", "debrief/", "done/"):
        response = at.client.get(home + page)
        assert (response.status_code, response["Location"]) == (303, at.address)
        for fields in ({}, {"side": "C"}, trial, trial | {"recognised": "no", "reminded": "1"}):
            assert 400 <= at.client.post(home + page, fields).status_code < 500 or page == "done/"
    assert at.client.post(f"{home}ping/").status_code == 204
    assert_page(at.send(), 200, "Your answers are withdrawn")  # again: still so
    assert stored() == before


@pytest.mark.parametrize("spelling", ["lower", "bare", "spaced"])
def test_a_withdrawal_erases_and_lowers_exposures_however_the_code_is_typed(
    study: Study, spelling: str
) -> None:
    stays, goes = finish(study), open_page(study, "withdraw")
    person = goes.person
    Participant.objects.filter(pk=person.pk).update(comments="I said this")
    recruited(person, "5f3a")
    assert count(study, TrialQuery("all", "real")) == 2 * study.n_trials
    code = person.withdrawal_code
    typed = {
        "lower": code.lower(),
        "bare": code.replace("-", "").lower(),
        "spaced": f"  {code.replace('-', ' ')} ",
    }[spelling]
    assert_page(goes.send(code=typed), 200, "Your answers are withdrawn")
    assert count(study, TrialQuery("all", "real")) == study.n_trials
    person.refresh_from_db()
    assert (person.stage, person.comments, person.external_source) == ("withdrawn", "", "")
    assert not RecruitmentRecord.objects.exists()
    assert (person.demographics, person.cheated) == ({}, None)
    assert not Trial.objects.filter(participant=person).exists()
    assert Judgment.objects.filter(trial__participant=stays).count() == study.n_trials


def test_a_code_of_another_study_withdraws_nobody(study: Study) -> None:
    other = make_study("other", recruitment="open")
    at = open_page(study, "withdraw")
    before = stored()
    response = at.client.post(f"{other.get_absolute_url()}withdraw/", at.fields)
    assert_page(response, 422, "This study has no such code")
    assert stored() == before


def test_a_returner_after_the_live_window_keeps_their_items(study: Study) -> None:
    at = open_page(study, "trial")
    met = set(at.person.trials.values_list("position", "item", "token"))
    leave(at.person, minutes=study.live_minutes + 1)
    assert not Participant.objects.live(study, timezone.now()).exists()
    finish(study)  # another participant may be given the items meanwhile
    page = at.client.get(study.get_absolute_url(), follow=True)
    assert page.redirect_chain == [(at.address, 303)]
    assert at.fields["trial_token"] in page.content.decode()
    assert set(at.person.trials.values_list("position", "item", "token")) == met
    assert Participant.objects.live(study, timezone.now()).count() == 1
    assert at.send().status_code == 303


def test_an_open_tab_is_answered_after_days_within_the_time_to_come_back(study: Study) -> None:
    at = open_page(study, "trial")
    leave(at.person, hours=study.resume_hours - 1)
    assert at.send().status_code == 303
    assert Judgment.objects.count() == 2


def test_after_the_time_to_come_back_every_page_says_so(study: Study) -> None:
    at = open_page(study, "trial")
    leave(at.person, hours=study.resume_hours + 1)
    before = stored()
    sentence = "The time to come back has passed"
    assert at.client.post(f"{study.get_absolute_url()}ping/").status_code == 204  # revives nothing
    assert_page(at.client.get(study.get_absolute_url()), 403, sentence, str(study.resume_hours))
    assert_page(at.client.get(at.address, follow=True), 403, sentence)
    assert stored() == before


def test_an_answer_that_was_being_written_all_the_while_is_taken_however_late(study: Study) -> None:
    at = open_page(study, "trial")
    leave(at.person, hours=study.resume_hours + 1)
    assert at.send().status_code == 303
    assert Judgment.objects.filter(trial__token=at.fields["trial_token"]).count() == 1
    assert at.client.get(study.get_absolute_url(), follow=True).status_code == 200


def test_who_finished_can_fetch_the_end_again_long_after(study: Study) -> None:
    make_channel(study, completion_code="THANKS-17")
    person = finish(study)
    leave(person, hours=study.resume_hours * 9)
    page = client_of(person).get(study.get_absolute_url(), follow=True)
    assert_page(page, 200, "THANKS-17", person.withdrawal_code)


@pytest.mark.parametrize("recruitment", ["closed", "draft"])
def test_who_is_under_way_may_finish_a_study_that_takes_nobody_new(
    study: Study, recruitment: str
) -> None:
    at, late = open_page(study, "trial"), open_page(study, "consent")
    study.recruitment = recruitment
    study.save()
    assert_page(client_of().get(study.get_absolute_url()), 403, "This study has")
    assert_page(late.send(), 403, "This study has")
    assert at.send().status_code == 303
    at.person.refresh_from_db()
    person = answer(at.person, until=study.n_trials)
    page = at.client.post(f"{study.get_absolute_url()}debrief/", {"comments": ""}, follow=True)
    assert_page(page, 200, "Thank you for taking part")
    person.refresh_from_db()
    assert person.stage == "finished"
    assert Participant.objects.count() == 1


def test_a_study_that_reached_its_target_is_full_for_new_people_only(study: Study) -> None:
    study.target_valid = 1
    study.save()
    full_url = "https://recruit.example.org/full"
    make_channel(study, screen_out_url="https://recruit.example.org/out", full_url=full_url)
    at, late = open_page(study, "trial"), open_page(study, "consent")
    finish(study)
    full = client_of().get(study.get_absolute_url())
    assert_page(full, 403, "This study is complete", full_url)
    assert_page(late.send(), 403, "This study is complete")
    assert at.send().status_code == 303
    taking_part.finish(
        answer(Participant.objects.get(pk=at.person.pk), until=study.n_trials),
        cheated=False,
        comments="",
        now=timezone.now(),
    )
    assert Participant.objects.valid().count() == 2


def test_a_changed_consent_text_is_read_again_before_agreeing(study: Study) -> None:
    at = open_page(study, "consent")
    word_consent(study, "Another text.")
    assert_page(at.send(), 409, "Please read again", "The consent text has changed")
    assert not Participant.objects.exists()
    page = at.client.get(study.get_absolute_url())
    assert_page(page, 200, "Another text.", study.consent.sha256)
    at.fields["consent_sha256"] = study.consent.sha256
    assert at.send().status_code == 303


def test_the_side_of_the_first_choice_is_kept_through_a_reminder(study: Study) -> None:
    at = open_page(study, "trial")
    response = at.send(confidence="", side="A")
    assert_page(response, 422, 'name="reminded" value="1"', 'id="side-a" value="A" checked')
    assert Judgment.objects.count() == 1
    assert at.send(confidence="", side="A", reminded="1").status_code == 303
    judgment = Judgment.objects.get(trial__position=2)
    assert (judgment.side, judgment.confidence, judgment.confidence_moved) == ("A", None, False)


def test_a_trial_that_was_never_opened_cannot_be_answered(study: Study) -> None:
    person, other = start(study), open_page(study, "trial")
    at = AtPage(client_of(person), f"{study.get_absolute_url()}trial/1/", other.fields, person)
    before = stored()
    assert_page(at.send(), 403, "This is not your page")
    assert_page(at.send(trial_token=str(uuid.uuid4())), 403, "This is not your page")
    assert_page(at.send(side=""), 409, "on another page")
    assert stored() == before
    assert taking_part.may_resume(person, timezone.now())
