"""Addresses, cookies, methods and bytes that no browser sends: a refusal that can be read, and never a 500."""

import pytest
from django.test import Client

from experiment.models import Judgment, Study
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import PAGES, decide, open_page, stored
from tests.experiment.refusals import LONG, assert_refused
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "query",
    [
        "PROLIFIC_PID=%00",
        "PROLIFIC_PID=a%0ab",
        f"PROLIFIC_PID={LONG}",
        f"PROLIFIC_PID=5f3a&SESSION_ID={LONG}",
        f"id={'x' * 129}",
        "workerId=A1&hitId=%00",
        "simulated=yes",
        f"simulated={LONG}",
    ],
    ids=lambda query: query[:30],
)
def test_an_entry_link_with_impossible_ids_is_refused(study: Study, query: str) -> None:
    client = Client(raise_request_exception=False)
    assert_refused(client.get(f"{study.get_absolute_url()}?{query}"), 400)
    assert "bb-entry" not in "".join(client.cookies)


COOKIE_VALUES = {
    "empty": "",
    "garbage": "garbage",
    "signed by no one": "ImEi:1abcde:" + "x" * 43,
    "not text": "\xff\xfe\xed\xa0\x80",
    "64 kB": LONG,
    "quoted NUL": '"aaaaaaaaaaaa\\000b"',
}


@pytest.mark.parametrize("value", COOKIE_VALUES.values(), ids=COOKIE_VALUES.keys())
def test_forged_cookies_make_nobody_known_and_break_no_page(study: Study, value: str) -> None:
    at = open_page(study, "trial")
    before = stored()

    def bringing(name: str) -> Client:
        return Client(raise_request_exception=False, headers={"cookie": f"{name}={value}"})

    for name in (f"bb-participant-{study.pk}", f"bb-entry-{study.pk}"):
        assert_refused(bringing(name).get(at.address), 400, 403)
        assert_refused(bringing(name).post(at.address, at.fields), 400, 403)
        assert_refused(decide(study, bringing(name)), 400)
    for name in ("sessionid", "csrftoken", "messages"):
        for address in (study.get_absolute_url(), "/lab/", "/nowhere/"):
            response = bringing(name).get(address)
            assert response.status_code in (200, 302, 400, 404), (address, response.status_code)
    assert stored() == before


def test_a_cookie_changed_in_one_place_or_of_another_study_is_nobodys(study: Study) -> None:
    other = make_study("other", recruitment="open")
    at = open_page(study, "trial")
    name = f"bb-participant-{study.pk}"
    mine = at.client.cookies[name].value
    for value in (mine[:-1] + ("A" if mine[-1] != "A" else "B"), "x" + mine, mine + ":x", mine[5:]):
        at.client.cookies[name] = value
        assert_refused(at.send(), 403)
    at.client.cookies[f"bb-participant-{other.pk}"] = mine
    assert_refused(at.client.get(f"{other.get_absolute_url()}trial/2/"), 403)
    assert Judgment.objects.count() == 1


def test_a_page_without_a_cookie_names_the_study_and_the_ways_back_and_takes_no_form(
    study: Study,
) -> None:
    for page in PAGES[1:5]:
        at = open_page(study, page)
        before = stored()
        stranger = Client(raise_request_exception=False)
        response = stranger.get(at.address)
        assert_refused(response, 403)
        for shown in (study.title, study.contact, study.get_absolute_url(), 'name="code"'):
            assert shown in response.content.decode()
        assert_refused(stranger.post(at.address, at.fields), 403)
        assert stored() == before
    assert_refused(decide(study, Client()), 400)


@pytest.mark.parametrize("page", PAGES)
def test_a_form_without_its_csrf_token_is_refused(study: Study, page: str) -> None:
    at = open_page(study, page, enforce_csrf_checks=True)
    before = stored()
    for token in ({}, {"csrfmiddlewaretoken": ""}, {"csrfmiddlewaretoken": LONG}):
        assert_refused(at.send(**token), 403)
    assert stored() == before
    fields = hidden_fields(at.client.get(at.address).content.decode())
    response = at.send(csrfmiddlewaretoken=fields["csrfmiddlewaretoken"])
    assert response.status_code in (200, 303)


def test_a_ping_never_breaks(study: Study) -> None:
    at = open_page(study, "trial")
    address = f"{study.get_absolute_url()}ping/"
    assert at.client.post(address, {"x": LONG}).status_code == 204
    assert at.client.get(address).status_code == 405
    assert Client().post(address).status_code == 204
    assert Client().post("/s/unknown/ping/").status_code == 404
    assert at.person.may_resume(at.person.last_seen_at)
