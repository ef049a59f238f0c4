"""Entering a study and being given trials, through the use cases on a clock of the test's own."""

import uuid
from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from experiment.domain.assignment import NoItemLeftError
from experiment.domain.exclusion import Rules
from experiment.models import Judgment, Participant
from experiment.services import drawing
from experiment.services.channels import ExternalIds
from experiment.services.counting import sweep
from experiment.services.drawing import show_trial
from experiment.services.enrollment import enroll, entry_kind
from experiment.services.flow import (
    AlreadyAnsweredError,
    ConsentChangedError,
    KnownIdError,
    NotOpenError,
    WrongPageError,
)
from experiment.services.readiness import StudyProblem, readiness_problems
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
from tests.factories import NOW, answers_open, make_item, make_participant, make_study, recruited

pytestmark = [pytest.mark.both, pytest.mark.django_db]


def start(study, *, now=NOW, kind="real", external=None, seed=None):
    """Somebody who has come as far as the first trial."""
    participant = enroll(
        study,
        kind=lambda: kind,
        consent_sha256=study.consent.sha256,
        key=uuid.uuid4(),
        external=external or ExternalIds(),
        now=now,
        seed=seed,
    )
    save_demographics(participant, {"gender": "female"}, now)
    attempt_practice(participant, practice_side(participant), now)
    return start_trials(participant, now)


def answer(participant, position, *, now=NOW, right=True, **fields):
    trial = show_trial(participant, position, now)
    side = trial.original_side if right else "AB".replace(trial.original_side, "")
    values = {
        "confidence": 60,
        "confidence_moved": True,
        "recognised": False,
        "rt_ms": 40_000,
    } | fields
    judgment = judge(
        participant, Sent(position, trial.token, uuid.uuid4(), Answer(side, **values), now)
    )
    participant.refresh_from_db()
    return judgment


def take(participant, *, now=NOW, cheated=False, **fields):
    """The rest of a session, answered rightly."""
    for position in range(participant.position, participant.n_trials + 1):
        answer(participant, position, now=now, **fields)
    return finish(participant, cheated=cheated, comments="", now=now)


@pytest.fixture
def study():
    return make_study()


def scores(study, kind="real", now=NOW):
    return sorted(drawing.read(study, kind, "human", now).scores(study.policy).values())


def test_a_whole_session_ends_valid_and_counts_once_per_item(study):
    participant = take(start(study))
    assert (participant.stage, participant.excluded_by) == ("finished", "")
    assert Judgment.objects.of(study, "real").valid().count() == 11
    assert scores(study) == [0, 0, 1, 1, 1, 1, 1, 1]


def test_the_draw_does_not_see_whether_answers_were_right(study):
    take(start(study))
    before = scores(study)
    with answers_open():
        assert Judgment.objects.exclude(trial__stratum="catch").update(correct=False) == 9
    assert scores(study) == before


def test_somebody_under_way_counts_with_their_chance_to_finish(study):
    participant = start(study)
    position = next(
        n for n, (stratum, _) in enumerate(participant.plan, start=1) if stratum == "human"
    )
    for n in range(1, position):
        answer(participant, n)
    show_trial(participant, position, NOW)
    # No one has finished or left yet: (0 + 1) / (0 + 2).
    assert scores(study)[-2:] == [0, 0.5]


def test_who_falls_silent_gives_the_items_back_and_who_returns_takes_them_again(study):
    participant = start(study)
    for n in range(1, 12):
        answer(participant, n)
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


def test_who_left_lowers_the_chance_of_those_on_the_pages_they_reached(study):
    for _ in range(2):
        show_trial(start(study, now=NOW - timedelta(hours=1)), 1, NOW - timedelta(hours=1))
    participant = start(study)
    for n in range(1, 12):
        answer(participant, n)
    # Both left at the first trial: whoever is beyond it has no one gone behind them.
    assert set(scores(study)) == {0, 0.5}
    newcomer = start(study)
    sweep(study, newcomer.kind, NOW)
    show_trial(newcomer, 1, NOW)
    assert sum(scores(study)) <= 6 * 0.5 + 0.25


def test_a_participants_kind_has_its_own_balance(study):
    take(start(study, kind="pilot"))
    assert sum(scores(study, "real")) == 0
    assert sum(scores(study, "pilot")) == 6


def test_an_excluded_finisher_leaves_no_exposure(study):
    participant = take(start(study), cheated=True)
    assert participant.excluded_by == "admitted_cheating"
    assert sum(scores(study)) == 0


def test_an_excluded_trial_leaves_its_item_to_others(study):
    participant = start(study)
    answer(participant, 1, rt_ms=4_999)
    take(participant)
    assert (
        Judgment.objects.get(trial__participant=participant, trial__position=1).excluded_by
        == "too_fast"
    )
    assert Judgment.objects.of(study, "real").valid().count() == 10


def test_a_missed_catch_trial_and_untouched_sliders_exclude(study):
    untouched = take(start(study), confidence=None, confidence_moved=False)
    assert untouched.excluded_by == "untouched_sliders"
    participant = start(study)
    for n, (stratum, _) in enumerate(participant.plan, start=1):
        answer(participant, n, right=stratum != "catch")
    assert finish(participant, cheated=False, comments="", now=NOW).excluded_by == "missed_catch"


def test_without_javascript_the_servers_time_decides_what_is_too_fast(study):
    participant = start(study)
    show_trial(participant, 1, NOW)
    trial = participant.trials.get()
    side = Answer(trial.original_side, confidence=5, confidence_moved=True, recognised=False)
    judge(participant, Sent(1, trial.token, uuid.uuid4(), side, NOW + timedelta(seconds=3)))
    participant.refresh_from_db()
    take(participant)
    assert Judgment.objects.get(trial=trial).excluded_by == "too_fast"


def test_changed_rules_are_applied_to_who_finished_but_not_to_published_participants(study):
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
    take(first)
    assert first.flags == ""
    with pytest.raises(KnownIdError):
        start(study, external=external)
    second = start(study, external=ExternalIds("prolific", "another", "s", "t"))
    recruited(second, "abc")
    pilot = start(study, external=external, kind="pilot")
    for participant in (second, pilot):
        take(participant)
    found = Participant.objects.order_by("pk").values_list("flags", "excluded_by")
    assert list(found) == [("duplicate_external_id", ""), ("duplicate_external_id", ""), ("", "")]


def test_pages_can_be_neither_skipped_nor_taken_twice(study):
    participant = start(study)
    with pytest.raises(WrongPageError):
        show_trial(participant, 2, NOW)
    with pytest.raises(WrongPageError):
        finish(participant, cheated=False, comments="", now=NOW)
    answer(participant, 1)
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
        enroll(study, kind=lambda: "real", consent_sha256=old.sha256, key=uuid.uuid4(), now=NOW)


def test_recruitment_decides_who_enters_and_as_what(study):
    with pytest.raises(NotOpenError):
        entry_kind(study, timezone.now(), is_member=False)
    assert entry_kind(study, timezone.now(), is_member=True) == "pilot"
    assert entry_kind(set_recruitment(study, "pilot"), timezone.now(), is_member=False) == "pilot"
    assert entry_kind(set_recruitment(study, "open"), timezone.now(), is_member=False) == "real"
    # A look at the running study must not become data.
    assert entry_kind(study, timezone.now(), is_member=True) == "pilot"
    with pytest.raises(NotOpenError, match="study_ended"):
        entry_kind(set_recruitment(study, "closed"), timezone.now(), is_member=True)


def test_a_reached_target_closes_the_door_and_simulated_people_do_not_reach_it(study):
    study = set_recruitment(study, "open")
    study.target_valid = 1
    take(start(study, kind="simulated"))
    assert entry_kind(study, timezone.now(), is_member=False) == "real"
    take(start(study))
    with pytest.raises(NotOpenError, match="study_full"):
        entry_kind(study, timezone.now(), is_member=False)


def test_a_study_that_could_not_be_completed_is_not_opened():
    study = make_study("small", human=6, machine=3, catch=1)
    with pytest.raises(ValidationError, match="2 catch trials"):
        set_recruitment(study, "open")


def test_works_shared_between_the_strata_could_run_out():
    study = make_study("shared", human=9, machine=0, catch=2)
    for n in range(1, 9):
        item = make_item(f"shared-machine-{n}", source="machine", doi=f"10.1234/shared.h{n}")
        study.study_items.create(item=item)
    # Six human-created trials may close six of the eight machine-created works: two are left for three.
    assert readiness_problems(study) == [
        StudyProblem("works_run_out", "machine", found=8, other_stratum="human")
    ]
    item = make_item("shared-machine-9", source="machine", doi="10.1234/another")
    study.study_items.create(item=item)
    assert readiness_problems(study) == []


def test_a_retired_item_is_drawn_no_more_and_stays_with_who_holds_it(study):
    holder = start(study)
    held = show_trial(holder, 1, NOW)
    study.items.exclude(kind="practice").update(status="retired")
    with pytest.raises(NoItemLeftError):
        show_trial(start(study), 1, NOW)
    assert show_trial(holder, 1, NOW).pk == held.pk


def test_changed_rules_report_the_trials_that_changed(study):
    take(start(study), rt_ms=40_000)
    made = revise(study, rules=Rules(min_rt_ms=61_000), reason="Nobody reads so fast.")
    assert made.excluded == Changed(0, 11)


def test_running_out_of_items_is_said_and_loses_nothing(study):
    participant = start(study)
    answer(participant, 1)
    study.study_items.filter(item__kind__in=("test", "catch")).delete()
    with pytest.raises(NoItemLeftError):
        show_trial(participant, 2, NOW)
    assert participant.trials.count() == 1


def test_one_consent_form_makes_one_participant(study):
    key = uuid.uuid4()
    people = {
        enroll(study, kind=lambda: "real", consent_sha256=study.consent.sha256, key=key, now=NOW).pk
        for _ in range(3)
    }
    assert Participant.objects.count() == len(people) == 1
