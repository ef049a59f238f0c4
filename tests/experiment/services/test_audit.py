"""The audit trail: appended, chained, and changed by nobody."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction

from experiment.models import AuditEvent, Study
from experiment.services import audit
from experiment.services.audit import Action, record
from experiment.services.study_setup import create_study, pin_items, set_recruitment
from experiment.services.study_versions import revise
from lib.locks import do_last
from tests.factories import make_item, make_user

pytestmark = pytest.mark.django_db


def test_each_event_names_the_hash_of_the_one_before() -> None:
    first, second = record(Action.SIGNED_IN), record(Action.SIGNED_IN)
    assert (first.previous_sha256, second.previous_sha256) == ("", first.sha256)
    assert audit.verify() is None


def test_events_are_appended_as_the_last_thing_of_their_transaction_in_their_order() -> None:
    """The site's other events wait for those that a transaction has appended, and with them every sign-in."""
    with transaction.atomic():
        with transaction.atomic():
            record(Action.SIGNED_IN, reason="first")
        with suppress(ValueError), transaction.atomic():
            with transaction.atomic():
                record(Action.SIGNED_IN, reason="rolled back")
            raise ValueError
        record(Action.SIGNED_IN, reason="second")
        assert not AuditEvent.objects.exists()
    with suppress(ValueError), transaction.atomic():
        record(Action.SIGNED_IN, reason="rolled back")
        raise ValueError
    with transaction.atomic():
        record(Action.SIGNED_IN, reason="rolled back")
        transaction.set_rollback(True)
    record(Action.SIGNED_IN, reason="third")
    reasons = [*AuditEvent.objects.values_list("reason", flat=True)]
    assert reasons == ["first", "second", "third"]
    assert audit.verify() is None


def interrupted() -> None:
    raise InterruptedError


def refused() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {AuditEvent._meta.db_table} SET actor = 'x'")


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("fails", [interrupted, refused])
def test_nothing_is_done_of_a_transaction_that_fails_at_what_it_does_last(
    fails: Callable[[], None],
) -> None:
    def fail(_: list[str]) -> None:
        assert AuditEvent.objects.exists()
        fails()

    @transaction.atomic
    def work() -> None:
        make_user("ada")
        record(Action.SIGNED_IN)

    @transaction.atomic
    def work_in_vain() -> None:
        work()
        do_last(fail, "later")

    with pytest.raises((InterruptedError, DatabaseError)):
        work_in_vain()
    assert (User.objects.count(), AuditEvent.objects.count()) == (0, 0)
    work()
    assert (User.objects.count(), AuditEvent.objects.count()) == (1, 1)


@pytest.mark.parametrize("statement", ["UPDATE {} SET actor = 'x'", "DELETE FROM {}"])
def test_the_database_refuses_to_change_an_event(statement: str) -> None:
    record(Action.SIGNED_IN)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(AuditEvent._meta.db_table))


@pytest.mark.parametrize(
    ("change", "what"),
    [("UPDATE {} SET reason = 'x' WHERE id = %s", "it was changed"), ("DELETE FROM {} WHERE id = %s", "missing")],
)  # fmt: skip
def test_a_change_behind_the_triggers_back_is_found(change: str, what: str) -> None:
    from experiment.models.triggers import drop_triggers

    events = [record(Action.SIGNED_IN) for _ in range(3)]
    drop_triggers("default")
    with connection.cursor() as cursor:
        cursor.execute(change.format(AuditEvent._meta.db_table), [events[1].pk])
    found = audit.verify()
    assert found is not None
    assert what in found.what


def said(study: Study) -> list[tuple[str, str, str]]:
    rows = AuditEvent.objects.filter(study=study.slug).order_by("pk")
    return [(row.actor, row.action, row.reason) for row in rows]


def test_changes_of_a_study_are_in_the_trail_with_who_and_why() -> None:
    ruth = make_user("ruth")
    study = create_study("memory", "brainbench", contact="lab@example.org", by=ruth)
    assert study.memberships.get().role == "researcher"
    revise(study, consent="Another text.", by=ruth)
    revise(
        study, rules=replace(study.exclusion_rules, min_rt_ms=10_000), reason="Too fast", by=ruth
    )
    pin_items(study, [make_item()], by=ruth)
    set_recruitment(study, "closed", by=ruth, reason="The lab moves")
    assert said(study) == [
        ("ruth", "study_created", ""),
        ("ruth", "consent_changed", ""),
        ("ruth", "consent_changed", ""),
        ("ruth", "rules_changed", "Too fast"),
        ("ruth", "items_changed", ""),
        ("ruth", "recruitment", "The lab moves"),
    ]
    rules = AuditEvent.objects.get(action="rules_changed")
    assert rules.details == {"version": 0, "rules": {"min_rt_ms": "5000 -> 10000"}}


def test_a_change_to_the_same_values_leaves_no_event(study: Study) -> None:
    before = AuditEvent.objects.count()
    revise(study, consent=study.consent.text, rules=study.exclusion_rules, items=study.items.all())
    set_recruitment(study, study.recruitment)
    assert AuditEvent.objects.count() == before
