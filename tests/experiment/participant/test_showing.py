"""The answer that a page's own script gets for a form: where to go, and the page that is there."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from experiment.models import Judgment, Study
from experiment.services import counting, drawing
from lib.fast import kept
from tests.experiment.people import PAGES, AtPage, answer, open_page, start
from tests.factories import make_channel

pytestmark = pytest.mark.django_db
# New at every load
ONE_USE = re.compile(
    r'(name="(?:csrfmiddlewaretoken|idempotency_key)" value=|nonce=)"[^"]*"'
    r"|:[0-9A-Za-z]{6}:[\w-]{43}(?=\")"  # when something was signed, in seconds, and the signature
)


def send_as_script(at: AtPage) -> HttpResponse:
    return at.client.post(at.address, at.fields, headers={"accept": "application/json"})


@pytest.mark.parametrize("page", PAGES[:-1])
def test_a_page_kept_from_somebody_else_is_ones_own(study: Study, page: str) -> None:
    first, second = open_page(study, page), open_page(study, page)
    first.client.get(first.address)
    as_kept = second.client.get(second.address)
    kept.forget()
    made_anew = second.client.get(second.address)
    assert as_kept.status_code == 200
    pages = [ONE_USE.sub(r"\1", shown.content.decode()) for shown in (as_kept, made_anew)]
    assert pages[0] == pages[1]
    assert second.person is None or second.person.withdrawal_code in pages[0]
    assert not re.search("[\ue000\ue001]", pages[0])


def test_a_kept_page_shows_what_the_study_is_set_to_now(study: Study) -> None:
    at = open_page(study, "trial")
    for changes in ({"title": "Anew"}, {"contact": "new@lab.example"}, {"reading_aid": False}):
        before = at.client.get(at.address).content.decode()
        Study.objects.filter(pk=study.pk).update(**changes)
        after = at.client.get(at.address).content.decode()
        assert ONE_USE.sub(r"\1", before) != ONE_USE.sub(r"\1", after)
        assert all(str(value) in after for value in changes.values() if isinstance(value, str))
    study.texts.create(source="Continue", forms=["Onwards"])
    assert "Onwards" in at.client.get(at.address).content.decode()


@pytest.mark.parametrize("page", PAGES[:-1])
def test_the_answer_to_a_form_brings_the_page_that_its_address_shows(
    study: Study, page: str
) -> None:
    at = open_page(study, page)
    answer = send_as_script(at).json()
    shown = at.client.get(answer["next"])
    assert shown.status_code == 200
    assert ONE_USE.sub(r"\1", answer["page"]) == ONE_USE.sub(r"\1", shown.content.decode())


def test_a_trial_that_comes_with_an_answer_is_shown_once(study: Study) -> None:
    at = open_page(study, "trial")
    answers = [send_as_script(at).json() for _ in range(2)]
    third = at.person.trials.get(position=3)
    assert third.shown_at >= Judgment.objects.get(trial__position=2).received_at
    at.client.get(answers[0]["next"])
    assert at.person.trials.get(position=3).shown_at == third.shown_at
    assert all(f'value="{third.token}"' in answer["page"] for answer in answers)


def test_an_answer_is_acknowledged_where_the_next_page_cannot_be_shown(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = open_page(study, "trial")

    def fail(*_: object) -> None:
        raise ConnectionError

    monkeypatch.setattr(drawing, "draw", fail)
    assert send_as_script(at).json() == {"next": f"{study.get_absolute_url()}trial/3/"}
    assert Judgment.objects.filter(trial__position=2).exists()


def test_a_finisher_from_a_recruitment_site_is_sent_back_there(study: Study) -> None:
    make_channel(study, completion_url="https://recruitment.example/done")
    at = open_page(study, "debrief")
    assert send_as_script(at).json() == {"next": "https://recruitment.example/done"}


def test_a_trial_costs_few_queries(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SWEEP_EVERY", timedelta(days=1))  # on a slow machine, too
    answer(start(study), until=study.n_trials)  # the first draw of each stratum makes its counters
    for _ in range(2):  # the first of a process also prepares what it keeps
        at = open_page(study, "trial")
        send_as_script(at)
        open_page(study, "trial").send()
    at, plain = open_page(study, "trial"), open_page(study, "trial")
    with CaptureQueriesContext(connection) as shown:
        at.client.get(at.address)
    with CaptureQueriesContext(connection) as sent:
        plain.send()
    with CaptureQueriesContext(connection) as sent_and_shown:
        send_as_script(at)
    found = [asked(queries) for queries in (shown, sent, sent_and_shown)]
    assert all(len(queries) <= most for queries, most in zip(found, (6, 5, 9), strict=True)), found


def asked(queries: CaptureQueriesContext) -> list[str]:
    """The queries of the database, but for a transaction's beginning and end."""
    ends = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
    return [q["sql"][:120] for q in queries if not q["sql"].startswith(ends)]
