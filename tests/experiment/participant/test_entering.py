"""Entering: what a link lets in, remembers and gives at the end; shared computers, declining, and who is let in as what."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.participant import identity
from experiment.services import study_setup, taking_part
from experiment.services.channels import ExternalIds
from tests.experiment.people import agree, answer, client_of, come, decide, enroll, start
from tests.experiment.refusals import assert_page
from tests.factories import make_channel, make_study, make_user

pytestmark = pytest.mark.django_db
CODE = "C0DE-AT-THE-END"
IDS = ExternalIds("prolific", "p1", "s1", "x1", channel="uk")
LINK = "?channel=uk&PROLIFIC_PID=p1&STUDY_ID=s1&SESSION_ID=x1"
OUT = "https://recruit.example/out?id="


@pytest.fixture
def study() -> Study:
    study = make_study(recruitment="open")
    ends = {"completion_code": CODE, "screen_out_url": OUT + "{external_id}"}
    make_channel(study, "uk", platform="prolific", label="Prolific UK", **ends)
    make_channel(study, "panel", platform="other", id_parameter="who", session_parameter="round")
    make_channel(study, "poster")
    make_channel(study, completion_code="FOR-PLAIN-LINKS")
    return study


@pytest.mark.parametrize(
    ("query", "source", "ids"),
    [
        ("", "", []),
        ("?utm_source=mail", "", []),
        ("?channel=plain", "", []),
        ("?channel=poster", "poster", []),
        (LINK, "uk", [("prolific", "p1", "s1", "x1")]),
        # A link that names no channel finds the platform's, if there is one
        ("?PROLIFIC_PID=p2", "uk", [("prolific", "p2", "", "")]),
        ("?id=77", "sona", [("sona", "77", "", "")]),
        ("?workerId=w&hitId=h&assignmentId=a", "mturk", [("mturk", "w", "h", "a")]),
        # Another panel's parameters have the names that it gives
        ("?channel=panel&who=a&round=7", "panel", [("panel", "a", "", "7")]),
    ],
)
def test_a_links_channel_and_ids_are_kept_apart_and_the_address_is_cleaned(
    study: Study, query: str, source: str, ids: list[tuple[str, ...]]
) -> None:
    client = Client()
    page = client.get(study.get_absolute_url() + query, follow=True)
    assert page.request["QUERY_STRING"] == ""
    assert decide(study, client).status_code == 303
    assert Participant.objects.get().external_source == source
    names = "source", "external_id", "external_study_id", "external_session_id"
    assert list(RecruitmentRecord.objects.values_list(*names)) == ids


def test_declining_stores_nothing_leads_back_and_can_be_taken_back(study: Study) -> None:
    client = Client()
    come(study, "?PROLIFIC_PID=a%26b", client)
    assert f"{OUT}a%26b" in decide(study, client, "no").content.decode()
    assert not Participant.objects.exists()
    assert decide(study, client).status_code == 303
    assert RecruitmentRecord.objects.get().external_id == "a&b"
    assert_page(decide(study, client, "no"), 409, "You are taking part")  # in another tab


def test_another_id_at_the_same_computer_is_somebody_else_from_their_consent_on(
    study: Study,
) -> None:
    client = Client()
    agree(study, "?PROLIFIC_PID=71", client)
    for other in ("?PROLIFIC_PID=72", "?id=71"):
        assert "Informed consent" in come(study, other, client)
    # Whoever only looked has taken nothing away from the first
    assert "About you" in come(study, "?PROLIFIC_PID=71", client)
    assert Participant.objects.count() == 1
    agree(study, "?PROLIFIC_PID=72", client)
    assert set(RecruitmentRecord.objects.values_list("external_id", flat=True)) == {"71", "72"}


def test_a_participant_of_one_channel_is_known_in_others_of_the_platform(study: Study) -> None:
    make_channel(study, "us", platform="prolific")
    agree(study, LINK)
    assert "You have been here before" in come(study, "?channel=us&PROLIFIC_PID=p1")


def test_a_member_of_the_study_is_a_pilot_even_while_it_is_open(study: Study) -> None:
    client = Client()
    client.force_login(make_user("ruth", study))
    assert agree(study, "", client).kind == "pilot"


def test_undecided_consent_is_answered_beside_the_buttons_and_focuses_neither(
    study: Study,
) -> None:
    client = Client()
    come(study, "", client)
    response = decide(study, client, agree="")
    assert response.status_code == 422
    above, _, buttons = response.content.decode().partition('<form method="post" class="actions')
    assert 'id="agree-error" role="alert" tabindex="-1" autofocus' in above
    assert above.index('id="consent-title"') < above.index('id="agree-error"')
    assert "autofocus" not in buttons
    assert not Participant.objects.exists()


def test_closed_and_unknown_channels_let_nobody_in_and_send_visitors_on(study: Study) -> None:
    unknown = Client().get(study.get_absolute_url() + "?channel=none")
    assert_page(unknown, 404, "This link is not valid")
    started = Client()
    agree(study, LINK, started)
    make_channel(study, "uk", is_open=False)
    assert "This study has ended" in come(study, LINK.replace("p1", "p2"))
    assert "agree" in come(study)  # by other channels
    assert started.get(f"{study.get_absolute_url()}about-you/").status_code == 200
    Study.objects.update(recruitment="closed")
    late = Client().get(study.get_absolute_url() + LINK.replace("p1", "p3"), follow=True)
    assert_page(late, 403, f"{OUT}p3")
    assert Participant.objects.count() == 1


def test_a_study_that_was_never_opened_is_as_good_as_none_for_all_but_its_members(
    study: Study,
) -> None:
    Study.objects.update(recruitment="draft", title="Unpublished")
    home = study.get_absolute_url()

    def told(page: Any) -> tuple[int, str]:
        return page.status_code, re.sub(r'(nonce|value)="[^"]*"', "", page.text)

    for path in ("", "?channel=uk", LINK, "about-you/", "trial/1/", "return/", "withdraw/", "no/"):
        asked, missing = (told(Client().get(f"{at}{path}")) for at in (home, "/s/none/"))
        assert asked == missing, path
        assert asked[0] == 404
    for path in ("", "return/", "withdraw/", "ping/"):
        for client in (Client(), Client(enforce_csrf_checks=True)):
            asked, missing = (told(client.post(f"{at}{path}")) for at in (home, "/s/none/"))
            assert asked == missing, path
    assert "Unpublished" in come(study, f"?simulated={identity.simulated_token()}")
    member = Client()
    member.force_login(make_user("ruth", study))
    assert "Unpublished" in come(study, "", member)
    stranger = Client()
    stranger.force_login(make_user("otto"))
    assert told(stranger.get(home)) == told(stranger.get("/s/none/"))
    # Who began while it was open may return, or withdraw, from any browser
    Study.objects.update(recruitment="pilot")
    study.refresh_from_db()
    study_setup.set_recruitment(study, "draft")
    assert_page(Client().get(home), 403, "This study has not started")
    assert Client().get(f"{home}withdraw/").status_code == 200


def test_the_code_is_shown_only_after_every_answer_is_stored(study: Study) -> None:
    person = start(study, external=IDS)
    client = client_of(person)
    pages = ["", "about-you/", "practice/", "start/", "trial/1/", "debrief/", "done/"]

    def sent() -> str:
        return "".join(come(study, page, client) for page in pages)

    for position in (0, study.n_trials - 1, study.n_trials):  # the debrief is not sent yet
        person = answer(person, until=position)
        assert CODE not in sent()
    debrief = f"{study.get_absolute_url()}debrief/"
    refused = client.post(debrief, {"comments": "x" * 5_001})
    assert (refused.status_code, CODE in refused.content.decode()) == (422, False)
    assert client.post(debrief, {"comments": ""})["Location"].endswith(f"?cc={CODE}")
    ended = come(study, "done/", client)
    person.refresh_from_db()
    assert (person.stage, person.trials.filter(judgment=None).count()) == ("finished", 0)
    assert CODE in ended
    assert "FOR-PLAIN-LINKS" not in ended
    assert CODE not in come(study, "done/")  # somebody else's browser


def finisher(study: Study) -> Client:
    """The browser of somebody who came by LINK to the end."""
    person = answer(start(study, external=IDS), until=study.n_trials)
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    return client_of(person)


def test_taking_part_again_needs_a_channel_that_allows_it(study: Study) -> None:
    client = finisher(study)
    assert CODE in come(study, LINK, client)
    make_channel(study, "uk", returns="again")
    agree(study, LINK, client)
    assert RecruitmentRecord.objects.filter(external_id="p1").count() == 2


def test_the_owner_of_an_id_that_a_stranger_took_is_admitted_where_channels_allow_it(
    study: Study,
) -> None:
    """IDs of SONA can be guessed, and no link is signed."""
    query = "?channel=sona&id=1234"
    make_channel(study, "sona")
    agree(study, query, Client())
    owner = Client()
    assert "Informed consent" not in come(study, query, owner)
    make_channel(study, "sona", returns="again")
    agree(study, query, owner)
    assert RecruitmentRecord.objects.filter(external_id="1234").count() == 2


@pytest.mark.parametrize(
    "shut", [{"recruitment": "closed"}, {"target_valid": 1}, {"closes_at": "2026-01-01T00:00Z"}]
)
def test_participants_who_cannot_enter_again_still_find_their_code(
    study: Study, shut: dict[str, Any]
) -> None:
    make_channel(study, "uk", returns="again")
    client = finisher(study)
    Study.objects.filter(pk=study.pk).update(**shut)
    assert CODE in come(study, LINK, client)
    assert CODE in come(study, "", client)
    assert CODE not in come(study, LINK.replace("p1", "p2"), client)  # another at this computer


def test_channels_are_asked_for_once_by_a_process(study: Study) -> None:
    def asked(query: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            come(study, query)
        return sum("experiment_channel" in query["sql"] for query in queries)

    assert asked("") == 1
    assert (asked(""), asked(LINK)) == (0, 0)


def test_the_source_of_ids_is_named_at_consent_and_with_the_stored_data(study: Study) -> None:
    assert "Prolific UK added these IDs" in come(study, LINK)
    assert "Mechanical Turk added these IDs" in come(study, "?workerId=w1")
    assert "added these IDs" not in come(study)
    address = f"{study.get_absolute_url()}withdraw/"
    for external, shown in ((IDS, True), (ExternalIds(), False)):
        person = enroll(study, external=external)
        held = Client().post(address, {"code": person.withdrawal_code})
        assert held.status_code == 200
        assert ("Prolific UK" in held.content.decode()) is shown
