"""Entering a study and being given trials, through the use cases on a clock of the test's own."""

import uuid
from datetime import timedelta

import pytest

from experiment.domain.assignment import NoItemLeftError
from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant, Study
from experiment.services import drawing
from experiment.services.channels import ExternalIds
from experiment.services.consenting import enroll, entry_kind
from experiment.services.counting import sweep
from experiment.services.drawing import show_trial
from experiment.services.flow import (
    AlreadyAnsweredError,
    ConsentChangedError,
    KnownIdError,
    NotOpenError,
    WrongPageError,
)
from experiment.services.readiness import readiness_problems
from experiment.services.reapplying import Changed, reapply_exclusions
from experiment.services.study_setup import set_recruitment, word_consent
from experiment.services.study_versions import revise
from experiment.services.taking_part import (
    Answer,
    Sent,
    attempt_practice,
    finish,
    judge,
    practice_side,
    save_demographics,
    start_trials,
    touch,
)
from tests.experiment.people import read
from tests.factories import NOW, answers_open, make_item, make_participant, make_study, recruited

pytestmark = [pytest.mark.both, pytest.mark.django_db]


@pytest.fixture
def study() -> Study:
    return make_study()


def start(study, *, now=NOW, kind="real", **fields):
    """Somebody who has come as far as the first trial."""
    values = {"kind": lambda: kind, "consent_sha256": study.consent.sha256, "key": uuid.uuid4()}
    participant = enroll(study, now=now, **(values | fields))
    save_demographics(participant, {"gender": "female"}, now)
    attempt_practice(participant, practice_side(participant), now)
    return start_trials(participant, now)


def answer(participant, *, until, right=True, **fields):
    """Those up to this position; of catch trials rightly only if `right`."""
    values = {"confidence": 60, "confidence_moved": True, "recognised": False, "rt_ms": 40_000}
    for position in range(participant.position, until + 1):
        trial = show_trial(participant, position, NOW)
        read(participant)
        side = trial.original_side
        if trial.stratum == "catch" and not right:
            side = "AB".replace(side, "")
        given = Answer(side, **(values | fields))
        judge(participant, Sent(position, trial.token, uuid.uuid4(), given, NOW))
        participant.refresh_from_db()


def take(participant, *, cheated=False, **fields):
    """The rest of a session."""
    answer(participant, until=participant.n_trials, **fields)
    return finish(participant, cheated=cheated, comments="", now=NOW)


def scores(study, kind="real", now=NOW):
    return sorted(drawing.read(study, kind, "human", now).scores(study.policy).values())


def test_a_whole_session_counts_once_per_item_right_or_wrong_among_its_kind(study):
    participant = take(start(study))
    assert (participant.stage, participant.excluded_by) == ("finished", "")
    assert Judgment.objects.of(study, "real").valid().count() == 11
    assert scores(study) == [0, 0, 1, 1, 1, 1, 1, 1]
    with answers_open():
        assert Judgment.objects.exclude(trial__stratum="catch").update(correct=False) == 9
    assert scores(study) == [0, 0, 1, 1, 1, 1, 1, 1]
    assert sum(scores(study, "pilot")) == 0


def test_somebody_under_way_counts_with_their_chance_to_finish(study):
    participant = start(study)
    position = [stratum for stratum, _ in participant.plan].index("human") + 1
    answer(participant, until=position - 1)
    show_trial(participant, position, NOW)
    # No one has finished or left yet: (0 + 1) / (0 + 2).
    assert scores(study)[-2:] == [0, 0.5]


def test_silent_participants_release_their_items_until_they_return(study):
    participant = start(study)
    answer(participant, until=11)
    assert sum(scores(study)) == pytest.approx(6 * 0.5)
    later = NOW + timedelta(minutes=16)
    assert sum(scores(study, now=later)) == 0
    touch(participant, later)
    assert sum(scores(study, now=later)) == pytest.approx(6 * 0.5)


def test_a_returner_is_shown_the_same_item(study):
    participant = start(study)
    shown = show_trial(participant, 1, NOW)
    again = show_trial(participant, 1, NOW + timedelta(days=3))
    assert (again.pk, again.shown_at) == (shown.pk, NOW)


def test_leavers_lower_the_chance_of_participants_on_the_pages_they_reached(study):
    for _ in range(2):
        show_trial(start(study, now=NOW - timedelta(hours=1)), 1, NOW - timedelta(hours=1))
    answer(start(study), until=11)
    # Both left at the first trial: whoever is beyond it has no one gone behind them.
    assert set(scores(study)) == {0, 0.5}
    newcomer = start(study)
    sweep(study, newcomer.kind, NOW)
    show_trial(newcomer, 1, NOW)
    assert sum(scores(study)) <= 6 * 0.5 + 0.25


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cheated": True}, "admitted_cheating"),
        ({"confidence": None, "confidence_moved": False}, "untouched_sliders"),
        ({"right": False}, "missed_catch"),
    ],
)
def test_a_participant_excluded_at_the_finish_leaves_no_exposure(study, fields, reason):
    assert take(start(study), **fields).excluded_by == reason
    assert sum(scores(study)) == 0


@pytest.mark.parametrize("rt_ms", [4_999, None])
def test_a_fast_answer_is_left_out_by_the_servers_time_without_javascript(study, rt_ms):
    participant = start(study)
    trial = show_trial(participant, 1, NOW)
    given = Answer(trial.original_side, 5, confidence_moved=True, recognised=False, rt_ms=rt_ms)
    judge(participant, Sent(1, trial.token, uuid.uuid4(), given, NOW + timedelta(seconds=3)))
    participant.refresh_from_db()
    take(participant)
    assert Judgment.objects.get(trial=trial).excluded_by == "too_fast"
    assert Judgment.objects.of(study, "real").valid().count() == 10


def test_changed_rules_are_applied_to_finishers_but_not_to_published_participants(study):
    participant = take(start(study), cheated=True)
    imported = make_participant(study, kind="imported", cheated=True)
    lenient = revise(study, rules=Rules(admitted_cheating=False), reason="A pilot misread it.")
    assert lenient.excluded == Changed(1, 0)
    participant.refresh_from_db()
    assert participant.excluded_by == ""
    assert revise(study, rules=Rules(), reason="Back again.").excluded == Changed(1, 0)
    assert reapply_exclusions(study) == Changed(0, 0)
    imported.refresh_from_db()
    assert imported.excluded_by == ""


def test_the_same_external_id_twice_is_flagged_and_excludes_nobody(study):
    """Earlier releases let it in; now there can be one only of each kind."""
    external = ExternalIds("prolific", "abc", "s", "t")
    first = start(study, external=external)
    assert take(first).flags == ""
    with pytest.raises(KnownIdError):
        start(study, external=external)
    second = start(study, external=ExternalIds("prolific", "another", "s", "t"))
    recruited(second, "abc")
    for participant in (second, start(study, external=external, kind="pilot")):
        take(participant)
    found = Participant.objects.order_by("pk").values_list("flags", "excluded_by")
    assert list(found) == [("duplicate_external_id", ""), ("duplicate_external_id", ""), ("", "")]


def test_pages_can_be_neither_skipped_nor_taken_twice(study):
    participant = start(study)
    with pytest.raises(WrongPageError):
        show_trial(participant, 2, NOW)
    with pytest.raises(WrongPageError):
        finish(participant, cheated=False, comments="", now=NOW)
    answer(participant, until=1)
    trial = participant.trials.get()
    with pytest.raises(AlreadyAnsweredError):
        judge(participant, Sent(1, trial.token, uuid.uuid4(), Answer("A"), NOW))


def test_consent_keeps_the_version_that_was_read(study):
    participant = start(study)
    old = study.consent
    assert (participant.consent_version, participant.consent_hash) == (old, old.sha256)
    word_consent(study, "A new text.", reason="The board asked for it.")
    assert study.consent.number == 2
    with pytest.raises(ConsentChangedError):
        start(study, consent_sha256=old.sha256)


def test_recruitment_decides_who_enters_and_as_what(study):
    with pytest.raises(NotOpenError):
        entry_kind(study, NOW, is_member=False)
    assert entry_kind(study, NOW, is_member=True) == "pilot"
    assert entry_kind(set_recruitment(study, "pilot"), NOW, is_member=False) == "pilot"
    assert entry_kind(set_recruitment(study, "open"), NOW, is_member=False) == "real"
    # A look at the running study must not become data.
    assert entry_kind(study, NOW, is_member=True) == "pilot"
    with pytest.raises(NotOpenError, match="study_ended"):
        entry_kind(set_recruitment(study, "closed"), NOW, is_member=True)


def test_a_reached_target_closes_the_door_and_simulated_people_do_not_reach_it(study):
    study = set_recruitment(study, "open")
    study.target_valid = 1
    take(start(study, kind="simulated"))
    assert entry_kind(study, NOW, is_member=False) == "real"
    take(start(study))
    with pytest.raises(NotOpenError, match="study_full"):
        entry_kind(study, NOW, is_member=False)


def test_works_shared_between_the_strata_could_run_out():
    study = make_study("shared", human=9, machine=0, catch=2)
    for n in range(1, 9):
        item = make_item(f"shared-machine-{n}", source="machine", doi=f"10.1234/shared.h{n}")
        study.study_items.create(item=item)
    # Six human-created trials may close six of the eight machine-created works: two are left for three.
    assert [str(problem) for problem in readiness_problems(study)] == [
        "a participant could run out of machine-created test cases: 8 of the articles with such test cases also have human-created test cases"
    ]
    item = make_item("shared-machine-9", source="machine", doi="10.1234/another")
    study.study_items.create(item=item)
    assert readiness_problems(study) == []


def test_a_retired_item_is_drawn_no_more_and_stays_with_those_who_hold_it(study):
    holder, other = start(study), start(study)
    held = show_trial(holder, 1, NOW)
    study.items.exclude(kind="practice").update(status="retired")
    with pytest.raises(NoItemLeftError):
        show_trial(other, 1, NOW)
    assert other.trials.count() == 0
    assert show_trial(holder, 1, NOW).pk == held.pk
