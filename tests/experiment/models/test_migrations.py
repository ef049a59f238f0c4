"""Databases of earlier releases keep what they hold."""

import random
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps.registry import Apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from experiment.domain.assignment import rng_key
from experiment.domain.exclusion import Rules
from experiment.models import ItemCount, Judgment, Participant, Study, Trial
from experiment.services import drawing
from experiment.services.recount import check

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


def test_running_studies_get_their_first_version_and_switches_become_readings(
    migrate: Migrate,
) -> None:
    old = migrate("0006_start_page")
    names = ("Study", "Item", "StudyItem", "ConsentVersion", "Participant")
    study, item, study_item, consent, participant = (
        old.get_model("experiment", name).objects for name in names
    )
    running = study.create(slug="running", title="A", briefing="B", exclude_untouched=False)
    waiting = study.create(slug="waiting", title="A", briefing="B")
    texts = {"markup": "It [[rose, fell]].", "original": "It rose.", "altered": "It fell."}
    for key in ("b-2", "a-1"):
        row = item.create(key=key, status="accepted", sha256=f"sha-{key}", **texts)
        study_item.create(study=running, item=row)
    wording = consent.create(study=running, number=1, text="Agree?", sha256="x")
    now = timezone.now()
    for kind, of in (("real", running), ("real", running), ("pilot", waiting)):
        participant.create(
            study=of,
            kind=kind,
            consented_at=now,
            withdrawal_code=f"{kind}-{of.pk}-{uuid.uuid4().hex[:6]}",
        )

    new = migrate("0008_freeze_running_studies")
    studies = new.get_model("experiment", "Study").objects
    assert dict(studies.values_list("slug", "exclude_untouched")) == {
        "running": "off",
        "waiting": "neither",
    }
    assert dict(studies.values_list("slug", "version")) == {"running": 1, "waiting": 0}
    version = new.get_model("experiment", "StudyVersion").objects.get()
    assert (version.study_id, version.number, version.reason) == (running.pk, 1, "")
    assert version.consent_id == wording.pk
    assert version.items == [["a-1", 1, "sha-a-1"], ["b-2", 1, "sha-b-2"]]
    assert Rules(**version.rules) == Rules(untouched_sliders="off")
    with pytest.raises(DatabaseError, match="new version"), transaction.atomic():
        studies.filter(slug="running").update(exclude_untouched="neither")
    studies.filter(slug="waiting").update(exclude_untouched="off")


def test_kept_draws_are_packed_and_participants_counted(migrate: Migrate) -> None:
    old = migrate("0009_trial_measures")
    names = ("Study", "Item", "Participant", "Trial", "Judgment")
    study, item, participant, trial, judgment = (
        old.get_model("experiment", name).objects for name in names
    )
    of = study.create(slug="s", title="S", briefing="B")
    texts = {"markup": "It [[rose, fell]].", "original": "It rose.", "altered": "It fell."}
    items = [
        item.create(key=f"i-{n}", status="accepted", sha256=f"{n}", **texts) for n in range(90)
    ]
    now = timezone.now()
    person = participant.create(
        study=of, kind="real", stage="finished", consented_at=now, seed=7, withdrawal_code="C"
    )
    gone = participant.create(
        study=of,
        kind="real",
        stage="trial",
        consented_at=now,
        withdrawal_code="D",
        last_seen_at=now - timedelta(days=2),
    )
    scores = {str(row.pk): 0.5 if n % 3 else 1.0 for n, row in enumerate(items)}
    tied = [row.pk for n, row in enumerate(items) if n % 3]
    drawn = []
    for position in range(1, 6):
        key = rng_key(7, "draw", position)
        drawn.append(random.Random(key).choice(tied))
        scores[str(drawn[-1])] = 0.5
        row = trial.create(
            participant=person,
            position=position,
            stratum="human",
            item_id=drawn[-1],
            draw={"policy": "balanced", "key": key, "scores": scores},
        )
        judgment.create(
            trial=row, correct=True, confidence_moved=True, expertise_moved=True, rt_ms=2**40
        )
    trial.create(participant=gone, position=1, stratum="human", item_id=items[0].pk)

    call_command("migrate", verbosity=0)
    rows = Trial.objects.filter(participant=person.pk).order_by("position")
    assert [drawing.replay(row) for row in rows] == drawn
    assert all(len(row.draw) <= 200 for row in rows)
    assert Trial.objects.get(participant=gone.pk).draw == b""
    assert set(Judgment.objects.values_list("rt_ms", flat=True)) == {2**31 - 1}
    assert Participant.objects.get(pk=gone.pk).left_at is not None
    assert ItemCount.objects.count() == len({*drawn, items[0].pk})
    assert check(Study.objects.all()) == []
