"""Pages before and after the trials: the practice, the page after it, what is promised of a withdrawal, and problems."""

import re
from typing import Any

import pytest
from django.test import Client

from experiment.models import Judgment, Participant, Study
from experiment.services.counts import study_duration
from tests.experiment.people import client_of, finish, open_page
from tests.experiment.refusals import assert_page
from tests.factories import make_study

pytestmark = pytest.mark.django_db


SHOWS_TEXT = re.compile(
    r'<\w+ class="[^"]*\b(?:abstract|question-text|difference|import-text|quoted|answer-text|graded-text|trace-text)\b[^>]*>'
)


@pytest.mark.parametrize("place", ["participant", "lab", "analysis", "scoring"])
def test_elements_that_show_an_abstract_are_marked_as_not_to_be_translated(
    place: str, settings: Any
) -> None:
    pages = (settings.BASE_DIR / "templates" / place).rglob("*.html")
    shown = [tag for page in pages for tag in SHOWS_TEXT.findall(page.read_text())]
    assert shown
    for tag in shown:
        assert "notranslate" in tag, tag
        assert 'translate="no"' in tag, tag


def strong(page: str) -> list[str]:
    """The numbers that the start page stresses."""
    lead = page[page.index('id="what-comes"') :]
    return re.findall(r"<strong>(.*?)</strong>", lead[: lead.index("</p>")])


def test_ratings_in_practice_are_reminded_of_once_or_required_as_in_a_trial(study: Study) -> None:
    at = open_page(study, "practice")
    assert at.send(confidence="").status_code == 422
    assert Participant.objects.get().practice_attempts == 0
    Study.objects.update(ratings_required=True)
    response = at.send(confidence="", reminded="1")
    assert (response.status_code, "confidence-error" in response.content.decode()) == (422, True)
    Study.objects.update(ratings_required=False)
    assert at.send(confidence="", reminded="1").status_code == 303


def test_only_the_right_choice_leaves_the_practice_and_nothing_of_it_is_judged(
    study: Study,
) -> None:
    at = open_page(study, "practice")
    right = at.fields["side"]
    wrong = "B" if right == "A" else "A"
    again = at.send(side=wrong)  # a page that Back leads to without sending anything once more
    assert (again.status_code, again["Location"]) == (303, at.address)
    assert_page(at.client.get(at.address), 200, "Not this one.")
    person = Participant.objects.get()
    assert (person.stage, person.practice_attempts) == ("practice", 1)
    response = at.send()
    assert response["Location"] == f"{study.get_absolute_url()}start/"
    assert_page(at.client.get(response["Location"]), 200, f"Side {right} is the original")
    person.refresh_from_db()
    assert (person.stage, person.practice_attempts) == ("start", 2)
    assert not Judgment.objects.exists()


def test_the_start_page_takes_its_numbers_from_the_study(study: Study) -> None:
    at = open_page(study, "start")
    before = study_duration(study)
    page = at.client.get(at.address).content.decode()
    assert strong(page) == [
        f"{study.n_trials} abstracts",
        f"{before.typical} minutes",
    ]
    # Whoever has begun keeps the number of abstracts that was fixed at consent.
    Study.objects.update(human_items=1, machine_items=0, catch_items=0)
    now = study_duration(Study.objects.get())
    assert now != before
    page = at.client.get(at.address).content.decode()
    assert strong(page) == [f"{study.n_trials} abstracts", f"{now.typical} minutes"]
    Participant.objects.update(plan=at.person.plan[:1])
    assert strong(at.client.get(at.address).content.decode())[0] == "1 abstract"


def test_the_start_page_leads_to_the_first_trial_and_not_back(study: Study) -> None:
    at = open_page(study, "start")
    home = study.get_absolute_url()
    assert at.client.get(f"{home}trial/1/")["Location"] == at.address
    for _ in range(2):  # a copy of the form changes nothing
        assert at.send()["Location"] == f"{home}trial/1/"
    assert Participant.objects.get().stage == "trial"
    assert at.client.get(at.address)["Location"] == f"{home}trial/1/"


# What pages promise of a withdrawal is what the study's policy does

ERASED = {
    "": ("have your answers erased", "Ihre Antworten <a"),
    "debrief/": ("have your answers deleted", "Ihre Antworten später löschen"),
    "done/": ("have your answers deleted", "Ihre Antworten später löschen"),
}


@pytest.mark.parametrize("page", ERASED)
@pytest.mark.parametrize("language", ["en", "de"])
def test_answers_are_promised_to_be_erased_only_where_they_are(page: str, language: str) -> None:
    study = make_study(recruitment="open", language=language)
    promise = ERASED[page][language == "de"]
    client = at_page(study, page)
    assert promise in shown(client, study, page)
    Study.objects.update(withdrawal_policy="anonymise")
    kept = shown(client, study, page)
    assert promise not in kept
    assert {"en": "later", "de": "später"}[language] in kept


def at_page(study: Study, page: str) -> Client:
    if page == "done/":
        return client_of(finish(study))
    return Client() if page == "" else open_page(study, "debrief").client


def shown(client: Client, study: Study, page: str) -> str:
    return client.get(study.get_absolute_url() + page, follow=True).content.decode()


# Pages of problems are kept in memory: what is one visitor's own, or one study's, is never another's

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
NONCE = re.compile(r'nonce="([^"]+)"')


def page(study: Study, client: Client) -> str:
    response = client.get(f"/s/{study.slug}/trial/3/")
    assert response.status_code == 403
    html = response.content.decode()
    [nonce] = set(NONCE.findall(html))
    assert f"'nonce-{nonce}'" in response["Content-Security-Policy"]
    return html


def test_each_visitor_has_a_form_and_a_nonce_of_their_own(open_study: Study) -> None:
    first, second = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    pages = [page(open_study, first), page(open_study, second)]
    tokens = [TOKEN.search(html)[1] for html in pages]
    assert tokens[0] != tokens[1]
    assert NONCE.findall(pages[0]) != NONCE.findall(pages[1])
    for client, token in zip((first, second), tokens, strict=True):
        sent = {"csrfmiddlewaretoken": token, "code": "none"}
        assert client.post(f"/s/{open_study.slug}/return/", sent).status_code != 403
    swapped = {"csrfmiddlewaretoken": tokens[0], "code": "none"}
    assert second.post(f"/s/{open_study.slug}/return/", swapped).status_code == 403


def test_a_study_says_what_it_is_called_now(open_study: Study, client: Client) -> None:
    assert open_study.title in page(open_study, client)
    open_study.title, open_study.contact = "Rain <b>or</b> shine", "a@example.org"
    open_study.save()
    html = page(open_study, client)
    assert "Rain &lt;b&gt;or&lt;/b&gt; shine" in html
    assert "a@example.org" in html
