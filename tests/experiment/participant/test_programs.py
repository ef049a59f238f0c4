"""Programs that take part: what they say of time, and the places that they take, on a clock of the test's own."""

import re
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from experiment.domain.exclusion import MOSTLY_TOO_FAST, TIMES_DISAGREE, TOO_FAST
from experiment.models import Arrivals, Judgment, Participant, Study, Trial
from experiment.services import arms, arrivals, consenting, counting, overview, taking_part
from experiment.services.chores import forget_old_arrivals
from tests.experiment.asked import make_asking_study, open_question
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import MEASURES, RATED, agree, client_of, come, open_trial
from tests.factories import (
    answers_open,
    make_adviser,
    make_arms,
    make_channel,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
UNIVERSITY, HOME = "192.0.2.7", "198.51.100.9"


@dataclass
class Clock:
    at: datetime

    def __call__(self) -> datetime:
        return self.at

    def forward(self, **by: float) -> datetime:
        self.at += timedelta(**by)
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    # All that is counted by ten minutes of the clock begins with them
    found = Clock(arrivals._window(timezone.now()))
    monkeypatch.setattr(timezone, "now", found)
    return found


@pytest.fixture
def short(db: None) -> Study:
    """A study of three trials, without catch trials."""
    return make_study(
        recruitment="open", human_items=2, machine_items=1, catch_items=0, human=8, machine=4
    )


def begin(study: Study, address: str = UNIVERSITY, query: str = "") -> Participant:
    return agree(study, query, Client(REMOTE_ADDR=address))


def describe(person: Participant, clock: Clock) -> Participant:
    """They send the page after consent."""
    return taking_part.save_demographics(person, {"age": "34"}, clock())


def come_to_trials(person: Participant, clock: Clock) -> Participant:
    person = describe(person, clock)
    person = taking_part.attempt_practice(person, taking_part.practice_side(person), clock())
    return taking_part.start_trials(person, clock())


def send(person: Participant, clock: Clock, seconds: float, **says: Any) -> Client:
    """Open the trial's page, and send its form so many seconds later; rightly, by the page's script."""
    client = client_of(person, headers={"accept": "application/json"})
    person.refresh_from_db()
    address = f"{person.study.get_absolute_url()}trial/{person.position}/"
    client.get(address)
    clock.forward(seconds=seconds)
    trial = Trial.objects.get(participant=person, position=person.position)
    keys = {"trial_token": str(trial.token), "idempotency_key": str(uuid.uuid4()), "reminded": "1"}
    form = {**keys, "side": trial.original_side, **RATED, **MEASURES, **says}
    assert client.post(address, form).status_code == 200
    return client


def finish(person: Participant, clock: Clock, seconds: float, **says: Any) -> Participant:
    while person.stage == "trial":
        send(person, clock, seconds, **says)
        person.refresh_from_db()
    return taking_part.finish(person, cheated=False, comments="", now=clock())


def flags(study: Study) -> set[str]:
    return set(Judgment.objects.of(study, "real").values_list("flags", flat=True))


def test_24_programs_that_say_a_minute_for_each_page_are_too_fast_by_the_servers_clock(
    short: Study, clock: Clock
) -> None:
    for _ in range(24):
        person = come_to_trials(begin(short), clock)
        finish(person, clock, 7.6 / 24 / 3, rt_ms="60000")
    judged = Judgment.objects.of(short, "real")
    assert (judged.count(), judged.valid().count()) == (72, 0)
    assert set(judged.values_list("excluded_by", flat=True)) == {TOO_FAST.code}
    assert all(TIMES_DISAGREE.code in found.split() for found in flags(short))
    # Nor do they take the places of others
    assert set(short.participants.values_list("excluded_by", flat=True)) == {MOSTLY_TOO_FAST.code}
    assert overview.readings(short, "real")["fast_page"] == 72
    counted = arrivals.largest(short, clock())
    assert counted is not None
    assert counted.n == 24


@pytest.mark.parametrize("name", ["rt_ms", "rt_choice_ms", "hidden_ms"])
def test_no_time_that_a_rule_uses_may_exceed_the_servers(
    short: Study, clock: Clock, name: str
) -> None:
    honest = {key: "9000" for key in MEASURES if key.endswith("_ms")} | {"hidden_ms": "0"}
    person = come_to_trials(begin(short), clock)
    send(person, clock, 9, **honest)
    send(person, clock, 9, **honest | {name: "90000"})
    finish(person, clock, 9, **honest)
    found = Judgment.objects.order_by("trial__position").values_list("flags", "server_ms")
    first, second, third = [(TIMES_DISAGREE.code in said.split(), ms) for said, ms in found]
    assert (first, second, third) == ((False, 9000), (True, 9000), (False, 9000))
    assert not any("much_hidden" in said for said in flags(short))


def test_clocks_may_differ_by_a_second_and_one_part_in_a_thousand(
    short: Study, clock: Clock
) -> None:
    person = come_to_trials(begin(short), clock)
    for says in ("6005", "6006"):
        send(person, clock, 5, rt_choice_ms="0", hidden_ms="0", rt_ms=says)
    finish(person, clock, 90)
    found = Judgment.objects.order_by("trial__position").values_list("flags", flat=True)
    assert [TIMES_DISAGREE.code in said.split() for said in found] == [False, True, False]


def test_an_answer_that_was_offline_for_an_hour_goes_by_the_browsers_time(
    short: Study, clock: Clock
) -> None:
    person = come_to_trials(begin(short), clock)
    send(person, clock, 3_600, **dict.fromkeys(["rt_ms", "rt_choice_ms"], "3000"))
    finish(person, clock, 80)
    judged = Judgment.objects.get(trial__position=1)
    assert (judged.excluded_by, judged.server_ms) == (TOO_FAST.code, 3_600_000)
    assert TIMES_DISAGREE.code not in judged.flags.split()


def test_answers_from_before_the_server_compared_are_judged_as_they_were(
    short: Study, clock: Clock
) -> None:
    person = come_to_trials(begin(short), clock)
    send(person, clock, 0.1)
    with answers_open():
        Judgment.objects.update(server_ms=None)
    finish(person, clock, 80)
    assert set(Judgment.objects.values_list("excluded_by", flat=True)) == {""}


# Places


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
    people = [come_to_trials(person, clock) for person in people]
    Study.objects.filter(pk=wanted.pk).update(target_valid=14)
    wanted.refresh_from_db()
    # Each of the 30 has a chance of one half, as long as nobody finished or left
    assert consenting.is_full(wanted, clock())
    numbers = [person.arm_number for person in people]
    assert abs(numbers.count(1) - numbers.count(2)) <= 1
    assert finish(people[0], clock, 80).excluded_by == ""


def held(study: Study, clock: Clock) -> int:
    return sum(n for arm in arms.read(study, "real", clock()).holders.arms for _, n in arm.live)


def test_newcomers_hold_at_most_the_places_that_the_target_lacks_and_close_no_study(
    wanted: Study, clock: Clock
) -> None:
    people = [begin(wanted, f"203.0.113.{n}") for n in range(45)]
    assert held(wanted, clock) == 20
    assert not consenting.is_full(wanted, clock())
    clock.forward(seconds=10)
    for person in people:
        describe(person, clock)
    assert held(wanted, clock) == 45
    assert consenting.is_full(wanted, clock())
    with pytest.raises(AssertionError):
        begin(wanted, HOME)


def test_a_place_is_kept_for_five_minutes_and_as_long_as_its_page_is_open(
    wanted: Study, clock: Clock
) -> None:
    people = [begin(wanted, f"203.0.113.{n}") for n in range(10)]
    clock.forward(minutes=4)
    for person in people:
        taking_part.touch(person, clock())  # the page is open
    clock.forward(minutes=4)
    assert held(wanted, clock) == 10
    clock.forward(minutes=2)
    assert held(wanted, clock) == 0
    # Who reads for so long is still in the study, and has their place again with the page that they send
    for person in people:
        person.refresh_from_db()
        describe(person, clock)
    assert held(wanted, clock) == 10


def test_who_answers_sooner_than_a_person_can_has_not_gone_on(wanted: Study, clock: Clock) -> None:
    for _ in range(40):
        describe(begin(wanted), clock)
        clock.forward(seconds=0.03)
    assert not consenting.is_full(wanted, clock())


def test_a_full_study_that_is_emptied_opens_again_and_says_so(wanted: Study, clock: Clock) -> None:
    ruth = Client()
    ruth.force_login(make_user("ruth", wanted))
    page = reverse("lab:study", args=[wanted.slug])

    def places() -> str:
        found = re.search(r'id="places">([^<]*)<', ruth.get(page).text)
        return found[1] if found else ""

    assert places() == ""
    people = [begin(wanted, f"203.0.113.{n}") for n in range(40)]
    clock.forward(seconds=10)
    for person in people:
        describe(person, clock)
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


# The least time for reading


@pytest.fixture
def unhurried(short: Study) -> Study:
    """It asks for ten seconds with each trial."""
    Study.objects.filter(pk=short.pk).update(min_page_s=10, reading_aid=False)
    short.refresh_from_db()
    return short


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_who_answers_too_soon_is_asked_to_read_on_and_finds_the_answer_on_the_page(
    unhurried: Study, clock: Clock, accept: str
) -> None:
    person = come_to_trials(begin(unhurried), clock)
    at = open_trial(person)
    Trial.objects.update(shown_at=clock())
    at.fields |= {"confidence": "71", "expertise": "", "reminded": "1", "rt_ms": "60000"}
    clock.forward(seconds=9)
    early = at.client.post(at.address, at.fields, headers={"accept": accept})
    assert early.status_code == 422
    shown = early.content.decode()
    assert "Please read on" in shown
    assert re.search(r'name="confidence"[^>]* value="71"', shown)
    assert re.search(rf'value="{at.fields["side"]}"[^>]* checked', shown)
    assert not Judgment.objects.exists()
    clock.forward(seconds=1)
    sent = hidden_fields(shown) | {"side": at.fields["side"], "confidence": "71"}
    assert at.send(**sent).status_code == 303
    judged = Judgment.objects.get()
    assert (judged.confidence, judged.server_ms) == (71, 10_000)


def test_an_answer_to_a_question_can_be_too_soon_and_i_do_not_know_cannot(
    db: None, clock: Clock
) -> None:
    study = make_asking_study(counts=(0, 0, 0), asked=2)
    Study.objects.filter(pk=study.pk).update(min_page_s=10)
    study.refresh_from_db()
    person = taking_part.start_trials(describe(begin(study), clock), clock())
    at = open_question(person)
    Trial.objects.update(shown_at=clock())
    early = at.send()
    assert early.status_code == 422
    assert "Please read on" in early.content.decode()
    assert ">It rises.</textarea>" in early.content.decode()
    assert at.send(answer_text="", abstained="1").status_code == 303


def test_the_page_with_advice_after_an_answer_is_never_too_soon(
    unhurried: Study, clock: Clock
) -> None:
    make_arms(unhurried, {"advice": "after"})
    make_adviser(unhurried)
    person = come_to_trials(begin(unhurried), clock)
    client = client_of(person)
    address = f"{unhurried.get_absolute_url()}trial/1/"
    page = client.get(address).text
    for seconds, status in ((1, 422), (9, 303)):
        clock.forward(seconds=seconds)
        form = hidden_fields(page) | {"side": "A", "reminded": "1", "recognised": "no"}
        sent = client.post(address, form)
        assert sent.status_code == status
    page = client.get(address).text
    form = hidden_fields(page) | {"side": "A", "reminded": "1", "confidence": "50"}
    assert client.post(address, form).status_code == 303
    assert Judgment.objects.count() == 1


def test_a_study_asks_for_no_time_unless_it_is_set(short: Study, clock: Clock) -> None:
    assert short.min_page_s == 0
    send(come_to_trials(begin(short), clock), clock, 0)
    assert Judgment.objects.count() == 1
