"""The list of participants and each one's timeline, as researchers and auditors see them."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from experiment.models import Membership, Participant, Study
from experiment.services.withdrawal import withdraw
from tests.experiment import people as taking_part
from tests.factories import make_participant, make_study, recruited

pytestmark = pytest.mark.django_db
IDS = {
    "external_id": "PROLIFIC-5f",
    "external_study_id": "STUDY-5f",
    "external_session_id": "SUBMISSION-5f",
}
SECRETS = {
    "comments": "I am Jo of Ghent",
    "demographics": {"country": "Liechtenstein", "age": "93", "gender": "a gender of its own"},
}


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def listed(client: Client, query: str = "") -> str:
    response = client.get(reverse("lab:participants", args=["memory"]) + query)
    assert response.status_code == 200
    return response.text


def shown(client: Client, person: Participant) -> str:
    response = client.get(reverse("lab:participant", args=["memory", person.public_id]))
    assert response.status_code == 200
    return response.text


@pytest.mark.parametrize("role", ["researcher", "auditor"])
def test_nothing_that_identifies_is_shown(ruth: Client, study: Study, role: str) -> None:
    Membership.objects.update(role=role)
    person = make_participant(study, **SECRETS)
    recruited(person, **IDS)
    both = listed(ruth) + shown(ruth, person)
    assert str(person.public_id)[:8] in both
    hidden = [*IDS.values(), SECRETS["comments"], "Liechtenstein", "a gender of its own"]
    hidden += [person.withdrawal_code, str(person.seed)]
    hidden += [str(person.enrollment_key), "prolific"]
    assert [text for text in hidden if text in both] == []


def test_a_timeline_tells_pages_and_why_which_test_case_and_a_draw_that_was_tampered_with(
    ruth: Client, study: Study
) -> None:
    person = taking_part.finish(study)
    text = shown(ruth, person)
    for said in (
        "Agreed to take part",
        "Saw the first trial, after 1 practice answer",
        "Answered the last trial",
        "one of 8 that were due",
        "reproduce the same test case",
    ):
        assert said in text, said
    assert "do not reproduce this test case" not in text
    assert text.count("<details>") == 12  # with that of excluding by hand
    trial = person.trials.get(position=1)
    others = study.items.of_stratum(trial.stratum).exclude(trials__participant=person)
    person.trials.filter(pk=trial.pk).update(item=others.first())
    text = shown(ruth, person)
    person.trials.filter(pk=trial.pk).update(item=trial.item)
    assert "do not reproduce this test case" in text


def test_one_is_excluded_by_hand_without_seeing_whether_answers_were_right(
    ruth: Client, study: Study
) -> None:
    person = make_participant(study, judgment={"correct": False})
    for cell in ("right", "wrong"):
        assert f"<td>{cell}</td>" not in shown(ruth, person)
    assert "<td>check missed</td>" in shown(ruth, person)
    exclude, include = (
        reverse(f"lab:{name}_participant", args=["memory", person.public_id])
        for name in ("exclude", "include")
    )
    refused = ruth.post(exclude, {"reason": "bot", "words": ""})
    assert (refused.status_code, "<details open>" in refused.text) == (422, True)
    words = "Every page took the same second."
    assert ruth.post(exclude, {"reason": "bot", "words": words}).status_code == 302
    text = shown(ruth, person)
    assert "Reason: a bot." in text
    assert "by ruth" in text
    assert words in text
    assert "by hand" in listed(ruth, "?reason=by_hand")
    Membership.objects.update(role="auditor")
    assert words not in shown(ruth, person)
    assert "Reason: a bot." in shown(ruth, person)
    assert ruth.post(include).status_code == 403
    Membership.objects.update(role="researcher")
    assert ruth.post(include).status_code == 302
    assert "Excluded by hand" not in shown(ruth, person)


@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_no_unknown_time_of_a_withdrawn_participant_is_shown(
    ruth: Client, study: Study, policy: str
) -> None:
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    person = taking_part.finish(study)
    assert "0:00</span>" in shown(ruth, person)
    withdraw(study, person.withdrawal_code, timezone.now())
    person.refresh_from_db()
    assert person.consented_at is not None
    known = f"{person.consented_at:%B %Y}"
    if policy == "delete":
        known = f"{person.consented_at.day} {person.consented_at:%b %Y}"
    for text in (shown(ruth, person), listed(ruth)):
        assert f">{known}</time>" in text
        assert ", 00:00" not in text
        assert 'event-at">0:00' not in text


@pytest.mark.parametrize(
    "query", ["?status=everyone", "?reason=dislike", "?pseudonym=%25", "?after=7"]
)
def test_an_invalid_query_is_refused_with_a_word(ruth: Client, study: Study, query: str) -> None:
    make_participant(study)
    response = ruth.get(reverse("lab:participants", args=["memory"]) + query)
    assert response.status_code == 400
    assert "Nothing is shown" in response.text
    assert "<tbody>" not in response.text


def test_neither_page_asks_more_the_more_there_are(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.templatetags.waiting.KEPT_S", None)
    first = make_participant(study)
    listed(ruth)  # the menu's number is kept, here for as long as the test takes

    def n_queries(read: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as asked:
            read()
        return len(asked)

    pages = (lambda: listed(ruth), lambda: shown(ruth, first))
    before = [n_queries(read) for read in pages]
    for _ in range(5):
        make_participant(study)
    assert [n_queries(read) for read in pages] == before
    assert max(before) <= 12
