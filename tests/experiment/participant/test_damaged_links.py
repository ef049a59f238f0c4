"""Links that pages and mail programs changed on their way: nobody is lost, what can be read is used, and the study team is told."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services.study_language import version_of
from tests.experiment.people import decide
from tests.experiment.refusals import assert_page
from tests.factories import make_channel, make_study, make_user

pytestmark = pytest.mark.django_db
WHO, WHAT, WHEN = "5f3a9c0b5f3a9c0b5f3a9c01", "64a1b2c3d4e5f6a7b8c9d0e1", "65a1b2c3d4e5f6a7b8c9d0e2"
SENT = f"channel=pro&PROLIFIC_PID={WHO}&STUDY_ID={WHAT}&SESSION_ID={WHEN}"
UNNAMED = SENT.removeprefix("channel=pro&")
ODD = 'id="odd-id"'


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    make_channel(study, "pro", platform="prolific")
    make_channel(study, "sona", platform="sona")
    return study


def ids_of(study: Study, query: str) -> tuple[str, ...]:
    """That somebody enters with who follows a link; the first page is as who reads it sees it."""
    client = Client()
    page = client.get(f"{study.get_absolute_url()}?{query}", follow=True)
    assert ODD not in page.text
    decide(study, client)
    stored = RecruitmentRecord.objects.get()
    return stored.external_id, stored.external_study_id, stored.external_session_id


def n_told(study: Study) -> int:
    study.refresh_from_db()
    return study.damaged_links


@pytest.mark.parametrize("query", [SENT, UNNAMED])
def test_a_link_as_it_was_sent_is_nothing_to_tell(study: Study, query: str) -> None:
    assert ids_of(study, query) == (WHO, WHAT, WHEN)
    assert n_told(study) == 0


@pytest.mark.parametrize(
    "query",
    [
        SENT.replace("&", "&amp;"),
        UNNAMED.replace("&", "&amp;amp;"),
        UNNAMED.replace("=", "%3D").replace("&", "%26"),
        SENT.replace("=", "%253D").replace("&", "%2526"),
        "channel=pro%26" + UNNAMED.replace("=", "%3D").replace("&", "%26"),
        f"{SENT}.",
        f"{SENT}%3E",
        UNNAMED.replace("=", "=%7B").replace("&", "%7D&") + "%7D",
        UNNAMED.replace("=", "=%257B%257B").replace("&", "%257D%257D&") + "%7D%7D",
        UNNAMED.replace("=", "=%22").replace("&", "%22&"),
        UNNAMED.replace("=", "=3D"),
    ],
)
def test_the_readable_parts_of_a_changed_link_are_used_and_reported(
    study: Study, query: str
) -> None:
    assert ids_of(study, query) == (WHO, WHAT, WHEN)
    assert n_told(study) == 1


def test_an_id_that_the_site_cannot_have_sent_is_told_to_the_visitor_who_may_go_on(
    study: Study,
) -> None:
    client = Client()
    cut = f"channel=pro&PROLIFIC_PID={WHO[:-4]}"
    page = client.get(f"{study.get_absolute_url()}?{cut}", follow=True)
    assert ODD in page.text
    assert "does not look like an ID of" in page.text
    decide(study, client)
    assert RecruitmentRecord.objects.get().external_id == WHO[:-4]
    Client().get(f"{study.get_absolute_url()}?id=31415", follow=True)
    lost = Client().get(f"{study.get_absolute_url()}?STUDY_ID={WHAT}&SESSION_ID={WHEN}")
    assert_page(lost, 400, "This link is not valid", "PROLIFIC_PID")
    assert Participant.objects.count() == 1
    assert n_told(study) == 2
    member = Client()
    member.force_login(make_user("ruth", study))
    for name in ("lab:study", "lab:recruiting"):
        assert "2 visits, the last on" in member.get(reverse(name, args=[study.slug])).text


@pytest.mark.parametrize("sign", ["%20", ",", "%3B", "%7C", "%C2%A0", "%C2%85", "%E2%80%A8"])
def test_nobody_enters_with_a_second_id_that_a_list_of_payments_would_hold(
    study: Study, sign: str
) -> None:
    two = UNNAMED.replace(WHO, f"{WHO}{sign}{WHAT}")
    for query in (two, f"channel=pro&{two}", f"channel=sona&id=31415{sign}27182"):
        assert_page(Client().get(f"{study.get_absolute_url()}?{query}"), 400, "an ID of at most")
    make_channel(study, "panel", platform="other", id_parameter="who")
    named = Client().get(f"{study.get_absolute_url()}?channel=panel&who=a{sign}b", follow=True)
    assert named.status_code == 200


@pytest.mark.parametrize("lost", [f"STUDY_ID={WHAT}&", f"&SESSION_ID={WHEN}"])
def test_a_link_that_lost_another_id_is_told_to_the_study_team_alone(
    study: Study, lost: str
) -> None:
    assert WHO in ids_of(study, SENT.replace(lost, ""))
    assert n_told(study) == 1


def test_a_bad_link_has_no_page_of_others_rendered_anew(study: Study) -> None:
    study.refresh_from_db()
    before = version_of(study)
    Client().get(f"{study.get_absolute_url()}?STUDY_ID=x")
    Client().get(f"{study.get_absolute_url()}?channel=pro&PROLIFIC_PID={{{{PID}}}}")
    assert n_told(study) + study.unfilled_links > 0
    study.turned_away_at = timezone.now()
    assert version_of(study) == before
