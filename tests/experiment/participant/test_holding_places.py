"""The places that people and programs take in a study, on a clock of the test's own."""

import re
import uuid
from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from experiment.models import Arrivals, Participant, Study
from experiment.services import arms, arrivals, consenting, counting, drawing, taking_part
from experiment.services.chores import forget_old_arrivals
from tests.experiment.clocked import (
    HOME,
    UNIVERSITY,
    Clock,
    begin,
    come_to_trials,
    finish,
    send,
)
from tests.experiment.people import agree, come
from tests.factories import (
    make_arms,
    make_channel,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def wanted(short: Study) -> Study:
    """Arms, and a target of 20."""
    make_arms(short)
    Study.objects.filter(pk=short.pk).update(target_valid=20)
    short.refresh_from_db()
    return short


def test_40_visits_that_only_agree_close_no_study(wanted: Study, clock: Clock) -> None:
    for _ in range(40):
        begin(wanted)
        clock.forward(seconds=1.2 / 40)
    assert wanted.participants.count() == 40
    assert not consenting.is_full(wanted, clock())
    assert "full" not in come(wanted, client=Client(REMOTE_ADDR=HOME))
    assert begin(wanted, HOME).arm is not None
    assert held(wanted, clock) == arrivals.MOST_WAITING + 1


def test_visits_that_only_agree_keep_no_place_however_often_they_come(
    wanted: Study, clock: Clock
) -> None:
    for _ in range(4):
        people = [begin(wanted) for _ in range(10)]
        clock.forward(minutes=4)
        for person in people:
            taking_part.touch(person, clock())
        assert not consenting.is_full(wanted, clock())


def test_a_class_at_one_address_holds_its_places_once_each_has_gone_on(
    wanted: Study, clock: Clock
) -> None:
    people = []
    for _ in range(30):
        people.append(begin(wanted))
        clock.forward(seconds=1)
    assert len({person.pk for person in people}) == 30
    assert not consenting.is_full(wanted, clock())
    clock.forward(seconds=30)
    people = [begin_reading(person, clock) for person in people]
    assert not consenting.is_full(wanted, clock())
    answer_first(people, clock)
    Study.objects.filter(pk=wanted.pk).update(target_valid=14)
    wanted.refresh_from_db()
    # Each of the 30 has a chance of one half, as long as nobody finished or left
    assert consenting.is_full(wanted, clock())
    numbers = [person.arm_number for person in people]
    assert abs(numbers.count(1) - numbers.count(2)) <= 1
    assert finish(people[0], clock, 80).excluded_by == ""


def begin_reading(person: Participant, clock: Clock) -> Participant:
    """They come to the first trial, and it is shown."""
    person = come_to_trials(person, clock)
    drawing.show_trial(person, 1, clock())
    return person


def answer_first(people: Sequence[Participant], clock: Clock) -> None:
    """A minute and more after they saw their first trial."""
    clock.forward(seconds=80)
    for person in people:
        trial = person.trials.get(position=1)
        answer = taking_part.Answer(trial.original_side, 70, 9)
        sent = taking_part.Sent(1, trial.token, uuid.uuid4(), answer, clock())
        taking_part.judge(person, sent)


def held(study: Study, clock: Clock) -> int:
    return sum(n for arm in arms.read(study, "real", clock()).holders.arms for _, n in arm.live)


def test_newcomers_hold_at_most_the_places_that_the_target_lacks_and_close_no_study(
    wanted: Study, clock: Clock
) -> None:
    people = [begin(wanted, f"203.0.113.{n}") for n in range(45)]
    assert held(wanted, clock) == 20
    assert not consenting.is_full(wanted, clock())
    answer_first([begin_reading(person, clock) for person in people], clock)
    assert held(wanted, clock) == 45
    assert consenting.is_full(wanted, clock())
    with pytest.raises(AssertionError):
        begin(wanted, HOME)


def test_a_place_is_kept_for_five_minutes_and_while_its_page_is_open_for_fifteen(
    wanted: Study, clock: Clock
) -> None:
    people = [begin(wanted, f"203.0.113.{n}") for n in range(10)]
    for minutes, holding in ((4, 10), (4, 10), (4, 10), (4, 0)):
        clock.forward(minutes=minutes)
        assert held(wanted, clock) == holding
        for person in people:
            taking_part.touch(person, clock())  # the page is open
    for person in people:
        begin_reading(person, clock)
    assert held(wanted, clock) == 0
    # Who reads for so long is still in the study, and has their place again with the trial that they answer
    answer_first(people, clock)
    assert held(wanted, clock) == 10


def test_pages_before_the_trials_keep_a_place_and_give_none(wanted: Study, clock: Clock) -> None:
    person = begin(wanted, HOME)
    others = [begin(wanted) for _ in range(40)]
    clock.forward(minutes=4)
    for each in (person, *others):
        come_to_trials(each, clock)
    clock.forward(minutes=4)
    assert held(wanted, clock) == 1 + arrivals.MOST_WAITING
    assert not consenting.is_full(wanted, clock())
    clock.forward(minutes=1)
    assert held(wanted, clock) == 0


@pytest.mark.parametrize(("seconds", "least", "holding"), [(4.9, 0, 0), (5, 0, 1), (8, 9_000, 0)])
def test_a_place_is_given_by_the_first_trial_that_was_read(
    wanted: Study, clock: Clock, seconds: float, least: int, holding: int
) -> None:
    Study.objects.filter(pk=wanted.pk).update(min_rt_ms=least)
    for _ in range(arrivals.MOST_WAITING):
        begin(wanted)
    clock.forward(minutes=6)
    person = begin(wanted)
    clock.forward(seconds=30)
    person = come_to_trials(person, clock)
    send(person, clock, seconds)
    assert held(wanted, clock) == holding
    send(person, clock, 80)
    assert held(wanted, clock) == 1


def test_a_full_study_that_is_emptied_opens_again_and_says_so(wanted: Study, clock: Clock) -> None:
    ruth = Client()
    ruth.force_login(make_user("ruth", wanted))
    page = reverse("lab:study", args=[wanted.slug])

    def places() -> str:
        found = re.search(r'id="places">([^<]*)<', ruth.get(page).text)
        return found[1] if found else ""

    assert places() == ""
    people = [begin(wanted, f"203.0.113.{n}") for n in range(40)]
    answer_first([begin_reading(person, clock) for person in people], clock)
    assert "full at present" in places()
    assert "This study is full" in come(wanted, client=Client(REMOTE_ADDR=HOME))
    clock.forward(minutes=20)
    counting.sweep(wanted, "real", clock())
    assert "admits participants again" in places()
    assert "This study is full" not in come(wanted, client=Client(REMOTE_ADDR=HOME))
    clock.forward(days=1)
    assert places() == ""


def test_participants_from_one_address_are_counted_and_nobodys_row_names_it(
    short: Study, clock: Clock
) -> None:
    make_channel(short)
    for n in range(1, 13):
        begin(short, query=f"?PROLIFIC_PID={n:024x}&STUDY_ID={1:024x}&SESSION_ID={n:024x}")
        clock.forward(seconds=20)
    begin(short, HOME)
    clock.forward(minutes=10)
    begin(short)
    found = arrivals.largest(short, clock())
    assert found is not None
    assert (found.n, found.n_links) == (12, 12)
    ruth = Client()
    ruth.force_login(make_user("ruth", short))
    assert (
        "12 participants began from one address"
        in ruth.get(reverse("lab:study", args=[short.slug])).text
    )
    rows = [str([*model.objects.values()]) for model in (Arrivals, Participant)]
    assert not any(UNIVERSITY in text or HOME in text for text in rows)
    clock.forward(days=1, minutes=1)
    forget_old_arrivals()
    assert not Arrivals.objects.exists()


def test_a_count_has_no_time_by_which_a_participant_could_be_found(
    short: Study, clock: Clock
) -> None:
    for n in range(3):
        clock.forward(seconds=7)
        begin(short, f"203.0.113.{n}")
    began = set(short.participants.values_list("consented_at", flat=True))
    assert not began & set(Arrivals.objects.values_list("since", flat=True))
    assert Arrivals.objects.values("since").distinct().count() == 1


def test_an_address_is_what_the_proxy_says(short: Study, clock: Clock, settings: Any) -> None:
    settings.REST_FRAMEWORK = settings.REST_FRAMEWORK | {"NUM_PROXIES": 1}
    for n in range(6):
        forged = f"10.0.0.{n}, {UNIVERSITY}"
        agree(short, "", Client(REMOTE_ADDR="127.0.0.1", headers={"x-forwarded-for": forged}))
    [row] = Arrivals.objects.all()
    assert row.n == 6
