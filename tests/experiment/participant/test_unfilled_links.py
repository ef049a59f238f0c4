"""A link whose placeholders the recruitment site did not fill in: nobody enters by it, and nobody is taken for another."""

from urllib.parse import urlencode

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from experiment.models import Channel, Participant, RecruitmentRecord, Study
from experiment.services.channels import links
from tests.experiment.people import decide
from tests.experiment.refusals import assert_page
from tests.factories import make_channel, make_study, make_user

pytestmark = pytest.mark.django_db
PROLIFIC = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
NAMES = st.from_regex("[A-Za-z_][A-Za-z0-9_]{2,19}", fullmatch=True)
IDS = st.from_regex("[0-9a-f]{3}[1-9]{4}", fullmatch=True)
# Known for placeholders also within a text
WHOLE = [("{{%", "%}}"), ("{", "}"), ("${", "}"), ("%", "%"), ("[", "]"), ("%{", "}"), ("(", ")")]
AROUND = [
    ("{{%", "%}}"), ("{{", "}}"), ("{", "}"), ("${", "}"), ("#{", "}"), ("%", "%"), ("%%", "%%"), ("[", "]"), ("[[", "]]"),
    ("[%", "%]"), ("<", ">"), ("<%", "%>"), ("$", "$"), ("@@", "@@"), ("__", "__"), ("*|", "|*"), ("$", ""), (":x", ""),
    ("%{", "}"), ("$(", ")"), ("(", ")"), ("«", "»"), ("&lt;", "&gt;"), ("%", ""),
]  # fmt: skip


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    for code, platform in (("pro", "prolific"), ("sona", "sona"), ("turk", "mturk")):
        make_channel(study, code, platform=platform)
    make_channel(study, "panel", platform="other", id_parameter="who", session_parameter="round")
    return study


def consent(study: Study, query: str) -> tuple[Client, int]:
    """A browser that follows a link, and agrees, or says that it has begun, where it is asked."""
    client = Client()
    page = client.get(f"{study.get_absolute_url()}?{query}", follow=True)
    if page.status_code == 200:
        decide(study, client, "continue" if b"already started?</h1>" in page.content else "yes")
    return client, page.status_code


def held(client: Client, study: Study) -> str:
    """The participant that a browser's cookie names."""
    name = f"bb-participant-{study.pk}"
    cookie = client.cookies.get(name)
    return signing.loads(cookie.value, salt=name).rstrip("~") if cookie else ""


def shared_study() -> Study:
    """One for all examples of a property."""
    return Study.objects.filter(slug="shared").first() or make_study(
        slug="shared", recruitment="open"
    )


@pytest.mark.parametrize(
    ("channel", "parameter"),
    [("pro", "PROLIFIC_PID"), ("sona", "id"), ("turk", "workerId"), ("panel", "who")],
)
def test_a_link_as_the_recruitment_page_prints_it_lets_nobody_in(
    study: Study, channel: str, parameter: str
) -> None:
    (url,) = (link.url for link in links(study, study.get_absolute_url()) if link.code == channel)
    for client in (Client(), Client()):
        answer = client.get(url)
        assert_page(answer, 400, "Your link is not complete", parameter)
        assert not answer.cookies
    assert not Participant.objects.exists()
    member = Client()
    member.force_login(make_user("ruth", study))
    watch = member.get(reverse("lab:study", args=[study.slug])).content.decode()
    assert "2 visits were refused" in watch


NO_IDS = """
    channel=pro
    channel=pro&PROLIFIC_PID=
    channel=pro&STUDY_ID=s1&SESSION_ID=x1
    PROLIFIC_PID=%20
    channel=panel&who=%255Bid%255D
    channel=panel&who=%3Cid%3E
    channel=panel&who=None
    channel=panel&who=YOUR_ID_HERE
    channel=panel&who=%7Be://Field/ResponseID%7D
    channel=panel&who=a&round=null
    id=%SURVEY_CODE%
    id=%25SURVEY_CODE%25
    id=%2525SURVEY_CODE%2525
    id=%DEAD_ID%
    PROLIFIC_PID=undefined
    workerId=worker_id
    id=XXXX
    id=-
    channel=panel&round=7
    channel=panel&who=who
    channel=panel&who=a&round=%5Bround%5D
    PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=%7B%7B%25SESSION_ID%25%7D%7D
"""
IDS_OF_SITES = (
    "5f3a9c0b 31415 A1B2C3 a.b+c@example.org x%y Zm9v== {3F2504E0-4F89-11D3-9A0C-0305E82C3301}"
)


@pytest.mark.parametrize("query", NO_IDS.split())
def test_unfilled_placeholders_are_not_ids(study: Study, query: str) -> None:
    assert consent(study, query)[1] == 400
    assert not RecruitmentRecord.objects.exists()


@pytest.mark.parametrize(
    ("query", "site"),
    [
        ("assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h1", "Mechanical Turk"),
        ("workerId=w1&hitId=h1&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE", "Mechanical Turk"),
        ("channel=turk&hitId=h1&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE", "Mechanical Turk"),
        ("PROLIFIC_PID=preview&STUDY_ID=s1&SESSION_ID=x1", "Prolific"),
        ("channel=panel&who=a&round=PREVIEW_MODE", "The panel"),
    ],
)
def test_a_preview_shows_the_first_page_and_lets_nobody_begin(
    study: Study, query: str, site: str
) -> None:
    Channel.objects.filter(code="panel").update(label="The panel")
    page = Client().get(f"{study.get_absolute_url()}?{query}")
    assert_page(page, 200, study.title, "accept the task on the recruitment site")
    assert not page.cookies
    assert site in page.text
    assert "<form" not in page.text
    study.refresh_from_db()
    assert study.unfilled_links == 0  # it is no fault of the link
    study.recruitment = "closed"
    study.save()
    closed = Client().get(f"{study.get_absolute_url()}?{query}")
    assert_page(closed, 403, "This study has ended")


@pytest.mark.parametrize("value", IDS_OF_SITES.split())
def test_ids_as_sites_give_them_are_taken(study: Study, value: str) -> None:
    consent(study, urlencode({"channel": "panel", "who": value}))
    assert RecruitmentRecord.objects.get().external_id == value


@hypothesis_settings(max_examples=60)
@given(st.sampled_from(AROUND), NAMES, st.sampled_from(["", "p-", "uni1_"]))
def test_a_placeholder_of_any_kind_lets_nobody_in(
    around: tuple[str, str], name: str, before: str
) -> None:
    study, placeholder = shared_study(), name.join(around)
    if before and around not in WHOLE:
        before = ""
    client, status = consent(study, urlencode({"PROLIFIC_PID": before + placeholder}))
    assert (status, held(client, study)) == (400, "")


@hypothesis_settings(max_examples=60)
@given(
    st.sampled_from([PROLIFIC, ("id",), ("workerId", "hitId", "assignmentId")]),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1, max_size=30),
)
def test_browsers_that_share_one_value_whatever_it_is_never_share_a_participant(
    names: tuple[str, ...], value: str
) -> None:
    """Also where no list knows the placeholder."""
    RecruitmentRecord.objects.all().delete()  # of the example before
    study, query = shared_study(), urlencode(dict.fromkeys(names, value))
    _, (second, _) = consent(study, query), consent(study, query)
    shown = second.get(study.get_absolute_url(), follow=True).content.decode()
    assert not held(second, study)
    for person in Participant.objects.filter(study=study):
        assert person.withdrawal_code not in shown


@hypothesis_settings(max_examples=40)
@given(IDS, IDS, IDS)
def test_browsers_share_a_participant_by_an_id_with_its_session_alone(
    person: str, one: str, other: str
) -> None:
    RecruitmentRecord.objects.all().delete()
    study, sessions = shared_study(), (one, other)
    queries = [urlencode(dict(zip(PROLIFIC, (person, "s", s), strict=True))) for s in sessions]
    (first, _), (second, _) = (consent(study, query) for query in queries)
    assert held(first, study)
    assert held(second, study) == (held(first, study) if one == other != person else "")
