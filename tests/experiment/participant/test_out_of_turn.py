"""Pages opened or sent when it is not their turn: old tabs, skipped pages, late returns, closed studies."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from experiment.models import Judgment, Participant, Study
from experiment.services import counting
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
from tests.factories import make_channel

pytestmark = pytest.mark.django_db
JSON = {"accept": "application/json"}


def leave(person: Participant, **ago: int) -> None:
    """Let the person's page be silent for a while."""
    people = Participant.objects.filter(pk=person.pk)
    people.update(last_seen_at=timezone.now() - timedelta(**ago))
    person.refresh_from_db()


def test_a_stale_tab_is_told_and_the_first_answer_stands(study: Study) -> None:
    at = open_page(study, "trial")
    assert at.send(side="A", confidence="70").status_code == 303
    before = stored()
    other = {"side": "B", "confidence": "1", "idempotency_key": str(uuid.uuid4())}
    said = ("Already answered", "Your first answer is stored", "Continue where you left off")
    assert_page(at.send(**other), 409, *said)
    as_script = at.client.post(at.address, at.fields | other, headers=JSON)
    assert (as_script.status_code, as_script.json()["title"]) == (409, said[0])
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
    as_script = at.client.post(at.address, at.fields, headers=JSON)
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
    shown = at.client.get(at.address)
    assert (shown.status_code, shown["Location"]) == (303, f"{study.get_absolute_url()}trial/3/")
    assert Judgment.objects.count() == 2


def test_another_participants_trial_and_one_that_was_never_opened_are_not_answered(
    study: Study,
) -> None:
    mine, theirs = open_page(study, "trial"), open_page(study, "trial")
    newcomer = start(study)
    address = f"{study.get_absolute_url()}trial/1/"
    unopened = AtPage(client_of(newcomer), address, theirs.fields, newcomer)
    before = stored()
    said = ("This is not your page", "belongs to another participant")
    assert_page(mine.send(trial_token=theirs.fields["trial_token"]), 403, *said)
    assert_page(unopened.send(), 403, said[0])
    assert_page(unopened.send(trial_token=str(uuid.uuid4())), 403, said[0])
    assert_page(unopened.send(side=""), 409, "at a different step")
    assert stored() == before


@pytest.mark.parametrize("position", [0, 1, 3, 11, 12, 99, 10**30, 10**300])
def test_a_position_skipped_or_replayed_is_refused(study: Study, position: int) -> None:
    at = open_page(study, "trial")  # at position 2
    before = stored()
    wrong = AtPage(at.client, f"{study.get_absolute_url()}trial/{position}/", at.fields)
    assert_page(wrong.send(), 409, "at a different step")
    assert_page(wrong.send(side=""), 409, "at a different step")
    first = at.person.trials.get(position=1)
    replayed = wrong.send(trial_token=str(first.token))
    assert_page(replayed, 409, "Already answered" if position == 1 else "at a different step")
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
        *(f"{name}/" for name in (*PAGES[1:4], "trial/1", "trial/2", "debrief", "done")),
    ):
        if at.address == home + other:
            continue
        response = at.client.get(home + other)
        assert (response.status_code, response["Location"]) == (303, at.address), other
        for fields in ({}, {"side": "A"}, {"side": "C"}, ABOUT_ME):
            response = at.client.post(home + other, fields)
            # An earlier form may be a double click: then it leads on. It never stores anything.
            assert response.status_code in (303, 409, 422, 403), (other, response.status_code)
            if response.status_code == 303:
                assert response["Location"] == at.address
            if page == "about-you" and other not in ("", "done/"):  # of a page not reached yet
                assert_page(response, 409, "at a different step")
    assert stored() == before


@pytest.mark.parametrize(
    ("page", "other", "said"),
    [
        ("about-you", {"age_number": "35"}, "Your first answers are stored"),
        ("about-you", {"age_number": "abc"}, "at a different step"),
        ("debrief", {"comments": "One more thing"}, "Your first answers are stored"),
    ],
)
def test_a_different_later_answer_is_refused_and_not_silently_dropped(
    study: Study, page: str, other: dict[str, str], said: str
) -> None:
    at = open_page(study, page)
    assert at.send().status_code == 303
    before = stored()
    assert at.send().status_code == 303
    assert_page(at.send(**other), 409, said)
    assert stored() == before


def test_every_page_tells_a_withdrawn_participant_and_stores_nothing(study: Study) -> None:
    at = open_page(study, "withdraw")
    assert_page(at.send(), 200, "Your answers have been withdrawn")
    before = stored()
    home = study.get_absolute_url()
    assert_page(at.client.get(home, follow=True), 200, "Your answers have been withdrawn")
    trial = {"side": "A", "trial_token": str(uuid.uuid4()), "idempotency_key": str(uuid.uuid4())}
    for page in ("about-you/", "practice/", "start/", "trial/1/", "trial/11/", "debrief/", "done/"):
        response = at.client.get(home + page)
        assert (response.status_code, response["Location"]) == (303, at.address)
        for fields in ({}, {"side": "C"}, trial, trial | {"recognised": "no", "reminded": "1"}):
            assert 400 <= at.client.post(home + page, fields).status_code < 500 or page == "done/"
    assert at.client.post(f"{home}ping/").status_code == 204
    assert_page(at.send(), 200, "Your answers have been withdrawn")  # again: still so
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


def test_after_the_time_to_come_back_every_page_says_so_but_takes_the_answer_that_was_being_written(
    study: Study,
) -> None:
    at, home = open_page(study, "trial"), study.get_absolute_url()
    leave(at.person, hours=study.resume_hours + 1)
    before = stored()
    sentence = "It is too late to continue"
    assert at.client.post(f"{home}ping/").status_code == 204  # revives nothing
    assert_page(at.client.get(home), 403, sentence, f"within {study.resume_hours // 24} days")
    assert_page(at.client.get(at.address, follow=True), 403, sentence)
    assert stored() == before
    assert at.send().status_code == 303
    assert Judgment.objects.filter(trial__token=at.fields["trial_token"]).count() == 1
    assert at.client.get(home, follow=True).status_code == 200


def test_a_finisher_can_open_the_last_page_again_long_after(study: Study) -> None:
    make_channel(study, completion_code="THANKS-17")
    person = finish(study)
    leave(person, hours=study.resume_hours * 9)
    page = client_of(person).get(study.get_absolute_url(), follow=True)
    assert_page(page, 200, "THANKS-17", person.withdrawal_code)


FULL = "https://recruit.example.org/full"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"recruitment": "closed"}, ("This study has",)),
        ({"recruitment": "draft"}, ("This study has",)),
        ({"target_valid": 1}, ("This study is full", FULL)),
    ],
)
def test_participants_under_way_may_finish_a_study_that_takes_nobody_new(
    study: Study, change: dict[str, Any], said: tuple[str, ...]
) -> None:
    make_channel(study, screen_out_url="https://recruit.example.org/out", full_url=FULL)
    finish(study)
    at, late = open_page(study, "trial"), open_page(study, "consent")
    Study.objects.update(**change)
    assert_page(client_of().get(study.get_absolute_url()), 403, *said)
    assert_page(late.send(), 403, said[0])
    assert at.send().status_code == 303
    at.person.refresh_from_db()
    answer(at.person, until=study.n_trials)
    page = at.client.post(f"{study.get_absolute_url()}debrief/", {"comments": ""}, follow=True)
    assert_page(page, 200, "Thank you for taking part")
    assert Participant.objects.valid().count() == 2


def test_a_changed_consent_text_is_read_again_before_agreeing(study: Study) -> None:
    at = open_page(study, "consent")
    word_consent(study, "Another text.")
    assert_page(at.send(), 409, "Please read again", "The consent text has changed")
    assert not Participant.objects.exists()
    page = at.client.get(study.get_absolute_url())
    assert_page(page, 200, "Another text.", study.consent.sha256)
    assert at.send(consent_sha256=study.consent.sha256).status_code == 303


def test_the_side_of_the_first_choice_is_kept_through_a_reminder(study: Study) -> None:
    at = open_page(study, "trial")
    response = at.send(confidence="", side="A")
    assert_page(response, 422, 'name="reminded" value="1"', 'id="side-a" value="A" checked')
    assert Judgment.objects.count() == 1
    assert at.send(confidence="", side="A", reminded="1").status_code == 303
    judgment = Judgment.objects.get(trial__position=2)
    assert (judgment.side, judgment.confidence, judgment.confidence_moved) == ("A", None, False)
