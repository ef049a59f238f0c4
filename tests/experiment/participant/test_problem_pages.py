"""Pages of what went wrong are kept in memory: what is one visitor's own, or one study's, is never another's."""

import re

import pytest
from django.test import Client

from experiment.models import Study

pytestmark = pytest.mark.django_db

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
