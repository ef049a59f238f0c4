"""A test case is paused in a running study and comes back: nobody is given it meanwhile, and the balance holds."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from experiment.domain.assignment import NoItemLeftError
from experiment.models import AuditEvent, Item, ItemCount, Study, Trial
from experiment.services.drawing import show_trial
from experiment.services.readiness import StudyProblem, completion_problems
from experiment.services.study_setup import lacking_without, n_still_shown, set_paused
from experiment.services.taking_part import practice_item
from experiment.simulation.run import Plan, ServiceDriver, count_steps, simulate
from tests.experiment.people import answer, start
from tests.factories import NOW, make_item, make_study, make_user

pytestmark = pytest.mark.django_db
# Between the most and the least judged: 2 in runs of other seeds without a pause, whose luck is who is excluded at the end
SPREAD = 4


@pytest.fixture
def vera() -> User:
    user: User = make_user("vera")
    return user


def test_a_paused_test_case_is_given_to_nobody_and_stays_with_those_who_have_it(
    study: Study, vera: User
) -> None:
    holder = start(study)
    held = show_trial(holder, 1, timezone.now())
    stratum = list(study.items.of_stratum(held.stratum))
    for item in stratum:
        set_paused(study, item, by=vera, reason="It leaked.", now=NOW)
    assert n_still_shown(study, held.item, timezone.now()) == 1
    assert show_trial(holder, 1, timezone.now()).pk == held.pk
    answer(holder, until=1)
    assert n_still_shown(study, held.item, timezone.now()) == 0
    other = start(study)
    other.plan = holder.plan
    other.save()
    with pytest.raises(NoItemLeftError):
        show_trial(other, 1, timezone.now())
    set_paused(study, stratum[0], by=vera, reason="Somebody else's leak.", now=None)
    assert show_trial(other, 1, timezone.now()).item == stratum[0]


def test_under_the_papers_policy_what_is_drawn_stays_and_the_next_person_does_without(
    study: Study, vera: User
) -> None:
    study.policy = Study.Policy.PAPER
    study.save()
    first = start(study)
    show_trial(first, 1, timezone.now())
    item = first.trials.filter(stratum="human").order_by("position")[0].item
    set_paused(study, item, by=vera, reason="It leaked.", now=NOW)
    for _ in range(4):
        show_trial(start(study), 1, timezone.now())
    assert Trial.objects.filter(item=item).count() == 1
    assert first.trials.count() == study.n_trials
    set_paused(study, item, by=vera, reason="It did not.", now=None)
    last = start(study)
    show_trial(last, 1, timezone.now())
    assert last.trials.filter(item=item).exists()  # the one that was assigned least


def test_pausing_in_one_study_changes_no_other(study: Study, vera: User) -> None:
    other = make_study("other", human=0)
    item = study.items.get(key="memory-human-1")
    other.study_items.create(item=item)
    set_paused(study, item, by=vera, reason="It leaked.", now=NOW)
    assert item in other.drawable_items
    assert item not in study.drawable_items
    assert item in study.accepted_items  # a file of the study, and its plan, keep it


@pytest.mark.parametrize("reason", ["", "  \n"])
def test_a_reason_is_asked_for(study: Study, vera: User, reason: str) -> None:
    item = study.items.get(key="memory-human-1")
    with pytest.raises(ValidationError, match="eason"):
        set_paused(study, item, by=vera, reason=reason, now=NOW)
    assert study.study_items.get(item=item).paused_at is None


def test_the_trail_says_who_paused_what_and_why_once(study: Study, vera: User) -> None:
    item = study.items.get(key="memory-human-1")
    for _ in range(2):
        set_paused(study, item, by=vera, reason=" It leaked. ", now=NOW)
    set_paused(study, item, by=vera, reason="It did not.", now=None)
    events = AuditEvent.objects.filter(action="items_changed", actor="vera").order_by("pk")
    assert [(event.details, event.reason) for event in events] == [
        ({"item": "memory-human-1 v1", "change": "paused"}, "It leaked."),
        ({"item": "memory-human-1 v1", "change": "resumed"}, "It did not."),
    ]


TOO_FEW = (
    "each participant judges 2 catch test cases, but only 1 from different articles can be drawn"
)


def test_problems_that_a_pause_would_cause_are_reported_before(vera: User) -> None:
    study = make_study(catch=2)
    catch = study.items.filter(kind="catch")[0]
    lacking = [StudyProblem("items", TOO_FEW)]
    assert lacking_without(study, catch) == lacking
    assert lacking_without(study, study.items.get(key="memory-human-1")) == []
    set_paused(study, catch, by=vera, reason="It leaked.", now=NOW)
    assert completion_problems(study) == lacking  # so that it is not opened
    assert lacking_without(study, study.items.get(kind="practice")) == [
        StudyProblem("items", "no practice test case")
    ]


def test_another_practice_text_takes_the_place_of_a_paused_one(study: Study, vera: User) -> None:
    spare = make_item("memory-zebra", kind="practice")
    study.study_items.create(item=spare)
    set_paused(study, practice_item(study), by=vera, reason="Too hard.", now=NOW)
    assert practice_item(study) == spare


def play(study: Study, policy: str, finish: int, vera: User) -> Iterator[tuple[Item, str]]:
    """Simulate with one human-created item paused for the second quarter; says when it is."""
    item = study.items.get(key="memory-human-1")
    plan = Plan(finish, 0.3, "steady", 0.7, seed=3)
    n = count_steps(study, plan)
    state = "before"
    for done in simulate(study, plan, lambda: ServiceDriver(study, policy)):
        if state == "before" and done >= n / 4:
            set_paused(study, item, by=vera, reason="It leaked.", now=NOW)
            state = "paused"
            yield item, state
        if state == "paused" and done >= n / 2:
            yield item, "resuming"
            set_paused(study, item, by=vera, reason="It did not.", now=None)
            state = "resumed"
    yield item, "over"


@pytest.mark.parametrize("policy", ["balanced", pytest.param("paper", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("finish", [80, pytest.param(2_000, marks=pytest.mark.sweep)])
def test_the_others_stay_even_and_the_resumed_one_catches_up(
    study: Study, vera: User, policy: str, finish: int
) -> None:
    Study.objects.filter(pk=study.pk).update(human_items=3, machine_items=1, catch_items=1)
    study.refresh_from_db()
    held = 0
    for item, state in play(study, policy, finish, vera):
        own = ItemCount.objects.filter(study=study, stratum="human")
        column = "assigned" if policy == "paper" else "valid"
        others = list(own.exclude(item=item).values_list(column, flat=True))
        assigned = own.get(item=item).assigned
        if state == "paused":
            held = assigned
        elif state == "resuming":
            assert assigned == held  # nobody was given it
            assert own.get(item=item).valid < min(others)
            assert max(others) - min(others) <= SPREAD
        elif state == "over":
            every = [*others, getattr(own.get(item=item), column)]
            assert max(every) - min(every) <= SPREAD, every
