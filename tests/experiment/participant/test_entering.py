"""Entering: recruitment ids, shared computers, declining, and who is let in as what."""

import pytest
from django.test import Client

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services.study_setup import set_recruitment
from tests.factories import make_channel, make_study, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = set_recruitment(make_study(), "open")
    make_channel(study, screen_out_url="https://recruit.example/out?id={external_id}")
    return study


def visit(client, study, query=""):
    return client.get(study.get_absolute_url() + query, follow=True)


def decide(client, study, agree="yes"):
    form = {"agree": agree, "consent_sha256": study.consent.sha256}
    return client.post(study.get_absolute_url(), form)


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        ("", ("", "", "", "")),
        ("?PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=e1", ("prolific", "p1", "s1", "e1")),
        ("?id=77", ("sona", "77", "", "")),
        ("?workerId=w&hitId=h&assignmentId=a", ("mturk", "w", "h", "a")),
        ("?utm_source=mail", ("", "", "", "")),
    ],
)
def test_recruitment_ids_are_kept_and_the_address_is_cleaned(client, study, query, stored):
    page = visit(client, study, query)
    assert page.request["QUERY_STRING"] == ""
    decide(client, study)
    names = "source", "external_id", "external_study_id", "external_session_id"
    assert list(RecruitmentRecord.objects.values_list(*names)) == [stored] * bool(stored[0])
    assert Participant.objects.get().external_source == stored[0]


def test_declining_stores_nothing_and_leads_back_with_the_persons_id(client, study):
    visit(client, study, "?PROLIFIC_PID=a%26b")
    page = decide(client, study, "no")
    assert "https://recruit.example/out?id=a%26b" in page.content.decode()
    assert not Participant.objects.exists()


def test_who_declined_by_mistake_can_still_agree_under_the_same_id(client, study):
    visit(client, study, "?PROLIFIC_PID=p1")
    decide(client, study, "no")
    assert decide(client, study).status_code == 303
    assert RecruitmentRecord.objects.get().external_id == "p1"


def test_declining_after_agreeing_in_another_tab_says_that_one_takes_part(client, study):
    visit(client, study)
    decide(client, study)
    page = decide(client, study, "no")
    assert page.status_code == 409
    assert "You are taking part" in page.content.decode()


def test_another_id_at_the_same_computer_is_somebody_else_from_their_consent_on(client, study):
    visit(client, study, "?PROLIFIC_PID=one")
    decide(client, study)
    page = visit(client, study, "?PROLIFIC_PID=two")
    assert "Informed consent" in page.content.decode()
    # Whoever only looked has taken nothing away from the first.
    assert "About you" in visit(client, study, "?PROLIFIC_PID=one").content.decode()
    visit(client, study, "?PROLIFIC_PID=two")
    decide(client, study)
    assert set(RecruitmentRecord.objects.values_list("external_id", flat=True)) == {"one", "two"}


def test_the_same_number_at_another_site_is_another_person(client, study):
    visit(client, study, "?id=7")
    decide(client, study)
    assert "Informed consent" in visit(client, study, "?PROLIFIC_PID=7").content.decode()


def test_the_same_link_again_goes_on_where_one_was(client, study):
    visit(client, study, "?PROLIFIC_PID=one")
    decide(client, study)
    assert "About you" in visit(client, study, "?PROLIFIC_PID=one").content.decode()
    assert Participant.objects.count() == 1


def test_a_member_of_the_study_is_a_pilot_even_while_it_is_open(study):
    client = Client()
    client.force_login(make_user("ruth", study))
    visit(client, study)
    decide(client, study)
    assert Participant.objects.get().kind == "pilot"


def test_a_forged_simulated_link_is_refused(client, study):
    assert visit(client, study, "?simulated=yes").status_code == 400
    assert not Participant.objects.exists()


def test_who_withdrew_is_told_so_on_coming_back(client, study):
    visit(client, study)
    decide(client, study)
    code = Participant.objects.get().withdrawal_code
    client.post(study.get_absolute_url() + "withdraw/", {"code": code, "confirm": "1"})
    assert "Your answers are withdrawn" in visit(client, study).content.decode()


def test_a_closed_study_says_so_and_sends_on(client, study):
    visit(client, study, "?PROLIFIC_PID=p1")
    Study.objects.update(recruitment="closed")
    page = visit(client, study)
    assert page.status_code == 403
    assert "https://recruit.example/out?id=p1" in page.content.decode()


def test_who_sends_consent_undecided_is_told_beside_the_buttons_and_led_to_neither(client, study):
    visit(client, study)
    response = decide(client, study, agree="")
    assert response.status_code == 422
    above, _, buttons = response.content.decode().partition('<form method="post" class="actions')
    assert 'id="agree-error" role="alert" tabindex="-1" autofocus' in above
    assert above.index('id="consent-title"') < above.index('id="agree-error"')
    assert "autofocus" not in buttons
    assert not Participant.objects.exists()
