"""The trail's pages and command."""

import io
import json

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from experiment.models import AuditEvent, Study
from experiment.models.triggers import drop_triggers
from experiment.services.audit import Action, last_changes, record
from experiment.services.fields import change_field, create_field
from experiment.services.members import check_username
from experiment.services.study_setup import create_study
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db


def change_the_past() -> int:
    """Changes an event, as somebody with the database's password could."""
    pk = AuditEvent.objects.order_by("pk")[0].pk
    drop_triggers("default")
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {AuditEvent._meta.db_table} SET actor = 'x' WHERE id = {pk}")
    return int(pk)


def test_a_study_shows_its_own_events_with_who_and_why(ruth: Client, study: Study) -> None:
    other = make_study("other")
    record(Action.EXPORTED, by=make_user("vera"), study=study, reason="a paper", n_rows=1)
    record(Action.EXPORTED, study=other, reason="of others")
    shown = ruth.get("/lab/studies/memory/trail/").text
    assert all(
        word in shown for word in ("vera", "exported data", "a paper", "n rows", "<dd>1</dd>")
    )
    assert "of others" not in shown


def test_long_trails_come_in_pages(boss: Client) -> None:
    for n in range(60):
        record(Action.EXPORTED, n=n)
    first, second = (boss.get(f"/lab/trail/?page={n}").context["events"] for n in (1, 2))
    assert len(first) == 50
    assert first[-1][0].pk == second[0][0].pk + 1
    assert boss.get("/lab/trail/?page=nonsense").status_code == 200


def test_the_chain_is_checked_when_asked(boss: Client, study: Study) -> None:
    assert "The chain is intact" not in boss.get("/lab/trail/").text
    assert "The chain is intact" in boss.get("/lab/trail/?verify").text
    pk = change_the_past()
    assert f"is broken at event {pk}" in boss.get("/lab/trail/?verify").text


def test_a_study_checks_its_own_events_and_reads_no_other_labs(ruth: Client, study: Study) -> None:
    page = "/lab/studies/memory/trail/?verify"
    record(Action.EXPORTED, study=make_study("other"))
    record(Action.EXPORTED, study=study)
    with pytest.MonkeyPatch.context() as patched:
        read: list[str] = []
        chained = AuditEvent.chained
        patched.setattr(AuditEvent, "chained", lambda e: read.append(e.study) or chained(e))
        assert "No event of this study was changed" in ruth.get(page).text
    assert set(read) == {"memory"}
    drop_triggers("default")
    event = AuditEvent.objects.filter(study="memory").order_by("-pk")[0]
    AuditEvent.objects.filter(pk=event.pk).update(actor="x")
    assert f"is broken at event {event.pk}" in ruth.get(page).text


def test_the_command_says_whether_it_holds(study: Study) -> None:
    out = io.StringIO()
    call_command("chores", "trail", json=True, stdout=out)
    said = json.loads(out.getvalue())
    newest = AuditEvent.objects.order_by("-pk")[0]
    assert (said["holds"], said["newest_sha256"]) == (True, newest.sha256)
    pk, out = change_the_past(), io.StringIO()
    with pytest.raises(CommandError, match=f"Event {pk}: it was changed"):
        call_command("chores", "trail", json=True, stdout=out)
    assert json.loads(out.getvalue())["broken_at"] == pk


def test_a_study_that_has_a_deleted_ones_name_shows_only_its_own_events(boss: Client) -> None:
    old = create_study("memory", "brainbench")
    record(Action.STUDY_CHANGED, by=make_user("vera"), study=old, changed=["title"])
    old.delete()
    study = create_study("memory", "brainbench")
    ruth = Client()
    ruth.force_login(make_user("ruth", study))
    record(Action.EXPORTED, study=study, reason="a paper")
    shown = ruth.get("/lab/studies/memory/trail/").text
    assert "a paper" in shown
    assert "vera" not in shown
    assert last_changes(["title"], study) == {}
    assert "vera" in boss.get("/lab/trail/").text


def test_a_field_that_has_a_deleted_ones_name_has_only_its_own_changes() -> None:
    boss = make_user("boss", is_superuser=True)
    old = create_field("cooking", 2, boss)
    change_field(old, "cooking", 3, boss)
    assert last_changes(["reviews_needed"], field="cooking")["reviews_needed"].by == "boss"
    old.delete()
    create_field("cooking", 2, boss)
    assert last_changes(["reviews_needed"], field="cooking") == {}


def test_a_field_that_takes_a_name_that_another_gave_up_has_only_its_own_changes() -> None:
    ann, eve = make_user("ann", is_superuser=True), make_user("eve", is_superuser=True)
    old, new = create_field("cooking", 2, ann), create_field("other", 1, eve)
    change_field(old, "cooking", 3, ann)
    change_field(old, "frying", 3, ann)
    change_field(new, "cooking", 1, eve)
    assert last_changes(["reviews_needed"], field="cooking") == {}


@pytest.mark.parametrize("name", ["vera", "Vera", "v\u0435ra"])
def test_the_name_of_a_deleted_account_stays_its_own(boss: Client, name: str) -> None:
    vera, ann = make_user("vera"), make_user("ann")
    record(Action.EXPORTED, by=vera)
    vera.delete()
    with pytest.raises(ValidationError, match="audit trail"):
        check_username(name)
    with pytest.raises(ValidationError, match="audit trail"):
        check_username(name, ann)
    check_username("ann", ann)


def test_the_name_of_somebody_who_was_only_a_member_stays_theirs() -> None:
    record(Action.MEMBER_ADDED, by=make_user("ann"), member="vera")
    with pytest.raises(ValidationError, match="audit trail"):
        check_username("vera")
