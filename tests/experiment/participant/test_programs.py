"""Programs that take part: what they say of time, and how soon they answer, on a clock of the test's own."""

import re

import pytest

from experiment.domain.exclusion import MOSTLY_TOO_FAST, TIMES_DISAGREE, TOO_FAST
from experiment.models import Judgment, Study, Trial
from experiment.services import arrivals, overview, taking_part
from tests.experiment.asked import make_asking_study, open_question
from tests.experiment.clocked import Clock, begin, come_to_trials, describe, finish, send
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import MEASURES, client_of, open_trial
from tests.factories import (
    answers_open,
    make_adviser,
    make_arms,
)

pytestmark = pytest.mark.django_db


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


@pytest.mark.parametrize("clock_of_rules", ["page", "choice"])
def test_the_least_time_of_a_rule_is_not_shorter_by_what_clocks_may_differ(
    short: Study, clock: Clock, clock_of_rules: str
) -> None:
    Study.objects.filter(pk=short.pk).update(min_rt_clock=clock_of_rules)
    person = come_to_trials(begin(short), clock)
    for seconds in (4.06, 4.999, 5):
        send(person, clock, seconds, **dict.fromkeys(["rt_ms", "rt_choice_ms"], "5000"))
        person.refresh_from_db()
    taking_part.finish(person, cheated=False, comments="", now=clock())
    judged = Judgment.objects.order_by("trial__position").values_list("excluded_by", "flags")
    assert [reason for reason, _ in judged] == [TOO_FAST.code, TOO_FAST.code, ""]
    assert not any(TIMES_DISAGREE.code in said.split() for _, said in judged)
    # Counters, and queries of results, as the rules
    reading = {"page": "fast_page", "choice": "fast_choice"}[clock_of_rules]
    assert overview.readings(short, "real")[reading] == 2


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


# The least time for reading


@pytest.fixture
def unhurried(short: Study) -> Study:
    """It asks for ten seconds with each trial."""
    Study.objects.filter(pk=short.pk).update(min_page_s=10, reading_aid=False)
    short.refresh_from_db()
    return short


@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_an_answer_sent_too_soon_is_not_stored_and_stays_on_the_page(
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
