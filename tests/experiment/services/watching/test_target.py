"""When a study's target will be reached."""

import uuid
from datetime import datetime, timedelta

import pytest

from experiment.models import Study
from experiment.services.overview import FARTHEST, Forecast, Outlook, forecast
from tests.factories import NOW, make_participant, make_study

pytestmark = pytest.mark.django_db


def of(n_valid: int, *, every: timedelta, target: int, **fields: object) -> Forecast | None:
    """With so many who finished validly at equal intervals, the last of them an interval ago."""
    study = make_study(target_valid=target, **{"recruitment": "open", **fields})
    finish(study, [NOW - every * (n + 1) for n in range(n_valid)])
    return forecast(study, "real", n_valid, NOW)


def finish(study: Study, times: list[datetime]) -> None:
    person = make_participant(study) if times else None
    for time in times[1:]:
        person.pk = None
        person.public_id, person.code_digest = uuid.uuid4(), None
        person.finished_at = time
        person.save()
    if times:
        study.participants.filter(pk=study.participants.earliest("pk").pk).update(
            finished_at=times[0]
        )


@pytest.mark.drifts
def test_the_target_is_expected_at_the_rate_of_late() -> None:
    found = of(21, every=timedelta(hours=1), target=31)
    assert found is not None
    assert (found.outlook, found.n_missing, found.n_lately) == (Outlook.EXPECTED, 10, 21)
    assert found.expected == NOW + timedelta(hours=10) * 21 / 20
    assert NOW < found.soonest < found.expected < found.latest
    assert found.is_soon


@pytest.mark.drifts
def test_a_target_beyond_a_year_has_no_date() -> None:
    found = of(10, every=timedelta(hours=20), target=4_000)
    assert found.outlook == Outlook.FAR
    found = of_slug(10, every=timedelta(hours=20), target=300)
    assert found.outlook == Outlook.EXPECTED
    assert found.expected < NOW + FARTHEST
    assert found.latest is None


def of_slug(n_valid: int, *, every: timedelta, target: int) -> Forecast:
    found = of(n_valid, every=every, target=target, slug="other")
    assert found is not None
    return found


def test_a_word_where_nothing_can_be_said() -> None:
    assert of(0, every=timedelta(hours=1), target=5).outlook == Outlook.UNKNOWN
    assert of_slug(1, every=timedelta(days=20), target=5).n_lately == 0


def test_reached_closed_and_without_a_target() -> None:
    study = make_study(target_valid=5, recruitment="open")
    assert forecast(study, "real", 5, NOW) == Forecast(Outlook.REACHED, 0)
    assert forecast(study, "pilot", 1, NOW) is None
    study.recruitment = "closed"
    assert forecast(study, "real", 1, NOW).outlook == Outlook.CLOSED
    study.target_valid = None
    assert forecast(study, "real", 1, NOW) is None
