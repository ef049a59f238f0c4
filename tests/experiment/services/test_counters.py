"""The counters say what the rows do, whatever participants, researchers and the clock do: looked at after each test."""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.models import DataRevision, ItemCount, Participant, PeopleCount, Study, Trial
from experiment.services import counting, counts, drawing, taking_part
from experiment.services.channels import forget_ids
from experiment.services.recounting import check, recount
from experiment.services.study_versions import revise
from experiment.services.withdrawal import withdraw
from experiment.services.work import remove_simulated
from tests.experiment.people import answer, start
from tests.factories import make_participant, recruited

pytestmark = pytest.mark.django_db
LATER = timedelta(minutes=16)


def finish(person: Participant, **given: Any) -> Participant:
    person = answer(person, until=person.n_trials)
    values = {"cheated": False, "comments": "", "now": timezone.now()} | given
    return taking_part.finish(person, **values)


def sweep(study: Study, now: datetime | None = None) -> int:
    return counting.sweep(study, "real", now or timezone.now() + LATER)


def item_sums(study: Study) -> tuple[int, int, int]:
    rows = ItemCount.objects.filter(study=study)
    return tuple(sum(rows.values_list(name, flat=True)) for name in ("assigned", "judged", "valid"))


def people(study: Study) -> dict[tuple[str, str], int]:
    rows = PeopleCount.objects.filter(study=study, n__gt=0)
    return {(row.fate, row.excluded_by): row.n for row in rows}


# What somebody did who has begun: how they are counted, and how once they withdrew
FATES: dict[str, tuple[Callable[[Participant], object], tuple[int, int, int], Any, str]] = {
    "under way": (lambda person: answer(person, until=3), (3, 0, 0), {}, "withdrawn"),
    "left": (
        lambda person: (answer(person, until=3), sweep(person.study)),
        (3, 3, 0),
        {("left", ""): 1},
        "withdrawn",
    ),
    "finished": (finish, (11, 11, 11), {("finished", ""): 1}, "finished_withdrawn"),
    "finished after a sweep": (
        lambda person: (answer(person, until=3), sweep(person.study), finish(person)),
        (11, 11, 11),
        {("finished", ""): 1},
        "finished_withdrawn",
    ),
    "excluded": (
        lambda person: finish(person, cheated=True),
        (11, 11, 0),
        {("finished", "admitted_cheating"): 1},
        "finished_withdrawn",
    ),
}


@pytest.mark.parametrize("fate", FATES)
def test_everybody_is_counted_by_how_far_they_came_until_they_withdraw(
    study: Study, fate: str
) -> None:
    come_so_far, sums, counted, fate_of_withdrawn = FATES[fate]
    person = start(study)
    come_so_far(person)
    assert (item_sums(study), people(study)) == (sums, counted)
    assert counts.kind_counts(study) == {"real": 1}
    assert counts.n_valid(study, "real") == (sums[2] > 0)
    assert check([study]) == []
    withdraw(study, person.withdrawal_code, timezone.now())
    assert (item_sums(study), people(study)) == ((0, 0, 0), {(fate_of_withdrawn, ""): 1})
    assert sweep(study) == 0


def test_a_silent_participant_has_left_until_they_come_back(study: Study) -> None:
    person = answer(start(study), until=4)
    drawing.show_trial(person, 5, timezone.now())
    assert sweep(study, timezone.now()) == 0
    assert sweep(study) == 1
    assert (item_sums(study), people(study)) == ((5, 4, 0), {("left", ""): 1})
    assert check([study]) == []
    taking_part.touch(person, timezone.now() + LATER)
    assert (item_sums(study), people(study)) == ((5, 0, 0), {})


def test_other_rules_count_other_people_and_trials(study: Study) -> None:
    finish(start(study))
    finish(start(study), cheated=True)
    revise(study, rules=Rules(admitted_cheating=False, min_rt_ms=400_000_000), reason="try")
    assert counts.n_valid(study, "real") == 0
    assert item_sums(study) == (22, 22, 0)
    assert sum(PeopleCount.objects.values_list("fast_page", flat=True)) == 18


def test_the_papers_policy_counts_all_trials_at_the_first(study: Study) -> None:
    Study.objects.update(policy="paper")
    study.refresh_from_db()
    drawing.show_trial(start(study), 1, timezone.now())
    assert item_sums(study) == (11, 0, 0)


def test_removed_simulated_participants_are_not_counted(study: Study) -> None:
    make_participant(study, kind="simulated")
    make_participant(study)
    remove_simulated(study)
    assert item_sums(study) == (11, 11, 11)


def test_a_finish_counts_what_other_readings_of_the_rules_would_leave_out(study: Study) -> None:
    person = start(study)
    for position in range(1, person.n_trials + 1):
        now, trial = timezone.now(), drawing.show_trial(person, position, timezone.now())
        hasty = taking_part.Answer("A", rt_ms=4_000, rt_choice_ms=3_000)
        taking_part.judge(person, taking_part.Sent(position, trial.token, uuid.uuid4(), hasty, now))
    taking_part.finish(person, cheated=False, comments="", now=timezone.now())
    row = PeopleCount.objects.get(study=study, n=1)
    assert (row.untouched_neither, row.untouched_either) == (1, 1)
    assert (row.fast_page, row.fast_choice) == (9, 9)


def forget_recruitment_ids(person: Participant) -> None:
    today = timezone.localdate()
    recruited(person, "x", until=today)
    assert forget_ids(today + timedelta(days=1)) == 1


CHANGES: dict[str, Callable[[Study, Participant], object]] = {
    "a finish": lambda study, _: finish(start(study)),
    "a withdrawal": lambda study, person: withdraw(study, person.withdrawal_code, timezone.now()),
    "other rules": lambda study, _: revise(study, rules=Rules(recognised=False), reason="try"),
    "ids forgotten": lambda _, person: forget_recruitment_ids(person),
    "a sweep": lambda study, _: (answer(start(study), until=2), sweep(study)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_settled_data_raises_the_revision(study: Study, change: str) -> None:
    person = finish(start(study))
    before = counts.data_state(study, "real", with_live=False)
    CHANGES[change](study, person)
    assert counts.data_state(study, "real", with_live=False) != before


def test_an_answer_under_way_changes_the_state_of_all_trials_alone(study: Study) -> None:
    person = answer(start(study), until=1)
    settled = counts.data_state(study, "real", with_live=False)
    everything = counts.data_state(study, "real", with_live=True)
    answer(person, until=2)
    assert counts.data_state(study, "real", with_live=False) == settled
    assert counts.data_state(study, "real", with_live=True) != everything


def test_the_command_finds_a_wrong_counter_and_repairs_it(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    finish(start(study))
    call_command("chores", "counters")
    assert "are correct" in capsys.readouterr().out
    row = ItemCount.objects.filter(study=study).first()
    ItemCount.objects.filter(pk=row.pk).update(valid=7)
    PeopleCount.objects.filter(study=study).delete()
    with pytest.raises(CommandError, match="counters differ"):
        call_command("chores", "counters", study.slug)
    call_command("chores", "counters", study.slug, "--repair")
    assert item_sums(study) == (11, 11, 11)


def test_a_recount_finds_items_that_were_never_drawn(study: Study) -> None:
    make_participant(study)
    ItemCount.objects.all().delete()
    DataRevision.objects.all().delete()
    recount(study, "real")
    assert item_sums(study) == (11, 11, 11)


@pytest.mark.drifts
def test_a_draw_sees_what_another_participant_took_meanwhile(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = start(study), start(study)
    read, n_read = drawing.read, []

    def overtaken(*args: Any) -> drawing.Counters:
        counters = read(*args)
        if not n_read:
            n_read.append(1)
            # As from another connection, after this one has read
            ItemCount.objects.update(assigned=1)
        return counters

    monkeypatch.setattr(drawing, "read", overtaken)
    with pytest.raises(drawing.OvertakenError):
        drawing.draw(second, 1, [], timezone.now())
    assert Trial.objects.count() == 0
    drawing.show_trial(first, 1, timezone.now())
    assert Trial.objects.count() == 1
