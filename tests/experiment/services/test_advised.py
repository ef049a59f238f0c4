"""Trials with advice: the answer before it is stored first, once, and neither it nor the advice ever changes."""

import uuid
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from experiment.models import (
    Advice,
    AdvisedTrial,
    Adviser,
    Judgment,
    Participant,
    PeopleCount,
    Study,
    Trial,
)
from experiment.services import taking_part
from experiment.services.advised import shown_advice
from experiment.services.advisers import items_without_advice, set_adviser
from experiment.services.drawing import show_trial
from experiment.services.exclusions import Marks, verdicts_of
from experiment.services.flow import AlreadyAnsweredError, ForeignTrialError, WrongPageError
from experiment.services.reapplying import reapply_exclusions
from experiment.services.recounting import check
from experiment.services.taking_part import Answer, Sent, finish, judge, judge_and_show
from experiment.services.withdrawal import withdraw
from tests.experiment.people import start
from tests.factories import NOW, make_adviser, make_arms, make_study, make_user

pytestmark = [pytest.mark.both, pytest.mark.django_db]
FIRST = Answer(
    "A", 60, 9, True, True, recognised=False, rt_choice_ms=20_000, rt_final_choice_ms=22_000, rt_ms=40_000,
    confidence_first_ms=25_000, confidence_last_ms=26_000, changes=2, aid_switches=1, blur_count=1,
    hidden_ms=500, reloads=0, viewport_width=800, viewport_height=600, translated="no",
)  # fmt: skip
SECOND = Answer(
    "B", 80, None, True, rt_choice_ms=3_000, rt_final_choice_ms=3_000, rt_ms=5_000, confidence_first_ms=4_000,
    confidence_last_ms=4_500, changes=1, aid_switches=0, blur_count=0, hidden_ms=0, reloads=0,
    viewport_width=900, viewport_height=700, translated="page",
)  # fmt: skip


@pytest.fixture
def study() -> Study:
    study = make_study(catch_items=0, recruitment="open")
    make_arms(study, {"advice": "after"})
    make_adviser(study)
    return study


def advised_before(study: Study) -> None:
    study.arms.update(advice="before")


def at_first_trial(study: Study) -> tuple[Participant, Trial]:
    person = start(study)
    return person, show_trial(person, 1, NOW)


def send(
    person: Participant, token: uuid.UUID | None, answer: Answer, key: int = 1, **fields: Any
) -> Judgment | AdvisedTrial:
    assert token is not None
    given = {"position": 1, "received_at": NOW + timedelta(seconds=50)} | fields
    return judge(person, Sent(token=token, key=uuid.UUID(int=key), answer=answer, **given))


def first_of(person: Participant, trial: Trial, **fields: Any) -> AdvisedTrial:
    stored = send(person, trial.token, FIRST, **fields)
    assert isinstance(stored, AdvisedTrial)
    return stored


def counts() -> tuple[int, int]:
    return AdvisedTrial.objects.count(), Judgment.objects.count()


def test_the_answer_before_advice_is_stored_before_there_is_a_judgment(study: Study) -> None:
    person, trial = at_first_trial(study)
    assert counts() == (0, 0)
    row = first_of(person, trial)
    assert counts() == (1, 0)
    assert (row.first_side, row.first_confidence, row.first_expertise) == ("A", 60, 9)
    assert (row.first_rt_ms, row.first_rt_choice_ms, row.first_changes) == (40_000, 20_000, 2)
    assert row.first_received_at == NOW + timedelta(seconds=50)
    assert row.shown_at is None
    person.refresh_from_db()
    assert (person.stage, person.position) == ("trial", 1)


def test_the_advice_is_first_shown_with_the_page_after_the_first_answer(study: Study) -> None:
    person, trial = at_first_trial(study)
    sent = Sent(1, trial.token, uuid.UUID(int=1), FIRST, NOW + timedelta(seconds=50))
    here, shown = judge_and_show(person, sent)
    assert shown is not None
    assert (here.position, shown.pk) == (1, trial.pk)
    row = AdvisedTrial.objects.get()
    assert row.shown_at == NOW + timedelta(seconds=50)
    show_trial(person, 1, NOW + timedelta(seconds=90))
    row.refresh_from_db()
    assert row.shown_at == NOW + timedelta(seconds=50)


def test_a_clock_that_is_set_back_shows_no_advice_before_the_first_answer(study: Study) -> None:
    person, trial = at_first_trial(study)
    row = first_of(person, trial)
    show_trial(person, 1, NOW)
    row.refresh_from_db()
    assert row.shown_at == row.first_received_at == NOW + timedelta(seconds=50)


def test_the_answer_after_advice_is_the_judgment_on_one_clock_with_the_first(study: Study) -> None:
    person, trial = at_first_trial(study)
    row = first_of(person, trial)
    judgment = send(person, row.token, SECOND, 2, revises=True)
    assert isinstance(judgment, Judgment)
    judgment.refresh_from_db()
    assert (judgment.side, judgment.confidence) == ("B", 80)
    assert judgment.correct == (trial.original_side == "B")
    assert (judgment.expertise, judgment.expertise_moved, judgment.recognised) == (9, True, False)
    assert (judgment.rt_choice_ms, judgment.rt_final_choice_ms) == (20_000, 43_000)
    assert (judgment.confidence_first_ms, judgment.confidence_last_ms) == (25_000, 44_500)
    assert (judgment.rt_ms, judgment.changes, judgment.aid_switches) == (45_000, 3, 1)
    assert (judgment.hidden_ms, judgment.viewport_width, judgment.translated) == (500, 900, "page")
    row.refresh_from_db()
    assert (row.viewed_ms, row.first_correct) == (5_000, trial.original_side == "A")
    person.refresh_from_db()
    assert person.position == 2


def test_a_trial_whose_pages_stayed_open_for_weeks_is_stored(study: Study) -> None:
    person, trial = at_first_trial(study)
    weeks: dict[str, Any] = {"rt_ms": 2**31 - 1, "hidden_ms": 2**31 - 1}
    row = send(person, trial.token, replace(FIRST, **weeks))
    judgment = send(person, row.token, replace(SECOND, **weeks), 2, revises=True)
    assert isinstance(judgment, Judgment)
    judgment.refresh_from_db()
    assert (judgment.rt_ms, judgment.hidden_ms) == (2**31 - 1, 2**31 - 1)
    assert judgment.rt_final_choice_ms == judgment.confidence_last_ms == 2**31 - 1


def test_without_javascript_nothing_is_measured_on_either_page(study: Study) -> None:
    person, trial = at_first_trial(study)
    bare = Answer("A", 60, 9, True, True, recognised=True)
    row = send(person, trial.token, bare)
    assert isinstance(row, AdvisedTrial)
    judgment = send(person, row.token, Answer("A", 60, confidence_moved=True), 2, revises=True)
    assert isinstance(judgment, Judgment)
    assert (judgment.rt_ms, judgment.changes, judgment.recognised) == (None, None, True)
    assert judgment.timed_ms == 50_000


def test_each_answer_is_stored_once_however_often_it_is_sent(study: Study) -> None:
    person, trial = at_first_trial(study)
    row = first_of(person, trial)
    assert first_of(person, trial).pk == row.pk
    with pytest.raises(AlreadyAnsweredError):
        send(person, trial.token, FIRST, key=7)
    judgment = send(person, row.token, SECOND, 2, revises=True)
    assert send(person, row.token, SECOND, 2, revises=True).pk == judgment.pk
    with pytest.raises(AlreadyAnsweredError):
        send(person, row.token, SECOND, key=8, revises=True)
    # The first answer again, as from a tab whose network was lost, is known for what it is
    assert first_of(person, trial).pk == row.pk
    assert counts() == (1, 1)


def test_an_answer_after_advice_is_taken_only_from_the_page_that_shows_it(study: Study) -> None:
    person, trial = at_first_trial(study)
    with pytest.raises(WrongPageError):
        send(person, trial.token, SECOND, revises=True)
    row = first_of(person, trial)
    with pytest.raises(WrongPageError):
        send(person, row.token, SECOND, 2)
    other, _ = at_first_trial(study)
    with pytest.raises(ForeignTrialError):
        send(other, row.token, SECOND, 2, revises=True)
    assert counts() == (1, 0)


def test_advice_before_the_choice_is_stored_as_the_trial_is_shown(study: Study) -> None:
    advised_before(study)
    person, trial = at_first_trial(study)
    row = AdvisedTrial.objects.get()
    assert (row.procedure, row.shown_at, row.first_side, row.token) == ("before", NOW, "", None)
    show_trial(person, 1, NOW + timedelta(hours=1))
    judgment = send(person, trial.token, FIRST)
    assert isinstance(judgment, Judgment)
    row.refresh_from_db()
    assert (row.shown_at, row.viewed_ms) == (NOW, 40_000)
    assert send(person, trial.token, FIRST).pk == judgment.pk


@pytest.mark.parametrize("procedure", ["after", "before"])
def test_a_whole_session_advises_test_trials_alone(study: Study, procedure: str) -> None:
    Study.objects.update(catch_items=2)
    study.arms.update(advice=procedure, advised_items=4)
    person = take_all(start(Study.objects.get()))
    assert person.stage == "debrief"
    assert Judgment.objects.count() == 11
    rows = AdvisedTrial.objects.all()
    assert rows.count() == 4
    assert not rows.filter(trial__stratum="catch").exists()
    for row in rows:
        advice = Advice.objects.get(item=row.trial.item)
        assert row.advice_is_right == advice.picks_original
        assert row.p_shown == advice.p_chosen
        assert row.trial.judgment.side == row.advice_side
    finish(person, cheated=False, comments="", now=NOW)


def take_all(person: Participant, now: datetime = NOW) -> Participant:
    """Answer every trial, and follow the advice."""
    for position in range(1, person.n_trials + 1):
        trial = show_trial(person, position, now)
        follows = AdvisedTrial.objects.filter(trial=trial).first()
        answer = Answer(
            follows.advice_side if follows else trial.original_side, 60, 9, True, True,
            recognised=False, rt_ms=40_000,
        )  # fmt: skip
        stored = judge(person, Sent(position, trial.token, uuid.uuid4(), answer, now))
        if isinstance(stored, AdvisedTrial):
            assert stored.token is not None
            again = Answer(stored.advice_side, 70, confidence_moved=True, rt_ms=4_000)
            judge(person, Sent(position, stored.token, uuid.uuid4(), again, now, revises=True))
        person.refresh_from_db()
    return person


def test_nobody_is_advised_who_is_in_another_arm_or_before_advice_is_frozen(study: Study) -> None:
    Study.objects.update(recruitment="pilot")
    study.refresh_from_db()
    study.arms.update(advice="none")
    person, trial = at_first_trial(study)
    assert isinstance(send(person, trial.token, FIRST), Judgment)
    study.arms.update(advice="after")
    Adviser.objects.update(frozen_at=None)
    person, trial = at_first_trial(study)
    assert isinstance(send(person, trial.token, FIRST), Judgment)


def test_shown_advice_and_first_answers_never_change(study: Study) -> None:
    person, trial = at_first_trial(study)
    row = first_of(person, trial)
    rows = AdvisedTrial.objects.filter(pk=row.pk)
    changes: tuple[dict[str, Any], ...] = (
        {"advice_side": "B" if row.advice_side == "A" else "A"},
        {"first_side": "B"},
        {"first_confidence": 61},
        {"first_rt_ms": 1},
        {"first_key": uuid.uuid4()},
        {"p_shown": 0.9},
    )
    for change in changes:
        with pytest.raises(IntegrityError, match="never change"), transaction.atomic():
            rows.update(**change)
    show_trial(person, 1, NOW + timedelta(seconds=60))
    with pytest.raises(IntegrityError, match="never change"), transaction.atomic():
        rows.update(shown_at=NOW + timedelta(hours=1))
    with pytest.raises(IntegrityError, match="only when its participant"), transaction.atomic():
        rows.delete()


def test_frozen_advice_never_changes_and_is_forgotten_only_before_anybody_saw_it(
    study: Study,
) -> None:
    ruth = make_user("ruth", study)
    Study.objects.update(recruitment="closed")
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Advice.objects.update(p_chosen=0.5)
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Advice.objects.update(passages=[0.5])
    changed = set_adviser(study, {"shown_name": "a friend"}, by=ruth)
    assert (changed.shown_name, changed.frozen_at) == ("a friend", None)
    assert not Advice.objects.exists()
    assert items_without_advice(study).count() == 12


def test_nobody_begins_to_advise_while_participants_can_enter_or_after_real_ones_have() -> None:
    study, friend = make_study(recruitment="pilot"), {"kind": "planted", "planted_accuracy": 0.7}
    make_arms(study)
    with pytest.raises(ValidationError, match="Close recruitment"):
        set_adviser(study, friend | {"shown_name": "a friend"}, by=None)
    study.recruitment = "open"
    study.save()
    start(study)
    Study.objects.update(recruitment="closed")
    with pytest.raises(ValidationError, match="Copy the study"):
        set_adviser(study, friend | {"shown_name": "a friend"}, by=None)
    assert not Adviser.objects.exists()


def test_once_a_real_participant_has_entered_advice_stays(study: Study) -> None:
    start(study)
    study.refresh_from_db()
    assert study.version
    Study.objects.update(recruitment="closed")
    with pytest.raises(ValidationError, match="entered"):
        set_adviser(study, {"shown_name": "a friend"}, by=make_user("ruth", study))
    with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
        Adviser.objects.update(shown_name="somebody else")
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        Advice.objects.all().delete()


@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_a_withdrawal_includes_the_answers_before_advice(study: Study, policy: str) -> None:
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    person = finish(take_all(start(study)), cheated=False, comments="", now=NOW)
    assert AdvisedTrial.objects.count() == 9
    assert withdraw(study, person.withdrawal_code, NOW) is not None
    rows = list(AdvisedTrial.objects.values("first_key", "token", "shown_at", "first_received_at"))
    assert len(rows) == (9 if policy == "anonymise" else 0)
    assert not any(value for row in rows for value in row.values())


@pytest.mark.parametrize("has_javascript", [True, False])
def test_a_first_answer_that_is_too_fast_leaves_its_trial_out_and_a_quick_keep_does_not(
    study: Study, has_javascript: bool
) -> None:
    Study.objects.update(withdrawal_policy="anonymise", fast_page_ms=0)
    study.refresh_from_db()
    person = start(study)
    for position in range(1, person.n_trials + 1):
        trial = show_trial(person, position, NOW)
        first_ms, second_ms = (600, 20_000) if position == 1 else (40_000, 700)
        measured = [ms if has_javascript else None for ms in (first_ms, second_ms)]
        first = replace(FIRST, side=trial.original_side, rt_ms=measured[0], rt_choice_ms=None)
        second = replace(SECOND, side=trial.original_side, rt_ms=measured[1], rt_choice_ms=None)
        came = NOW + timedelta(milliseconds=first_ms)
        row = send(person, trial.token, first, 1, position=position, received_at=came)
        assert isinstance(row, AdvisedTrial)
        later = {"position": position, "received_at": came + timedelta(milliseconds=second_ms)}
        send(person, row.token, second, 2, revises=True, **later)
    person = finish(person, cheated=False, comments="", now=NOW)

    def excluded() -> list[str]:
        rows = Judgment.objects.order_by("trial__position")
        return list(rows.values_list("excluded_by", flat=True))

    def is_so_in_all_readings() -> bool:
        marks = {
            pk: Marks(*m) for pk, *m in Judgment.objects.values_list("pk", "excluded_by", "flags")
        }
        said = verdicts_of(Participant.objects.all(), study.exclusion_rules)
        settled = PeopleCount.objects.get(fate="finished", n=1)
        return said.judgments == marks and settled.fast_page == 1 and not check([study])

    assert excluded() == ["too_fast", *[""] * 8]
    assert is_so_in_all_readings()
    withdraw(study, person.withdrawal_code, NOW)
    reapply_exclusions(study)
    assert excluded() == ["too_fast", *[""] * 8]
    assert is_so_in_all_readings()


def test_confidence_is_shown_as_the_adviser_is_set(study: Study) -> None:
    person, trial = at_first_trial(study)
    row, adviser = first_of(person, trial), study.adviser
    found = shown_advice(row, adviser)
    # On the scale on which the participant rates
    assert (found.rating, found.percent, found.words) == (56, None, None)
    assert (found.first_side, found.first_confidence) == ("A", 60)
    for shows, seen in (("words", (None, None, "sure")), ("percent", (None, 78, None))):
        adviser.shows = shows
        found = shown_advice(row, adviser)
        assert (found.rating, found.percent, found.words) == seen
    adviser.shows_passages = True
    assert shown_advice(row, adviser).passages == (1,)


def test_a_choice_alone_is_stored_without_a_confidence(study: Study) -> None:
    Adviser.objects.update(frozen_at=None)
    Adviser.objects.update(shows="choice", frozen_at=NOW)
    person, trial = at_first_trial(study)
    row = first_of(person, trial)
    assert row.p_shown is None
    assert shown_advice(row, Adviser.objects.get()).rating is None


def test_a_study_without_arms_asks_nothing_of_advice(
    django_assert_max_num_queries: Any,
) -> None:
    plain = make_study("plain", recruitment="open")
    person = start(plain)
    with django_assert_max_num_queries(30) as queries:
        trial = show_trial(person, 1, NOW)
        judge(person, Sent(1, trial.token, uuid.uuid4(), FIRST, NOW))
    assert not any("advi" in query["sql"] for query in queries.captured_queries)
    assert taking_part.is_shown(person, 2) is False
