"""Coming back without the cookie: by the recruitment site's link of the same session, or by one's own code."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from experiment.models import Participant, RecruitmentRecord, Study
from experiment.services import taking_part
from experiment.services.channels import forget_ids
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import ABOUT_ME, agree, answer, client_of, come, decide, start
from tests.factories import make_channel, make_user

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
    assert "Have you already started?" in come(study, LINK, client)
    went_on = decide(study, client, "continue")
    assert (went_on.status_code, went_on["Location"]) == (
        303,
        f"{study.get_absolute_url()}about-you/",
    )
    assert Participant.objects.count() == 1
    assert "About you" in come(study, LINK, client)  # and is remembered there
    Study.objects.update(recruitment="closed")
    other = Client()
    come(study, LINK, other)
    assert decide(study, other, "continue").status_code == 303


def test_a_link_makes_nobody_the_participant_behind_it_unasked(study: Study) -> None:
    """Somebody began with it, and gave it to others to read what they answer."""
    theirs = agree(study, LINK)
    client = Client()
    own = agree(study, "", client)
    for query in (LINK, "", LINK):  # what the browser is remembered as is not changed by a page
        page = come(study, query, client)
        assert theirs.withdrawal_code not in page
    assert "Informed consent" in page
    assert "Have you already started?" in page
    still = client.get(f"{study.get_absolute_url()}about-you/").content.decode()
    assert own.withdrawal_code in still
    for decision in ("yes", "no", "maybe"):
        stranger = Client()
        come(study, LINK, stranger)
        decide(study, stranger, decision)
        assert not any("participant" in name for name in stranger.cookies)
    assert Participant.objects.count() == 2


def test_consent_never_continues_as_somebody_who_began_with_the_same_link(
    study: Study,
) -> None:
    victim = Client()
    come(study, LINK, victim)  # the page of consent is open
    agree(study, LINK)
    assert decide(study, victim).status_code == 409
    assert not any("participant" in name for name in victim.cookies)


def test_a_visitor_who_continues_by_a_link_alone_never_sees_the_code(study: Study) -> None:
    """Somebody made the link up, gave it to others, and says later that they began: they read nothing of what was said."""
    first = Client()
    person = agree(study, LINK, first)
    client, home = Client(), study.get_absolute_url()
    come(study, LINK, client)
    decide(study, client, "continue")
    for page in ("about-you", "practice", "start", "trial/1", "debrief", "done", ""):
        if page == "practice":
            send(study, "about-you", client, **ABOUT_ME)
        if page == "start":
            person.refresh_from_db()
            right = taking_part.practice_side(person)
            taking_part.attempt_practice(person, right, timezone.now())
        if page == "trial/1":
            person = taking_part.start_trials(person, timezone.now())
        if page == "debrief":
            person = answer(person, until=study.n_trials)
        if page == "done":
            taking_part.finish(person, cheated=False, comments="", now=timezone.now())
        shown = client.get(f"{home}{page}/".replace("//", "/"), follow=True)
        assert shown.status_code == 200
        assert person.withdrawal_code not in shown.content.decode(), page
    assert "····-····-····" in shown.content.decode()
    assert "This browser does not show your code" in shown.content.decode()
    assert person.withdrawal_code in come(study, "", first)
    send(study, "return", client, code=person.withdrawal_code)
    assert person.withdrawal_code in come(study, "", client)


def test_going_on_by_a_link_needs_the_visit_that_followed_it(study: Study) -> None:
    agree(study, LINK)
    came_otherwise = Client()
    come(study, "", came_otherwise)
    for client in (Client(), came_otherwise):
        answered = decide(study, client, "continue")
        assert (answered.status_code, answered["Location"]) == (302, study.get_absolute_url())
        assert not any("participant" in name for name in client.cookies)


@pytest.mark.parametrize(
    "path", ["s/memory/", "s/memory/return/", "s/memory/withdraw/", "lab/sign-in/"]
)
def test_no_form_of_another_site_makes_a_visitor_somebody_else(study: Study, path: str) -> None:
    """With a participant's own code, or an account's password, that its sender knows."""
    person = agree(study, LINK)
    make_user("mallory", study)
    browser = Client(enforce_csrf_checks=True)
    come(study, LINK, browser)
    before = {name: morsel.value for name, morsel in browser.cookies.items()}
    sent = browser.post(
        f"/{path}",
        {
            "agree": "continue",
            "code": person.withdrawal_code,
            "username": "mallory",
            "password": "mallory",
        },
        headers={"origin": "https://elsewhere.example.org"},
    )
    assert sent.status_code == 403
    assert {name: morsel.value for name, morsel in browser.cookies.items()} == before


OTHERS = "?PROLIFIC_PID=666f&STUDY_ID=s1&SESSION_ID=e6"


@pytest.mark.parametrize("elsewhere", [OTHERS, LINK.replace("e1", "e2"), "?id=7"])
def test_a_page_takes_the_ids_and_the_code_that_it_shows_whatever_link_was_opened_since(
    study: Study, elsewhere: str
) -> None:
    """Any site can lead a browser to a link, while the page of consent is open in it."""
    client = Client()
    page = come(study, LINK, client)
    come(study, elsewhere, client)
    form = hidden_fields(page) | {"agree": "yes"}
    assert client.post(study.get_absolute_url(), form).status_code == 303
    record = RecruitmentRecord.objects.get()
    assert (record.external_id, record.external_session_id) == ("5f3a", "e1")
    assert record.participant.withdrawal_code in page
    assert "About you" in come(study, "", client)


def test_a_participant_under_way_is_led_back_from_another_persons_link(study: Study) -> None:
    client, home = Client(), study.get_absolute_url()
    agree(study, LINK, client)
    agree(study, OTHERS)
    for query in (OTHERS, OTHERS.replace("666f", "777f")):
        come(study, query, client)
        assert f'<a href="{home}about-you/" id="begun">' in come(study, "", client)
    assert 'id="begun"' not in come(study, OTHERS)


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


def test_the_sites_code_is_said_to_be_for_those_who_do_not_continue(study: Study) -> None:
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


def test_a_withdrawn_participant_may_begin_anew(study: Study) -> None:
    send(study, "withdraw", code=agree(study, LINK).withdrawal_code, confirm="1")
    assert "Informed consent" in come(study, LINK)


def test_a_browser_shows_its_own_code_until_that_participant_withdraws(study: Study) -> None:
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
