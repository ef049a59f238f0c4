"""The first page of a study: what it opens on, and what it says first."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.models import Membership, Study
from experiment.services.counts import watched_kind
from tests.experiment.lab_client import page
from tests.factories import make_participant

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        ((), "real"),
        (("pilot",), "pilot"),
        (("simulated",), "simulated"),
        (("simulated", "pilot"), "pilot"),
        (("simulated", "imported"), "imported"),
        (("simulated", "pilot", "imported", "real"), "real"),
    ],
)
def test_it_opens_on_the_kind_that_has_data(
    study: Study, kinds: tuple[str, ...], shown: str
) -> None:
    for kind in kinds:
        make_participant(study, kind=kind)
    assert watched_kind(study) == shown


def test_key_numbers_come_first_and_the_forecast_is_said_in_words(
    ruth: Client, study: Study
) -> None:
    Study.objects.update(target_valid=10, recruitment="open")
    make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=2, last_seen_at=timezone.now())
    shown = page(ruth, study)
    for name, n in (
        ("Recruited", 3),
        ("On a page now", 1),
        ("Finished", 2),
        ("Excluded", 1),
        ("Withdrawn", 0),
    ):
        assert f"<dt>{name}</dt><dd>{n}</dd>" in shown
    assert "<dt>Valid</dt><dd>1 <small>of 10</small></dd>" in shown
    assert "cannot be said yet" in shown
    assert shown.index("Recruited") < shown.index("Page by page") < shown.index("Exposures")


def test_an_auditor_sees_the_numbers_but_no_comments_and_cannot_open_recruitment(
    ruth: Client, study: Study
) -> None:
    make_participant(study, comments="I am Jo of Ghent")
    assert "I am Jo of Ghent" in page(ruth, study)
    Membership.objects.update(role="auditor")
    shown = page(ruth, study)
    live = ruth.get(reverse("lab:study_live", args=["memory"])).content.decode()
    assert "Jo of Ghent" not in shown + live
    assert "Change recruitment" not in shown
    assert "Page by page" in shown
