"""What a channel's link lets in, remembers and gives at the end."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services import taking_part
from experiment.services.channels import ExternalIds
from experiment.services.study_setup import set_recruitment
from tests.experiment.people import answer, client_of, enroll, start
from tests.factories import make_channel, make_study

pytestmark = pytest.mark.django_db
CODE = "C0DE-AT-THE-END"
IDS = ExternalIds("prolific", "p1", "s1", "x1", channel="uk")
LINK = "?channel=uk&PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1"


@pytest.fixture
def study() -> Study:
    study = set_recruitment(make_study(), "open")
    make_channel(study, "uk", platform="prolific", label="Prolific UK", completion_code=CODE)
    make_channel(study, completion_code="FOR-PLAIN-LINKS")
    return study


def come(study: Study, query: str = "", client: Client | None = None) -> str:
    answer = (client or Client()).get(study.get_absolute_url() + query, follow=True)
    return answer.content.decode()


def agree(client: Client, study: Study, query: str = LINK) -> Participant:
    come(study, query, client)
    assert study.consent
    form = {"agree": "yes", "consent_sha256": study.consent.sha256}
    assert client.post(study.get_absolute_url(), form).status_code == 303
    return Participant.objects.latest("pk")


def test_the_channel_and_the_ids_are_kept_apart(study: Study) -> None:
    person = agree(Client(), study)
    record = RecruitmentRecord.objects.get()
    assert person.external_source == "uk"
    assert (record.source, record.external_id, record.external_session_id) == (
        "prolific",
        "p1",
        "x1",
    )


def test_a_link_that_names_no_channel_finds_the_platforms(study: Study) -> None:
    assert agree(Client(), study, "?PROLIFIC_PID=p2").external_source == "uk"
    assert agree(Client(), study, "").external_source == ""
    assert agree(Client(), study, "?channel=plain").external_source == ""


def test_who_is_known_in_one_channel_is_known_in_another_of_the_platform(study: Study) -> None:
    make_channel(study, "us", platform="prolific")
    agree(Client(), study)
    assert "You have been here before" in come(study, "?channel=us&PROLIFIC_PID=p1")


def test_another_panels_parameters_have_the_names_that_it_gives(study: Study) -> None:
    make_channel(study, "panel", platform="other", id_parameter="who", session_parameter="round")
    agree(Client(), study, "?channel=panel&who=a&round=7")
    record = RecruitmentRecord.objects.get()
    assert (record.source, record.external_id, record.external_session_id) == ("panel", "a", "7")


def test_a_channel_that_the_study_does_not_have_is_said_so(study: Study) -> None:
    answer = Client().get(study.get_absolute_url() + "?channel=none")
    assert answer.status_code == 404
    assert "This link is not known" in answer.content.decode()
    assert not Participant.objects.exists()


def test_a_closed_channel_lets_nobody_in_while_others_do(study: Study) -> None:
    started = Client()
    person = agree(started, study)
    make_channel(study, "uk", is_open=False)
    assert "This study has ended" in come(study, LINK.replace("p1", "p2"))
    assert "agree" in come(study)
    assert Participant.objects.filter(pk=person.pk, stage="demographics").exists()
    assert started.get(f"{study.get_absolute_url()}about-you/").status_code == 200


def test_the_code_is_shown_only_after_every_answer_is_stored(study: Study) -> None:
    person = start(study, external=IDS)
    client = client_of(person)
    pages = ["", "about-you/", "practice/", "start/", "trial/1/", "debrief/", "done/"]

    def sent() -> str:
        every = (client.get(study.get_absolute_url() + page, follow=True) for page in pages)
        return "".join(answer.content.decode() for answer in every)

    assert CODE not in sent()
    person = answer(person, until=study.n_trials - 1)
    assert CODE not in sent()
    person = answer(person, until=study.n_trials)
    assert CODE not in sent()  # the debrief is not sent yet
    debrief = f"{study.get_absolute_url()}debrief/"
    refused = client.post(debrief, {"comments": "x" * 5_001})
    assert (refused.status_code, CODE in refused.content.decode()) == (422, False)
    ended = client.post(debrief, {"comments": ""}, follow=True).content.decode()
    person.refresh_from_db()
    assert (person.stage, person.trials.filter(judgment=None).count()) == ("finished", 0)
    assert CODE in ended
    assert "FOR-PLAIN-LINKS" not in ended
    assert CODE not in come(study, "done/")  # somebody else's browser


def test_taking_part_again_needs_a_channel_that_allows_it(study: Study) -> None:
    person = answer(start(study, external=IDS), until=study.n_trials)
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    client = client_of(person)
    assert CODE in come(study, LINK, client)
    make_channel(study, "uk", returns="again")
    second = agree(client, study)
    assert second.pk != person.pk
    assert RecruitmentRecord.objects.filter(external_id="p1").count() == 2


@pytest.mark.parametrize(
    "shut", [{"recruitment": "closed"}, {"target_valid": 1}, {"closes_at": "2026-01-01T00:00Z"}]
)
def test_who_is_not_let_in_again_still_finds_their_code(study: Study, shut: dict[str, Any]) -> None:
    make_channel(study, "uk", returns="again")
    person = answer(start(study, external=IDS), until=study.n_trials)
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    client = client_of(person)
    Study.objects.filter(pk=study.pk).update(**shut)
    assert CODE in come(study, LINK, client)
    assert CODE in come(study, "", client)
    assert CODE not in come(study, LINK.replace("p1", "p2"), client)  # another at this computer


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("?channel=uk", "PROLIFIC_PID"),
        ("?channel=uk&PROLIFIC_PID=", "PROLIFIC_PID"),
        ("?channel=uk&STUDY_ID=s1&SESSION_ID=x1", "PROLIFIC_PID"),
        ("?channel=panel&round=7", "who"),
    ],
)
def test_a_channels_link_without_the_id_lets_nobody_in(
    study: Study, query: str, parameter: str
) -> None:
    make_channel(study, "panel", platform="other", id_parameter="who", session_parameter="round")
    answer = Client().get(study.get_absolute_url() + query)
    assert answer.status_code == 400
    assert parameter in answer.content.decode()
    assert not answer.cookies


def test_a_channel_whose_links_have_no_ids_needs_none(study: Study) -> None:
    make_channel(study, "poster")
    assert agree(Client(), study, "?channel=poster").external_source == "poster"


def test_channels_are_asked_for_once_by_a_process(study: Study) -> None:
    def asked(query: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            come(study, query)
        return sum("experiment_channel" in query["sql"] for query in queries)

    assert asked("") == 1
    assert (asked(""), asked(LINK)) == (0, 0)


def test_who_asks_what_is_held_reads_by_which_channel_they_came(study: Study) -> None:
    address = f"{study.get_absolute_url()}withdraw/"
    for external, shown in ((IDS, True), (ExternalIds(), False)):
        person = enroll(study, external=external)
        held = Client().post(address, {"code": person.withdrawal_code})
        assert held.status_code == 200
        assert ("Prolific UK" in held.content.decode()) is shown


def test_consent_names_who_gave_the_ids_also_without_a_channel_of_its_own(study: Study) -> None:
    assert "Prolific UK put these ids" in come(study, LINK)
    assert "Mechanical Turk put these ids" in come(study, "?workerId=w1")
    assert "put these ids" not in come(study)
