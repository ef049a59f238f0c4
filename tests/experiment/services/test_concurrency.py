"""Many at once: every draw is fair and every answer counts once, however the requests fall together."""

import uuid
from collections import Counter

import pytest
import requests
from django.utils import timezone

from experiment.models import Judgment, Participant, Study, Trial
from experiment.services import channels, drawing, taking_part
from experiment.services.flow import AlreadyAnsweredError, KnownIdError
from tests.experiment.http_client import Server, Visitor, at_once, send_copies
from tests.experiment.people import ABOUT_ME, RATED, answer, enroll, start

pytestmark = pytest.mark.both

N_AT_ONCE = 64
N_COPIES = 50


def start_on_a_trial(study: Study) -> Participant:
    """From consent to the first trial, through the use cases that the pages call."""
    person = start(study)
    drawing.show_trial(person, 1, timezone.now())
    return person


def assert_fair_draws(study: Study, n_each: int, most: float = 1) -> None:
    """What holds after any number of draws, in whatever order they came."""
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
def test_64_starts_and_draws_at_once_give_everyone_different_items_evenly(
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
def test_64_starts_at_once_are_as_even_under_the_papers_policy(open_study: Study) -> None:
    open_study.policy = Study.Policy.PAPER
    open_study.save()
    at_once([lambda: start_on_a_trial(open_study)] * N_AT_ONCE)
    # At a turn of the counter the one item left behind may be one that this person has: two apart, then.
    assert_fair_draws(open_study, open_study.n_trials, most=2)


@pytest.mark.django_db(transaction=True)
def test_of_16_browsers_at_once_under_one_recruitment_id_one_takes_part(open_study: Study) -> None:
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
def test_one_trial_shown_64_times_at_once_is_drawn_once(open_study: Study) -> None:
    person = answer(start(open_study), until=1)
    shown = at_once([lambda: drawing.show_trial(person, 2, timezone.now())] * N_AT_ONCE)
    assert len({trial.pk for trial in shown}) == 1
    assert Trial.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_64_different_answers_at_once_one_is_stored_and_the_others_are_told(
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


def test_50_copies_of_every_post_at_once_count_once(server: Server, open_study: Study) -> None:
    home, n_trials = open_study.get_absolute_url(), open_study.n_trials
    filled_in = {"side": "B", **RATED}

    def right() -> dict[str, str]:
        return {"side": taking_part.practice_side(Participant.objects.get()), **RATED}

    with Visitor(server.url, open_study.slug) as visitor:

        def send(fields: dict[str, str], page: str = "") -> list[requests.Response]:
            copies = send_copies(visitor.prepare(visitor.open(page), **fields), N_COPIES)
            # Every copy of consent was given the cookie of the same participant
            visitor.session.cookies.update(copies[-1].cookies)
            return copies

        def sent_once(fields: dict[str, str], next_page: str) -> None:
            """All copies get the same next page: none fails, none is refused."""
            answers = [
                answer.headers.get("Location") or answer.json()["next"] for answer in send(fields)
            ]
            assert Counter(answers) == {f"{home}{next_page}/": N_COPIES}

        sent_once({"agree": "yes"}, "about-you")
        sent_once(ABOUT_ME, "practice")
        sent_once(right(), "start")
        person = Participant.objects.get()
        assert (person.practice_attempts, person.demographics["age"]) == (1, "34")
        sent_once({}, "trial/1")
        sent_once(filled_in, "trial/2")
        judgment = Judgment.objects.get()
        assert (judgment.trial.position, judgment.side, judgment.confidence) == (1, "B", 70)
        page = visitor.open()
        for _ in range(2, n_trials + 1):
            page = visitor.go_on(page, **filled_in)
        sent_once({"cheated": "1", "comments": "Thanks"}, "done")
        person.refresh_from_db()
        assert (person.stage, person.cheated, person.comments) == ("finished", True, "Thanks")
        assert Judgment.objects.count() == Trial.objects.count() == n_trials
        copies = send({"code": person.withdrawal_code, "confirm": "1"}, "withdraw/")
        assert {response.status_code for response in copies} == {200}
        assert Participant.objects.get().stage == "withdrawn"
        assert not Judgment.objects.exists()
