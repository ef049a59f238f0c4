"""The effects of a study's settings on its pages and on the debrief."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from experiment.participant.results import results
from experiment.services.study_setup import create_study
from tests.experiment import people
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("with_catch", [True, False])
def test_the_debrief_lists_catch_trials_where_the_study_says_so(with_catch: bool) -> None:
    study = make_study(recruitment="open", debrief_catch_trials=with_catch)
    person = people.answer(people.start(study), until=study.n_trials)
    shown = results(person)
    strata = dict(person.trials.values_list("position", "stratum"))
    listed = [strata[result.number] for result in shown.results]
    assert listed.count("catch") == (2 if with_catch else 0)
    assert (shown.n_listed, shown.n_unlisted) == ((11, 0) if with_catch else (9, 2))


def test_years_of_experience_are_asked_in_the_studys_field(client: Client) -> None:
    for field, asked in (
        ("neuroscience", "neuroscience, in a broad sense"),
        ("", "your research field, in a broad sense"),
    ):
        study = make_study(f"study-{len(field)}", field=field, recruitment="open")
        page = people.client_of(people.enroll(study)).get(f"{study.get_absolute_url()}about-you/")
        assert asked in page.content.decode()


def test_an_ethics_approval_is_shown_at_consent_and_is_whole_or_absent(client: Client) -> None:
    approval = {
        "ethics_number": "AB/2026/007",
        "ethics_body": "Review Board of the <City>",
        "ethics_contact": "board@example.org",
    }
    study = make_study(recruitment="open", **approval)
    page = client.get(study.get_absolute_url()).content.decode()
    assert "AB/2026/007" in page
    assert "Review Board of the &lt;City&gt;" in page
    assert "board@example.org" in page
    with pytest.raises(ValidationError, match="committee that gave it"):
        create_study("half", "brainbench", ethics_number="AB/2026/007")
