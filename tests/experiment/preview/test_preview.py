"""The preview shows the real pages with what is typed, in frames of this site alone, and leaves nothing behind."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from experiment.models import ItemCount, Participant, PeopleCount, Study, Trial
from tests.factories import make_adviser, make_arms

pytestmark = pytest.mark.django_db
PAGES = {
    "consent": "Informed consent",
    "demographics": "About you",
    "practice": "This first abstract is for practice",
    "trial": "Which version of this abstract is the original?",
    "question": "What is the answer to this question?",
    "debrief": "Your results",
    "done": "Thank you for taking part",
}


def url(page: str) -> str:
    return f"/lab/studies/memory/set-up/preview/{page}/"


@pytest.mark.parametrize("has_items", [True, False])
def test_each_page_is_shown_in_frames_of_this_site_and_nothing_is_written_or_counted(
    ruth: Client, study: Study, has_items: bool
) -> None:
    Study.objects.update(recruitment="open")
    if not has_items:
        study.study_items.all().delete()
    sent: dict[str, Any] = {"section": "trials", "human_items": "4", "machine_items": "2"}
    for page, words in PAGES.items():
        with CaptureQueriesContext(connection) as queries:
            shown, posted = ruth.get(url(page)), ruth.post(url(page), sent)
        assert words in shown.text
        assert words in posted.text
        writing = ("INSERT", "UPDATE", "DELETE")
        assert [q["sql"] for q in queries if q["sql"].startswith(writing)] == []
        assert shown["X-Frame-Options"] == "SAMEORIGIN"
        assert "frame-ancestors 'self'" in shown["Content-Security-Policy"]
        assert "data-ping-url" not in shown.text
        assert not shown.cookies.keys() & {"bb-entry", "bb-participant"}
    for model in (Participant, Trial, ItemCount, PeopleCount):
        assert not model.objects.exists()


def test_other_pages_stay_out_of_every_frame(ruth: Client, study: Study) -> None:
    for address in (study.get_absolute_url(), "/lab/studies/memory/set-up/texts/"):
        response = ruth.get(address)
        assert response["X-Frame-Options"] == "DENY"
        assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_a_preview_shows_unsaved_values_unless_they_are_invalid(ruth: Client, study: Study) -> None:
    typed = {"section": "texts", "briefing": "<b>Unsaved</b> words", "consent": "Unsaved consent"}
    shown = ruth.post(url("consent"), typed).text
    assert "&lt;b&gt;Unsaved&lt;/b&gt; words" in shown
    assert "Unsaved consent" in shown
    assert "Consent text, version 2" in shown
    study.refresh_from_db()
    assert (study.consent_versions.count(), "Unsaved" in study.briefing) == (1, False)
    wrong = {"section": "general", "title": "", "contact": "new@lab.example"}
    shown = ruth.post(url("consent"), wrong).text
    assert study.title in shown
    assert "new@lab.example" in shown


def test_typed_numbers_shape_the_pages(ruth: Client) -> None:
    sent = {"section": "trials", "human_items": "1", "machine_items": "1", "catch_items": "0"}
    assert "Abstract 1 of 2" in ruth.post(url("trial"), sent).text
    assert ruth.get(url("secret")).status_code == 404


def test_the_debrief_is_previewed_with_what_it_says_of_advice(ruth: Client, study: Study) -> None:
    make_arms(study, {}, {"advice": "after"})
    make_adviser(study, kind="planted", source="", planted_accuracy=0.7)
    shown = ruth.get(url("debrief")).text
    assert "The advice was made up for this study." in shown
    assert "right for about 70% of all abstracts" in shown
    assert "Depending on the group" in shown
    page = ruth.get("/lab/studies/memory/set-up/texts/").text
    assert "meet those of their arm" in page
