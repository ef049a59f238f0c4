"""The practice is a trial in full, and the page after it says what comes."""

import re

import pytest

from experiment.models import Judgment, Participant, Study
from experiment.services.counts import study_duration
from tests.experiment.people import open_page
from tests.experiment.refusals import assert_page

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(open_study: Study) -> Study:
    return open_study


def strong(page: str) -> list[str]:
    """The numbers that the start page stresses."""
    lead = page[page.index('id="what-comes"') :]
    return re.findall(r"<strong>(.*?)</strong>", lead[: lead.index("</p>")])


@pytest.mark.parametrize("field", ["side", "recognised"])
def test_practice_asks_all_that_a_trial_asks(study: Study, field: str) -> None:
    at = open_page(study, "practice")
    response = at.send(**{field: ""})
    assert response.status_code == 422
    assert f'id="{field}-error"' in response.content.decode()
    assert Participant.objects.get().practice_attempts == 0


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
    assert_page(at.send(side=wrong), 422, "Not this one.")
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
        f"{before.low} to {before.high} minutes",
    ]
    # Whoever has begun keeps the number of abstracts that was fixed at consent.
    Study.objects.update(human_items=1, machine_items=0, catch_items=0)
    now = study_duration(Study.objects.get())
    assert now != before
    page = at.client.get(at.address).content.decode()
    assert strong(page) == [f"{study.n_trials} abstracts", f"{now.low} to {now.high} minutes"]
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
