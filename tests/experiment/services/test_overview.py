"""When a study's target will be reached, how far participants come, and how long they stay."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from experiment.services.overview import (
    FARTHEST,
    Forecast,
    Outlook,
    Places,
    forecast,
)
from experiment.services.page_by_page import PageByPage, page_by_page
from experiment.services.withdrawal import withdraw
from tests.factories import NOW, make_participant, make_study

pytestmark = pytest.mark.django_db


def of(n_valid: int, *, every: timedelta, target: int, slug: str = "memory") -> Forecast:
    """With so many who finished validly at equal intervals, the last of them an interval ago."""
    study = make_study(slug, target_valid=target, recruitment="open")
    person = make_participant(study) if n_valid else None
    for n in range(n_valid):
        if n:
            person.pk, person.public_id, person.code_digest = None, uuid.uuid4(), None
        person.finished_at = NOW - every * (n + 1)
        person.save()
    found = forecast(study, "real", n_valid, NOW)
    assert found is not None
    return found


@pytest.mark.drifts
def test_the_target_is_expected_at_the_rate_of_late() -> None:
    found = of(21, every=timedelta(hours=1), target=31)
    assert (found.outlook, found.n_missing, found.n_lately) == (Outlook.EXPECTED, 10, 21)
    assert found.expected == NOW + timedelta(hours=10) * 21 / 20
    assert NOW < found.soonest < found.expected < found.latest
    assert found.is_soon


@pytest.mark.drifts
def test_a_target_beyond_a_year_has_no_date_and_without_finishers_nothing_is_known() -> None:
    assert of(10, every=timedelta(hours=20), target=4_000).outlook == Outlook.FAR
    found = of(10, every=timedelta(hours=20), target=300, slug="other")
    assert found.outlook == Outlook.EXPECTED
    assert found.expected < NOW + FARTHEST
    assert found.latest is None
    assert of(0, every=timedelta(hours=1), target=5, slug="none").outlook == Outlook.UNKNOWN
    assert of(1, every=timedelta(days=20), target=5, slug="one").n_lately == 0


HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Forecast(Outlook.REACHED, 0), "The target is reached."),
        (
            Forecast(Outlook.CLOSED, 1),
            "1 more valid participant is needed. Recruitment is not open",
        ),
        (Forecast(Outlook.CLOSED, 2), "2 more valid participants are needed."),
        (Forecast(Outlook.FAR, 9), "At the present rate the target is not reached within a year."),
        (Forecast(Outlook.UNKNOWN, 9, 1), "There is no forecast yet: 1 valid finisher in the last"),
        (Forecast(Outlook.UNKNOWN, 9, 2), "There is no forecast yet: the 2 valid finishers of the"),
        (
            Forecast(Outlook.EXPECTED, 9, 8, NOW, NOW, NOW + HOUR, NOW + 2 * HOUR),
            "At the present rate the target is reached about 2 March, 10:30 UTC, between 2 March, 09:30 and 2 March, 11:30.",
        ),
        (
            Forecast(Outlook.EXPECTED, 9, 8, NOW, NOW, NOW + 5 * DAY, NOW + 9 * DAY),
            "At the present rate the target is reached about 7 March 2026, between 2 March 2026 and 11 March 2026.",
        ),
        (
            Forecast(Outlook.EXPECTED, 9, 8, NOW, NOW + DAY),
            "At the present rate the target is reached on 3 March 2026 at the earliest, and perhaps not within a year.",
        ),
    ],
)
def test_a_forecast_is_said_in_words(found: Forecast, said: str) -> None:
    assert found.told.startswith(said)
    assert bool(found.basis) == (found.outlook == Outlook.EXPECTED)


def test_places_are_said_in_words() -> None:
    assert "expected to fill the remaining places" in Places(True, 0, None).told
    assert "turned away on 2 Mar 2026, 09:30 UTC" in Places(False, 0, NOW).told
    nothing = Places(False, 0, None)
    assert (nothing.told, nothing.waiting_told) == ("", "")
    assert "1 participant has agreed" in Places(False, 1, None).waiting_told
    assert "2 participants have agreed" in Places(False, 2, None).waiting_told


def test_reached_closed_and_without_a_target() -> None:
    study = make_study(target_valid=5, recruitment="open")
    assert forecast(study, "real", 5, NOW) == Forecast(Outlook.REACHED, 0)
    assert forecast(study, "pilot", 1, NOW) is None
    study.recruitment = "closed"
    assert forecast(study, "real", 1, NOW).outlook == Outlook.CLOSED
    study.target_valid = None
    assert forecast(study, "real", 1, NOW) is None


def rows(found: PageByPage | None) -> dict[tuple[str, int | None], tuple[int, int, int]]:
    assert found is not None
    return {(row.page, row.position): (row.reached, row.left, row.now) for row in found.rows}


def test_every_page_says_who_came_left_and_is_there() -> None:
    study, now = make_study(), timezone.now()
    for _ in range(2):
        make_participant(study)
    make_participant(study, judged=1, last_seen_at=now)
    make_participant(study, judged=1, left_at=now)
    make_participant(study, judged=1, last_seen_at=now - timedelta(minutes=16))  # not noted yet
    early = {"judged": 0, "stage": "demographics", "page_reached": 0, "started_at": None}
    withdraw(study, make_participant(study, **early).withdrawal_code, now)
    make_participant(study, kind="pilot")
    found = rows(page_by_page(study, "real", now))
    assert found["demographics", None] == (6, 1, 0)
    assert found["practice", None] == (5, 0, 0)
    assert found["trial", 1] == (5, 0, 0)
    assert found["trial", 2] == (5, 2, 1)
    assert found["trial", 3] == (2, 0, 0)
    assert found["debrief", None] == (2, 0, 0)
    assert len(found) == 3 + 11 + 1


def test_times_are_those_of_valid_finishers() -> None:
    study, now = make_study(), timezone.now()
    for rt_ms in (10_000, 20_000, 30_000, 40_000, 50_000):
        make_participant(study, judgment={"rt_ms": rt_ms})
    make_participant(study, judgment={"rt_ms": 900_000}, excluded_by="missed_catch")
    make_participant(study, judged=3, judgment={"rt_ms": 900_000})
    found = page_by_page(study, "real", now)
    times = {(row.page, row.position): row.time for row in found.rows}
    assert found.n_timed == 5
    trial = times["trial", 1]
    assert (trial.q1_s, trial.median_s, trial.q3_s) == (20, 30, 40)
    about = times["demographics", None], times["practice", None], times["debrief", None]
    assert [time.median_s for time in about] == [60, 60, 60]
    assert times["start", None] is None


def test_where_the_browser_measured_nothing_the_servers_time_stands() -> None:
    study = make_study()
    make_participant(study, judgment={"rt_ms": None})
    found = page_by_page(study, "real", timezone.now())
    assert {row.time.median_s for row in found.rows if row.page == "trial"} == {76}


def test_a_study_that_asks_nothing_about_people_has_no_such_page() -> None:
    study = make_study(demographic_fields=[])
    make_participant(study, demographics_at=None)
    found = page_by_page(study, "real", timezone.now())
    assert found.rows[0].page == "practice"
    assert found.rows[0].time.median_s == 120


def test_a_shorter_study_than_before_still_shows_all_trials() -> None:
    study = make_study()
    make_participant(study)
    study.human_items = 2
    found = rows(page_by_page(study, "real", timezone.now()))
    assert found["trial", 11] == (1, 0, 0)


def test_nothing_is_known_of_imported_people_and_of_nobody() -> None:
    study = make_study()
    make_participant(study, kind="imported")
    assert page_by_page(study, "imported", timezone.now()) is None
    assert page_by_page(study, "real", timezone.now()) is None
