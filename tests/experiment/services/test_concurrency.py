"""Many at once: every draw is fair and every answer counts once, however the requests fall together."""

import uuid
from collections import Counter

import pytest
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
def test_every_step_taken_64_times_at_once_is_taken_once(open_study: Study) -> None:
    key = uuid.uuid4()
    people = at_once([lambda: enroll(open_study, key=key)] * N_AT_ONCE)
    assert len({person.pk for person in people}) == Participant.objects.count() == 1
    (person, *_) = people
    now = timezone.now()
    about_me = {"age": "34"}
    at_once([lambda: taking_part.save_demographics(person, about_me, now)] * N_AT_ONCE)
    right = taking_part.practice_side(person)
    there = at_once([lambda: taking_part.attempt_practice(person, right, now)] * N_AT_ONCE)
    assert {copy.stage for copy in there} == {"start"}
    person.refresh_from_db()
    assert (person.stage, person.practice_attempts) == ("start", 1)
    at_once([lambda: taking_part.start_trials(person, now)] * N_AT_ONCE)
    person.refresh_from_db()
    assert (person.stage, person.position) == ("trial", 1)
    answer(person, until=open_study.n_trials)
    at_once([lambda: taking_part.finish(person, cheated=True, comments="Hi", now=now)] * N_AT_ONCE)
    person.refresh_from_db()
    assert (person.stage, person.cheated, person.comments) == ("finished", True, "Hi")


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


@pytest.mark.postgres  # where many come at once; on both, the same without HTTP: above
def test_64_visitors_at_once_over_http_get_different_items_evenly(
    server: Server, open_study: Study
) -> None:
    def visit() -> None:
        with Visitor(server.url, open_study.slug) as visitor:
            page = visitor.reach_first_trial()
            for position in (1, 2):
                assert page.url.endswith(f"/trial/{position}/")
                page = visitor.go_on(
                    page, side="B", confidence="70", expertise="9", recognised="no"
                )
            assert page.url.endswith("/trial/3/")

    at_once([visit] * N_AT_ONCE)
    assert_fair_draws(open_study, 3)
    assert Judgment.objects.count() == 2 * N_AT_ONCE


def assert_taken_once(responses: list, next_path: str) -> None:
    """All copies got the same next page: none failed, none was refused."""
    seen = Counter(
        response.json()["next"] if response.status_code == 200 else response.headers["Location"]
        for response in responses
        if response.status_code in (200, 303)
    )
    assert seen == {next_path: N_COPIES}, Counter(response.status_code for response in responses)


def test_50_copies_of_every_post_at_once_count_once(server: Server, open_study: Study) -> None:
    home = open_study.get_absolute_url()
    with Visitor(server.url, open_study.slug) as visitor:
        copies = send_copies(visitor.prepare(visitor.open(), agree="yes"), N_COPIES)
        assert_taken_once(copies, f"{home}about-you/")
        person = Participant.objects.get()
        # Every copy was given the cookie of the same participant
        visitor.session.cookies.update(copies[-1].cookies)

        copies = send_copies(visitor.prepare(visitor.open(), **ABOUT_ME), N_COPIES)
        assert_taken_once(copies, f"{home}practice/")

        right = taking_part.practice_side(person)
        copies = send_copies(visitor.prepare(visitor.open(), side=right, **RATED), N_COPIES)
        assert_taken_once(copies, f"{home}start/")
        person.refresh_from_db()
        assert (person.practice_attempts, person.demographics["age"]) == (1, "34")
        copies = send_copies(visitor.prepare(visitor.open()), N_COPIES)
        assert_taken_once(copies, f"{home}trial/1/")

        filled_in = {"side": "B", **RATED}
        copies = send_copies(visitor.prepare(visitor.open(), **filled_in), N_COPIES)
        assert_taken_once(copies, f"{home}trial/2/")
        judgment = Judgment.objects.get()
        assert (judgment.trial.position, judgment.side, judgment.confidence) == (1, "B", 70)

        page = visitor.open()
        for _ in range(2, open_study.n_trials + 1):
            page = visitor.go_on(page, **filled_in)
        copies = send_copies(visitor.prepare(page, cheated="1", comments="Thanks"), N_COPIES)
        assert_taken_once(copies, f"{home}done/")
        person = Participant.objects.get()
        assert (person.stage, person.cheated, person.comments) == ("finished", True, "Thanks")
        assert Judgment.objects.count() == Trial.objects.count() == open_study.n_trials

        page = visitor.open("withdraw/")
        code = person.withdrawal_code
        copies = send_copies(visitor.prepare(page, code=code, confirm="1"), N_COPIES)
        assert {response.status_code for response in copies} == {200}
        assert Participant.objects.get().stage == "withdrawn"
        assert not Judgment.objects.exists()


def test_50_tabs_with_different_answers_at_once_leave_one_answer(
    server: Server, open_study: Study
) -> None:
    with Visitor(server.url, open_study.slug) as visitor:
        page = visitor.reach_first_trial()
        filled_in = RATED
        tabs = [
            visitor.prepare(page, idempotency_key=str(uuid.uuid4()), side="AB"[n % 2], **filled_in)
            for n in range(N_COPIES)
        ]
        responses = [
            response
            for batch in at_once([lambda tab=tab: send_copies(tab, 1) for tab in tabs])
            for response in batch
        ]
        assert Counter(response.status_code for response in responses) == {303: 1, 409: 49}
        accepted = next(response for response in responses if response.status_code == 303)
        refused = next(response for response in responses if response.status_code == 409)
        assert "Your first answer is stored" in refused.text
        stored = Judgment.objects.get()
        assert f"idempotency_key={stored.idempotency_key}" in str(accepted.request.body)
        assert visitor.open().url.endswith("/trial/2/")
