"""Recruitment ids leave for a reason, by those allowed, and into the audit trail."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from experiment.domain.codebook import IDENTITY_COLUMNS
from experiment.models import AuditEvent, Study
from tests.factories import make_participant, make_study, recruited

pytestmark = pytest.mark.django_db
ADDRESS = reverse("lab:export_identities", args=["memory"])


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study)
    make_participant(study, comments="=1+1, thanks")
    recruited(make_participant(study), "5f3a")
    return study


def test_ids_and_comments_are_exported_by_pseudonym(ruth: Client, study: Study) -> None:
    response = ruth.post(ADDRESS, {"reason": " To pay them. "})
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert list(rows[0]) == [column.name for column in IDENTITY_COLUMNS]
    people = [str(person.public_id) for person in study.participants.order_by("pk")]
    assert [row["participant"] for row in rows] == people[1:]
    assert [row["comments"] for row in rows] == ["'=1+1, thanks", ""]
    assert [row["external_id"] for row in rows] == ["", "5f3a"]
    event = AuditEvent.objects.get(action="ids_exported")
    assert (event.actor, event.reason, event.details["rows"]) == ("ruth", "To pay them.", 2)
    assert "5f3a" not in str(event.details)


def test_without_a_reason_nothing_leaves(ruth: Client, study: Study) -> None:
    response = ruth.post(ADDRESS, {"reason": "  "}, follow=True)
    assert "Say why" in response.content.decode()
    assert not AuditEvent.objects.filter(action="ids_exported").exists()
