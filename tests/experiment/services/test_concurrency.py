"""Many at once: every draw is fair and every answer counts once, however the requests fall together."""

import uuid
from collections import Counter
from functools import partial

import pytest
from django.utils import timezone

from experiment.models import AdvisedTrial, Judgment, Participant, Study, Trial
from experiment.services import arms, channels, drawing, taking_part
from experiment.services.flow import AlreadyAnsweredError, KnownIdError
from tests.experiment.http_client import at_once
from tests.experiment.people import answer, enroll, start
from tests.factories import make_adviser, make_arms

pytestmark = pytest.mark.both

N_AT_ONCE = 32


def start_on_a_trial(study: Study) -> Participant:
    """From consent to the first trial, through the use cases that the pages call."""
    person = start(study)
    drawing.show_trial(person, 1, timezone.now())
    return person


def assert_fair_draws(study: Study, n_each: int, most: float = 1) -> None:
    """Checks the rules that hold after any number of draws, in any order."""
    trials = list(Trial.objects.select_related("item", "participant").order_by("pk"))
    by_person: dict[int, list[Trial]] = {}
    for trial in trials:
        by_person.setdefault(trial.participant_id, []).append(trial)
    assert len(by_person) == N_AT_ONCE
    for met in by_person.values():
        assert len(met) == n_each
        assert len({trial.item_id for trial in met}) == n_each
        assert len({trial.item.work for trial in met}) == n_each
    for trial in trials:
        assert drawing.replay(trial) == trial.item_id
    policy = trials[0].participant.policy
    for stratum in study.trial_counts:
        scores = drawing.read(study, "real", stratum, timezone.now()).scores(policy)
        assert max(scores.values()) - min(scores.values()) <= most, stratum
        drawn = sum(trial.stratum == stratum for trial in trials)
        weight = 1 if policy == "paper" else 0.5  # no one has finished or left yet
        assert sum(scores.values()) == pytest.approx(weight * drawn)


@pytest.mark.django_db(transaction=True)
def test_32_starts_and_draws_at_once_give_everyone_different_items_evenly(
    open_study: Study,
) -> None:
    people = at_once([lambda: start_on_a_trial(open_study)] * N_AT_ONCE)
    assert Participant.objects.count() == N_AT_ONCE
    assert_fair_draws(open_study, 1)

    def play(person: Participant) -> None:
        answer(person, until=2, side="A")
        drawing.show_trial(person, 3, timezone.now())

    at_once([lambda person=person: play(person) for person in people])
    assert_fair_draws(open_study, 3)
    assert Judgment.objects.count() == 2 * N_AT_ONCE


@pytest.mark.django_db(transaction=True)
def test_32_starts_at_once_are_as_even_under_the_papers_policy(open_study: Study) -> None:
    open_study.policy = Study.Policy.PAPER
    open_study.save()
    at_once([lambda: start_on_a_trial(open_study)] * N_AT_ONCE)
    # At a turn of the counter the one item left behind may be one that this person has: two apart, then.
    assert_fair_draws(open_study, open_study.n_trials, most=2)


@pytest.mark.django_db(transaction=True)
def test_32_who_agree_at_once_are_halved_between_two_arms(open_study: Study) -> None:
    make_arms(open_study)
    people = at_once([lambda: start_on_a_trial(open_study)] * N_AT_ONCE)
    assert Counter(person.arm_number for person in people) == {1: 16, 2: 16}
    # The first real participant freezes the study while the others wait
    assert {arms.replay(person) == person.arm_number for person in people} == {True}


@pytest.mark.django_db(transaction=True)
def test_only_one_of_16_browsers_at_once_with_the_same_id_takes_part(open_study: Study) -> None:
    external = channels.ExternalIds("prolific", "5f3a", "s1", "e1")

    def come() -> bool:
        try:
            enroll(open_study, external=external)
        except KnownIdError:
            return False
        return True

    assert Counter(at_once([come] * 16)) == {True: 1, False: 15}
    assert Participant.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_one_trial_shown_32_times_at_once_is_drawn_once(open_study: Study) -> None:
    person = answer(start(open_study), until=1)
    shown = at_once([lambda: drawing.show_trial(person, 2, timezone.now())] * N_AT_ONCE)
    assert len({trial.pk for trial in shown}) == 1
    assert Trial.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_only_one_of_32_different_answers_at_once_is_stored(
    open_study: Study,
) -> None:
    person = start_on_a_trial(open_study)
    trial = person.trials.get()

    def judge() -> uuid.UUID | None:
        key = uuid.uuid4()
        try:
            taking_part.judge(
                person,
                taking_part.Sent(1, trial.token, key, taking_part.Answer("A"), timezone.now()),
            )
        except AlreadyAnsweredError:
            return None
        return key

    keys = [key for key in at_once([judge] * N_AT_ONCE) if key is not None]
    assert keys == [Judgment.objects.get().idempotency_key]


@pytest.mark.django_db(transaction=True)
def test_only_one_of_many_answers_before_advice_at_once_is_stored(open_study: Study) -> None:
    make_arms(open_study, {"advice": "after"})
    make_adviser(open_study)
    person = start(open_study)
    while person.plan[person.position - 1][0] == "catch":
        person = answer(person, until=person.position)
    trial = drawing.show_trial(person, person.position, timezone.now())

    def send(side: str, key: uuid.UUID) -> str:
        given = taking_part.Answer(side, 60, recognised=False)
        sent = taking_part.Sent(person.position, trial.token, key, given, timezone.now())
        try:
            taking_part.judge_and_show(person, sent)
        except AlreadyAnsweredError:
            return "told"
        return side

    keys = [uuid.uuid4() for _ in range(4)]
    said = at_once([partial(send, "AB"[n % 2], keys[n % 4]) for n in range(16)])
    row = AdvisedTrial.objects.get()
    assert Counter(said) == {row.first_side: 4, "told": 12}
    assert row.first_key in keys
    assert not Judgment.objects.filter(trial=trial).exists()
