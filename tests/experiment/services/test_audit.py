"""The audit trail: appended, chained, and changed by nobody."""

import json
from contextlib import suppress
from dataclasses import replace

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from experiment.models import AuditEvent, Study
from experiment.services import audit
from experiment.services.audit import Action, record
from experiment.services.file_places import Place
from experiment.services.study_file import copy_study, create, document
from experiment.services.study_setup import create_study, pin_items, set_recruitment
from experiment.services.study_versions import revise
from tests.factories import make_arms, make_channel, make_item, make_study, make_user

pytestmark = pytest.mark.django_db


def test_each_event_names_the_hash_of_the_one_before() -> None:
    first, second = record(Action.SIGNED_IN), record(Action.SIGNED_IN)
    assert (first.previous_sha256, second.previous_sha256) == ("", first.sha256)
    assert audit.verify() is None


def test_events_of_long_work_are_appended_at_its_end_in_their_order() -> None:
    """The site's other events wait for those that a transaction has appended, and with them every sign-in."""
    with audit.gathered(), audit.gathered():
        record(Action.SIGNED_IN, reason="first")
        record(Action.SIGNED_IN, reason="second")
        assert not AuditEvent.objects.exists()
    assert [*AuditEvent.objects.values_list("reason", flat=True)] == ["first", "second"]
    with audit.gathered(), audit.gathered(keep=False):
        record(Action.SIGNED_IN)
    with suppress(ValueError), audit.gathered():
        record(Action.SIGNED_IN)
        raise ValueError
    record(Action.SIGNED_IN)
    assert AuditEvent.objects.count() == 3
    assert audit.verify() is None


def test_nothing_is_written_between_the_audit_of_a_studys_file_and_its_end() -> None:
    study = make_study(human=2)
    make_arms(study)
    make_channel(study)
    file = json.loads(json.dumps(document(study)))
    for n, item in enumerate(file["items"]):
        item |= {"key": f"new-{n}", "field": "new"}
    by = make_user("ada", is_superuser=True)
    for make in (
        lambda: create(Place(file, "", []), slug="again", title="Again", by=by),
        lambda: copy_study(study, slug="copy", title="A copy", by=by),
    ):
        with CaptureQueriesContext(connection) as captured:
            make()
        written = [q["sql"].partition("(")[0] for q in captured if q["sql"].startswith("INSERT")]
        first = next(n for n, sql in enumerate(written) if "auditevent" in sql)
        assert first > 5
        assert all("auditevent" in sql for sql in written[first:])


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


def test_what_is_done_to_a_study_is_told_with_who_did_it_and_why() -> None:
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


def test_what_changes_nothing_is_not_told(study: Study) -> None:
    before = AuditEvent.objects.count()
    revise(study, consent=study.consent.text, rules=study.exclusion_rules, items=study.items.all())
    set_recruitment(study, study.recruitment)
    assert AuditEvent.objects.count() == before
