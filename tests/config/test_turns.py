"""Another lab's work comes next, however much work of any kind one lab asks for."""

from typing import Any

import pytest

from analysis.models import Computation
from experiment.models import RuleApplication, TrialExport
from lib.jobs import leases
from lib.jobs.models import NOBODY, Job
from lib.jobs.queue import all_kinds, enqueue
from tests.config.test_asking_rights import KINDS, World, waiting
from tests.factories import make_research_field, make_study

pytestmark = pytest.mark.django_db
OF_STUDIES: dict[type[Job], dict[str, Any]] = {
    Computation: {"kind": "report", "key": "0", "options": {}},
    TrialExport: {"key": "0"},
    RuleApplication: {},
}


def asked(kind: type[Job], world: World, who: str) -> Job:
    if kind in KINDS:
        return waiting(kind, world, world.people[who])
    job: Job = kind(study=world.study, **OF_STUDIES[kind])
    job.save()
    enqueue(job, NOBODY)
    return job


@pytest.mark.parametrize("kind", all_kinds(), ids=lambda kind: kind._meta.label_lower)
def test_after_a_turn_of_one_labs_work_comes_another_labs_be_it_newer(kind: type[Job]) -> None:
    world = World()
    first = asked(kind, world, "boss")
    world.study = make_study("other", human=1, machine=1)
    world.field = make_research_field("other")
    second = asked(kind, world, "creator")
    took = []
    for _ in range(4):
        job = leases.due(kind._default_manager.all()).first()
        assert job is not None
        took.append(job)
        lease = leases.take(job)
        assert lease is not None
        lease.release()  # a slice is done, or another question of the same lab waits in its place
    assert took == [first, second, first, second]
