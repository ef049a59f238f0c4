"""Databases of earlier releases keep what they hold."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

pytestmark = pytest.mark.django_db(transaction=True)

Migrate = Callable[[str], Apps]


@pytest.fixture
def migrate() -> Iterator[Migrate]:
    def to(name: str) -> Apps:
        call_command("migrate", "experiment", name, verbosity=0)
        return MigrationExecutor(connection).loader.project_state([("experiment", name)]).apps

    yield to
    call_command("migrate", verbosity=0)


def test_collection_damage_and_contact_are_read_from_keys_notes_and_sentences(
    migrate: Migrate,
) -> None:
    old = migrate("0001_initial")
    item_model = old.get_model("experiment", "Item")

    def item(key: str, version: int = 1, **fields: Any) -> None:
        texts = {"markup": "It [[rose, fell]].", "original": "It rose.", "altered": "It fell."}
        item_model.objects.create(key=key, version=version, status="accepted", **texts, **fields)

    published = {"texts": "as-published"}
    item("brainbench-human-063", note="Damaged as published: a bracket.", **published)
    item("brainbench-machine-025", note="A curator wrote this.", **published)
    item("brainbench-machine-025", 2, texts="repaired", note="Version 1 is damaged.")
    item("brainbench-human-001", **published)
    item("brainbench-of-our-own")
    item("demo-test-01")
    study = {"title": "A study", "briefing": "Read."}
    studies = old.get_model("experiment", "Study").objects
    studies.create(slug="unnamed", contact="the study team (no address given yet)", **study)
    studies.create(slug="named", contact="lab@example.org", **study)

    new = migrate("0002_item_collection_and_damage")
    rows = new.get_model("experiment", "Item").objects.order_by("key", "version")
    assert list(
        rows.values_list("key", "version", "collection", "collection_row", "is_damaged")
    ) == [
        ("brainbench-human-001", 1, "brainbench", 0, False),
        ("brainbench-human-063", 1, "brainbench", 62, True),
        ("brainbench-machine-025", 1, "brainbench", 24, True),
        ("brainbench-machine-025", 2, "brainbench", 24, False),
        ("brainbench-of-our-own", 1, "brainbench", None, False),
        ("demo-test-01", 1, "", None, False),
    ]
    contacts = new.get_model("experiment", "Study").objects.values_list("slug", "contact")
    assert dict(contacts) == {"unnamed": "", "named": "lab@example.org"}
    with pytest.raises(DatabaseError, match="never changes"):
        rows.filter(key="demo-test-01").update(markup="It [[fell, rose]].")


def test_pages_after_the_practice_move_on_by_the_page_that_now_follows_it(migrate: Migrate) -> None:
    old = migrate("0005_participant_pages")
    study = old.get_model("experiment", "Study").objects.create(slug="s", title="S", briefing="B")
    people = old.get_model("experiment", "Participant").objects
    reached = {"demographics": 0, "practice": 1, "trial": 2, "finished": 14}
    for n, (stage, page) in enumerate(reached.items()):
        values = {"stage": stage, "page_reached": page, "withdrawal_code": f"C{n}"}
        people.create(study=study, kind="imported", **values)

    new = migrate("0006_start_page")
    rows = new.get_model("experiment", "Participant").objects
    assert dict(rows.values_list("stage", "page_reached")) == {
        "demographics": 0,
        "practice": 1,
        "trial": 3,
        "finished": 15,
    }
    rows.filter(stage="practice").update(stage="start", page_reached=2)
    old = migrate("0005_participant_pages")
    rows = old.get_model("experiment", "Participant").objects
    assert sorted(rows.values_list("stage", "page_reached")) == [
        ("demographics", 0),
        ("finished", 14),
        ("trial", 2),
        ("trial", 2),
    ]
