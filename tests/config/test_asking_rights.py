"""A job is worth the right of who asked for it, at each moment at which a worker looks whether to go on."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.utils.module_loading import import_string

from experiment.domain.roles import FieldRight, FieldRole, Right, Role
from experiment.lab.access import CREATOR, SITE_ADMIN
from experiment.lab.routes import routes
from experiment.models import DryRun, ItemImport, Purge, ResearchField
from experiment.services.rights import field_rights_of, may, may_create_studies
from lib.jobs import leases
from lib.jobs.leases import NO_RIGHT
from lib.jobs.models import Job
from lib.jobs.queue import all_kinds, enqueue
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import (
    AnsweringRun,
    ChoiceRun,
    DraftingRun,
    GradingRun,
    PublishedImport,
    ReviewingRun,
    ScoringRun,
    Training,
)
from tests.config import rights_examples
from tests.factories import make_research_field, make_study, make_user
from tests.scoring.made_runs import ask

pytestmark = pytest.mark.django_db

# What comes of these is a study's: whoever opens an export or a result is asked then, and rules have changed already
OF_NOBODY = {"analysis.computation", "experiment.trialexport", "experiment.ruleapplication"}
ASKED = {"status": "waiting", "done": 0}


class World:
    """A study and a field, and somebody of each role in them."""

    def __init__(self) -> None:
        self.study = make_study("own", human=1, machine=1)
        self.field: ResearchField = make_research_field("own")
        self.people = {"nobody": make_user("nobody"), "boss": make_user("boss", is_superuser=True)}
        self.people["creator"] = make_user("creator")
        self.people["creator"].user_permissions.add(Permission.objects.get(codename="add_study"))
        for role in Role:
            self.people[role] = make_user(f"study-{role}")
            self.study.members.add(self.people[role], through_defaults={"role": role})
        for field_role in FieldRole:
            self.people[f"field {field_role}"] = make_user(f"field-{field_role}")
            self.field.members.add(
                self.people[f"field {field_role}"], through_defaults={"role": field_role}
            )

    def lets_in(self, access: str, user: Any) -> bool:
        """True if a page of this access lets them in."""
        if access in set(Right):
            return may(user, Right(access), self.study)
        if access in set(FieldRight):
            return access in field_rights_of(user, self.field)
        if access == CREATOR:
            return may_create_studies(user)
        assert access == SITE_ADMIN
        return bool(user.is_superuser)

    def drafting(self, user: Any) -> Job:
        run = rights_examples.drafting_run(self.study)
        run.drafts.update(state="waiting")
        return run


Make = Callable[[World, Any], Job]
# The page on which each is asked for, and one that waits
KINDS: dict[type[Job], tuple[str, Make]] = {
    DryRun: ("lab:dry_run_ask", lambda w, u: DryRun(study=w.study)),
    Purge: ("lab:privacy_purge", lambda w, u: Purge(study=w.study)),
    ItemImport: (
        "lab:import_apply",
        lambda w, u: ItemImport(research_field=w.field, created_by=u, upload="0" * 32),
    ),
    ScoringRun: ("lab:scoring_queue", lambda w, u: ask(w.study)),
    ChoiceRun: ("lab:choosing_start", lambda w, u: rights_examples.choice_run(w.study)),
    AnsweringRun: ("lab:answering_start", lambda w, u: rights_examples.answering_run(w.study)),
    GradingRun: (
        "lab:grading_start",
        lambda w, u: GradingRun(study=w.study, generator="exact", rubric=BIOSCORE.to_json()),
    ),
    DraftingRun: ("lab:drafting_start", lambda w, u: w.drafting(u)),
    ReviewingRun: (
        "lab:model_review",
        lambda w, u: ReviewingRun(field=w.field, generator="embedded"),
    ),
    Training: ("lab:training_start", lambda w, u: rights_examples.training(w.study)),
    PublishedImport: (
        "lab:imports_start",
        lambda w, u: PublishedImport(folder="none", slug="none", texts="stored"),
    ),
}
ACCESS = {route.name: route.access for route in routes()}
of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind._meta.label_lower)


def waiting(kind: type[Job], world: World, user: Any) -> Job:
    """A job that this person has asked for."""
    job = KINDS[kind][1](world, user)
    for name, value in ASKED.items():
        setattr(job, name, value)
    job.save()
    enqueue(job, user.pk)
    return job


def run(job: Job) -> Job:
    """As a worker does that finds the row."""
    found = type(job)._default_manager.get(pk=job.pk)
    import_string(found.runner)(found)
    found.refresh_from_db()
    return found


def test_every_kind_of_job_says_who_may_ask_for_it() -> None:
    kinds = {kind._meta.label_lower: kind.may_ask for kind in all_kinds()}
    assert {name for name, may_ask in kinds.items() if not may_ask} == OF_NOBODY
    assert {kind._meta.label_lower for kind in KINDS} == kinds.keys() - OF_NOBODY


@of_each_kind
def test_its_rule_is_that_of_the_page_on_which_it_is_asked_for(kind: type[Job]) -> None:
    world = World()
    page, make = KINDS[kind]
    rule = import_string(kind.may_ask)
    for name, user in world.people.items():
        job = make(world, user)
        assert rule(user, job) == world.lets_in(ACCESS[page], user), name
        user.is_active = False
        assert not rule(user, job), f"{name}, deactivated"


def test_only_leads_may_import_texts_accepted_elsewhere() -> None:
    world = World()
    job = ItemImport(research_field=world.field, accepted_before="in another place")
    may_ask = import_string(ItemImport.may_ask)
    asking = {name for name, user in world.people.items() if may_ask(user, job)}
    assert asking == {"boss", f"field {FieldRole.LEAD}"}


def test_a_command_that_takes_a_job_up_asks_nobodys_right() -> None:
    world = World()
    lead = world.people[f"field {FieldRole.LEAD}"]
    job = waiting(ReviewingRun, world, lead)
    removed(lead)
    leases.reserve(job)
    assert run(job).status == "finished"


def removed(user: Any) -> None:
    for rows in (user.memberships, user.field_memberships):
        rows.all().delete()
    user.user_permissions.clear()
    user.is_superuser = False
    user.save()


def deactivated(user: Any) -> None:
    user.is_active = False
    user.save()


def deleted(user: Any) -> None:
    user.delete()


@pytest.mark.parametrize("take_away", [removed, deactivated, deleted])
@of_each_kind
def test_a_job_that_waits_ends_with_the_right_of_the_person_who_asked(
    kind: type[Job], take_away: Callable[[Any], None]
) -> None:
    world = World()
    user = next(u for u in world.people.values() if world.lets_in(ACCESS[KINDS[kind][0]], u))
    job = waiting(kind, world, user)
    take_away(user)
    if not kind._default_manager.filter(pk=job.pk).exists():
        return  # deleted with the account
    done = run(job)
    assert (done.status, done.error) == ("failed", NO_RIGHT)
    assert done.done == 0
