"""Shared by the tests of people: a study that is open, one that is not, and browsers."""

import pytest
from django.test import Client

from experiment.models import Study
from tests.factories import make_item, make_study, make_user
from tests.forms import Browser


@pytest.fixture
def open_study(db: None) -> Study:
    """An open study in which some works have both a human-created and a machine-created test case."""
    study = make_study(human=24, machine=9, catch=4, recruitment="open")
    for n in range(1, 4):
        item = make_item(
            f"memory-twin-{n}", source="machine", generator="GPT-4", doi=f"10.1234/memory.h{n}"
        )
        study.study_items.create(item=item)
    return study


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def ruth(client: Client, study: Study) -> Client:
    """The browser of a researcher who belongs to the study and is no administrator."""
    client.force_login(make_user("ruth", study))
    return client


@pytest.fixture
def boss() -> Client:
    """The browser of a site administrator."""
    client = Browser()
    client.force_login(make_user("boss", is_superuser=True, is_staff=True))
    return client
