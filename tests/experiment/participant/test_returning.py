"""Coming back without the cookie: by the recruitment site's link of the same session, or by one's own code."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services.channels import forget_ids
from tests.experiment.people import answer, client_of, start
from tests.factories import make_channel, make_study

pytestmark = pytest.mark.django_db
LINK = "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1"


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def come(study: Study, query: str = "", client: Client | None = None) -> str:
    """What a browser that knows nothing shows of this link."""
    client = client or Client()
    return client.get(study.get_absolute_url() + query, follow=True).content.decode()


def agree(study: Study, query: str) -> Participant:
    client = Client()
    come(study, query, client)
    client.post(study.get_absolute_url(), {"agree": "yes", "consent_sha256": study.consent.sha256})
    return Participant.objects.latest("pk")


def test_the_code_on_the_consent_page_is_the_participants(study: Study) -> None:
    client = Client()
    page = come(study, LINK, client)
    form = {"agree": "yes", "consent_sha256": study.consent.sha256}
    first = client.post(study.get_absolute_url(), form, follow=True).content.decode()
    code = Participant.objects.get().withdrawal_code
    assert code in page
    assert code in first  # at the foot of every page


def test_a_link_of_the_same_session_goes_on_in_another_browser(study: Study) -> None:
    agree(study, LINK)
    client = Client()
    assert "About you" in come(study, LINK, client)
    assert Participant.objects.count() == 1
    assert "About you" in come(study, client=client)  # and is remembered there
    Study.objects.update(recruitment="closed")
    assert "About you" in come(study, LINK)


@pytest.mark.parametrize(
    "query", ["?PROLIFIC_PID=5f3a", "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=guessed"]
)
def test_an_id_alone_opens_nobodys_session_and_begins_no_second_one(
    study: Study, query: str
) -> None:
    first = agree(study, LINK)
    client = Client()
    page = come(study, query, client)
    assert "You have been here before" in page
    assert first.withdrawal_code not in page
    client.post(study.get_absolute_url(), {"agree": "yes", "consent_sha256": study.consent.sha256})
    assert Participant.objects.count() == 1


def test_an_id_that_came_without_a_session_needs_the_code(study: Study) -> None:
    agree(study, "?PROLIFIC_PID=5f3a")
    assert "You have been here before" in come(study, "?PROLIFIC_PID=5f3a")
    agree(study, "?id=12345")
    assert "You have been here before" in come(study, "?id=12345")


def test_a_study_can_refuse_links_and_take_codes_alone(study: Study) -> None:
    make_channel(study, returns="refuse")
    agree(study, LINK)
    assert "You have been here before" in come(study, LINK)


def test_the_code_goes_on_in_any_browser_however_it_is_typed(study: Study) -> None:
    person = answer(start(study), until=2)
    address = study.get_absolute_url() + "return/"
    client = Client()
    wrong = client.post(address, {"code": "ABCD-EFGH-JKLM"})
    assert wrong.status_code == 422
    typed = person.withdrawal_code.lower().replace("-", " ")
    page = client.post(address, {"code": typed})
    assert (page.status_code, page["Location"]) == (303, f"{study.get_absolute_url()}trial/3/")
    assert "Abstract 3 of" in come(study, client=client)


def test_a_code_is_of_one_study(study: Study) -> None:
    other = make_study("other", recruitment="open")
    person = start(study)
    page = Client().post(other.get_absolute_url() + "return/", {"code": person.withdrawal_code})
    assert page.status_code == 422


def test_after_the_return_window_a_code_still_withdraws_and_no_longer_goes_on(study: Study) -> None:
    person = start(study)
    Participant.objects.update(last_seen_at=timezone.now() - timedelta(days=30))
    client = Client()
    page = client.post(study.get_absolute_url() + "return/", {"code": person.withdrawal_code})
    assert page.status_code == 403
    client.post(
        study.get_absolute_url() + "withdraw/", {"code": person.withdrawal_code, "confirm": "1"}
    )
    assert Participant.objects.get().stage == "withdrawn"


def test_who_withdrew_may_begin_anew_since_nothing_is_known_of_them(study: Study) -> None:
    first = agree(study, LINK)
    Client().post(
        study.get_absolute_url() + "withdraw/", {"code": first.withdrawal_code, "confirm": "1"}
    )
    assert "Informed consent" in come(study, LINK)


def test_ids_are_erased_after_the_day_that_consent_named_and_not_before(study: Study) -> None:
    Study.objects.update(external_id_days=10)
    study.refresh_from_db()
    person = agree(study, LINK)
    day = timezone.now().date() + timedelta(days=10)
    assert person.recruitment.until == day
    assert forget_ids(day) == 0
    assert forget_ids(day + timedelta(days=1)) == 1
    person.refresh_from_db()
    assert person.external_source == "prolific"
    assert not RecruitmentRecord.objects.exists()
    assert forget_ids(day + timedelta(days=1)) == 0
    assert "About you" in come(study, client=client_of(person))


def test_the_own_code_shows_what_is_held_before_anything_is_withdrawn(study: Study) -> None:
    person = agree(study, LINK)
    Participant.objects.filter(pk=person.pk).update(
        demographics={"gender": "other", "age": "prefer_not_to_say"}, comments="<b>Mine</b>"
    )
    address = study.get_absolute_url() + "withdraw/"
    page = Client().post(address, {"code": person.withdrawal_code}).content.decode()
    for said in (
        "Another gender identity",
        "Age in years: Prefer not",
        "&lt;b&gt;Mine",
        "5f3a",
        "e1",
    ):
        assert said in page
    person.refresh_from_db()
    assert person.stage == "demographics"
    page = Client().post(address, {"code": person.withdrawal_code, "confirm": "1"})
    assert "Your answers are withdrawn" in page.content.decode()
    assert not RecruitmentRecord.objects.exists()
