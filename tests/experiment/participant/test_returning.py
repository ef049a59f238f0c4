"""Coming back without the cookie: by the recruitment site's link of the same session, or by one's own code."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services.channels import forget_ids
from tests.experiment.people import agree, answer, client_of, come, decide, start
from tests.factories import make_channel

pytestmark = pytest.mark.django_db
LINK = "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1"


def send(study: Study, page: str, client: Client | None = None, **fields: str):
    return (client or Client()).post(f"{study.get_absolute_url()}{page}/", fields)


def test_the_code_on_the_consent_page_is_the_participants(study: Study) -> None:
    client = Client()
    page = come(study, LINK, client)
    decide(study, client)
    code = Participant.objects.get().withdrawal_code
    assert code in page
    assert code in come(study, "", client)  # at the foot of every page


def test_a_link_of_the_same_session_goes_on_in_another_browser(study: Study) -> None:
    agree(study, LINK)
    client = Client()
    assert "About you" in come(study, LINK, client)
    assert Participant.objects.count() == 1
    assert "About you" in come(study, "", client)  # and is remembered there
    Study.objects.update(recruitment="closed")
    assert "About you" in come(study, LINK)


@pytest.mark.parametrize(
    ("first", "again", "returns"),
    [
        (LINK, "?PROLIFIC_PID=5f3a", "resume"),
        (LINK, LINK.replace("e1", "guessed"), "resume"),
        # It came without a session
        ("?PROLIFIC_PID=5f3a", "?PROLIFIC_PID=5f3a", "resume"),
        ("?id=12345", "?id=12345", "resume"),
        (LINK, LINK, "refuse"),
    ],
)
def test_an_id_alone_and_a_link_that_is_refused_open_nothing_and_begin_no_second_one(
    study: Study, first: str, again: str, returns: str
) -> None:
    make_channel(study, returns=returns)
    person, client = agree(study, first), Client()
    page = come(study, again, client)
    assert "You have been here before" in page
    assert person.withdrawal_code not in page
    decide(study, client)
    assert Participant.objects.count() == 1


def test_the_sites_code_is_said_to_be_for_who_does_not_go_on(study: Study) -> None:
    make_channel(study, "prolific", returns="refuse", screen_out_code="OUT-1")
    agree(study, LINK)
    known = come(study, LINK)
    assert "If you do not continue, enter this code on the recruitment site:" in known
    client = Client()
    come(study, LINK.replace("5f3a", "5f3b"), client)
    declined = decide(study, client, "no").content.decode()
    assert "When you return to the recruitment site, enter this code there:" in declined
    assert "OUT-1" in known
    assert "OUT-1" in declined


def test_the_code_goes_on_in_any_browser_however_it_is_typed(study: Study) -> None:
    person, client = answer(start(study), until=2), Client()
    assert send(study, "return", client, code="ABCD-EFGH-JKLM").status_code == 422
    page = send(study, "return", client, code=person.withdrawal_code.lower().replace("-", " "))
    assert (page.status_code, page["Location"]) == (303, f"{study.get_absolute_url()}trial/3/")
    assert "Abstract 3 of" in come(study, "", client)


def test_after_the_return_window_a_code_still_withdraws_and_no_longer_goes_on(study: Study) -> None:
    code = start(study).withdrawal_code
    Participant.objects.update(last_seen_at=timezone.now() - timedelta(days=30))
    assert send(study, "return", code=code).status_code == 403
    send(study, "withdraw", code=code, confirm="1")
    assert Participant.objects.get().stage == "withdrawn"


def test_who_withdrew_may_begin_anew_since_nothing_is_known_of_them(study: Study) -> None:
    send(study, "withdraw", code=agree(study, LINK).withdrawal_code, confirm="1")
    assert "Informed consent" in come(study, LINK)


def test_who_withdrew_is_given_another_code_in_the_same_browser(study: Study) -> None:
    client = Client()
    come(study, LINK, client)
    decide(study, client)
    code = Participant.objects.get().withdrawal_code
    other = agree(study, LINK.replace("5f3a", "5f3b")).withdrawal_code
    send(study, "withdraw", client, code=other, confirm="1")
    assert code in come(study, "", client)
    send(study, "withdraw", client, code=code, confirm="1")
    page = come(study, "", client)
    assert "Informed consent" in page
    assert 'your ID (<span dir="ltr">5f3a</span>)' in page
    assert code not in page


def test_ids_are_erased_after_the_day_that_consent_named_and_not_before(study: Study) -> None:
    Study.objects.update(external_id_days=10)
    study.refresh_from_db()
    person = agree(study, LINK)
    day = timezone.now().date() + timedelta(days=10)
    assert person.recruitment.until == day
    assert [forget_ids(day + timedelta(days=n)) for n in (0, 1, 1)] == [0, 1, 0]
    person.refresh_from_db()
    assert person.external_source == "prolific"
    assert not RecruitmentRecord.objects.exists()
    assert "About you" in come(study, "", client_of(person))


def test_the_own_code_shows_what_is_held_before_anything_is_withdrawn(study: Study) -> None:
    person = agree(study, LINK)
    told = {"gender": "other", "age": "prefer_not_to_say"}
    Participant.objects.update(demographics=told, comments="<b>Mine</b>")
    page = send(study, "withdraw", code=person.withdrawal_code).content.decode()
    for said in ("Another gender identity", "Age in years: Prefer not", "&lt;b&gt;Mine"):
        assert said in page
    assert "5f3a" in page
    assert "e1" in page
    person.refresh_from_db()
    assert person.stage == "demographics"
