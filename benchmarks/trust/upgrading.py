"""A database of an earlier release, with as many rows as wanted, and what must hold of it after an upgrade.

No release is tagged yet. The state is the one before counters, accounts' roles and recruitment records, so that nearly
every migration that touches rows has them to touch.
"""

import random
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from django.apps.registry import Apps
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor

from benchmarks.trust.audit import out_of_step
from experiment.checks import codes_open
from experiment.domain.assignment import rng_key
from experiment.domain.withdrawal_code import new_code
from experiment.models import Judgment, Participant, Trial
from experiment.services import drawing

EARLIER = "0009_trial_measures"
TRIALS_EACH, N_ITEMS, REPLAYED = 20, 60, 50
BATCH = 500
LEFT_EVERY = 5  # of so many participants one has left
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Upgraded:
    trials: int
    seconds: float
    problems: tuple[str, ...]


def upgrade(n_people: int) -> Upgraded:
    """Make the earlier database in the empty one that is opened, and bring it to this release."""
    drawn = make_earlier(n_people)
    began = time.monotonic()
    call_command("migrate", verbosity=0)
    seconds = time.monotonic() - began
    return Upgraded(len(drawn), seconds, tuple(problems(n_people, drawn)))


def make_earlier(n_people: int) -> dict[uuid.UUID, int]:
    """The earlier release's tables, and what `fill` writes."""
    call_command("migrate", "experiment", EARLIER, verbosity=0)
    state = MigrationExecutor(connection).loader.project_state([("experiment", EARLIER)])
    return fill(state.apps, n_people)


def fill(old: Apps, n_people: int) -> dict[uuid.UUID, int]:
    """A study with people and their answers; which item each trial's token shows."""
    study, items = _study(old)
    drawn: dict[uuid.UUID, int] = {}
    models = {name: old.get_model("experiment", name) for name in ("Participant", "Trial", "Judgment")}  # fmt: skip
    numbers = iter(range(n_people))
    while chunk := list(islice(numbers, BATCH)):
        with transaction.atomic():
            people = models["Participant"].objects.bulk_create(
                models["Participant"](**_person(n), study=study) for n in chunk
            )
            trials = [
                models["Trial"](participant=person, **values)
                for person in people
                for values in _trials(person, items)
            ]
            models["Trial"].objects.bulk_create(trials, batch_size=BATCH)
            drawn |= {trial.token: trial.item_id for trial in trials}
            answered = [trial for trial in trials if _is_answered(trial)]
            models["Judgment"].objects.bulk_create(
                (models["Judgment"](trial=trial, **_answer(trial)) for trial in answered),
                batch_size=BATCH,
            )
    return drawn


def _study(old: Apps) -> tuple[Any, list[Any]]:
    def of(name: str) -> Any:
        return old.get_model("experiment", name).objects

    study = of("Study").create(
        slug="earlier", title="An earlier study", briefing="Read.", version=1
    )
    consent = of("ConsentVersion").create(study=study, number=1, text="Agree?", sha256="x")
    of("StudyVersion").create(
        study=study, number=1, created_at=NOW, reason="It opens.", rules={}, items=[],
        items_sha256="x", consent=consent,
    )  # fmt: skip
    texts = {"markup": "It [[rose, fell]].", "original": "It rose.", "altered": "It fell."}
    items = [
        of("Item").create(key=f"i-{n}", status="accepted", sha256=f"{n}", **texts)
        for n in range(N_ITEMS)
    ]
    for item in items:
        of("StudyItem").create(study=study, item=item)
    return study, items


def _person(n: int) -> dict[str, Any]:
    has_left = n % LEFT_EVERY == 0
    return {
        "kind": "real",
        "stage": "trial" if has_left else "finished",
        "position": TRIALS_EACH,
        "page_reached": TRIALS_EACH,
        "seed": n,
        "enrollment_key": uuid.uuid4(),
        "consented_at": NOW,
        "last_seen_at": NOW + timedelta(minutes=30),
        "finished_at": None if has_left else NOW + timedelta(minutes=30),
        "cheated": None if has_left else False,
        "external_source": "prolific",
        "external_id": f"id-{n}",
        "external_ids_until": (NOW + timedelta(days=365)).date(),
        "withdrawal_code": new_code(),
    }


def _trials(person: Any, items: list[Any]) -> Iterator[dict[str, Any]]:
    left = list(items)
    for position in range(1, TRIALS_EACH + 1):
        key = rng_key(person.seed, "draw", position)
        item = random.Random(key).choice([row.pk for row in left])
        scores = {str(row.pk): 0.5 for row in left}
        left = [row for row in left if row.pk != item]
        draw = {"policy": "balanced", "key": key, "scores": scores}
        yield {"position": position, "stratum": "human", "item_id": item, "draw": draw, "drawn_at": NOW, "shown_at": NOW, "original_side": "A", "token": uuid.uuid4()}  # fmt: skip


def _is_answered(trial: Any) -> bool:
    return bool(trial.participant.stage == "finished" or trial.position < TRIALS_EACH)


def _answer(trial: Any) -> dict[str, Any]:
    return {
        "side": "A",
        "correct": True,
        "confidence": trial.position * 4,
        "expertise": 40,
        "confidence_moved": True,
        "expertise_moved": True,
        "rt_ms": 30_000 + trial.position,
        "received_at": NOW,
        "idempotency_key": uuid.uuid4(),
    }


def problems(n_people: int, drawn: dict[uuid.UUID, int]) -> Iterator[str]:
    """What does not hold of the upgraded database."""
    n_left = -(-n_people // LEFT_EVERY)
    expected = {Participant: n_people, Trial: len(drawn), Judgment: len(drawn) - n_left}
    for model, n in expected.items():
        if model._default_manager.count() != n:
            yield f"{model._default_manager.count()} rows of {model.__name__}, not {n}"
    yield from out_of_step()
    if Participant.objects.filter(left_at__isnull=False).count() != n_left:
        yield "who left is not known to have left"
    if codes_open(databases=["default"]) or Participant.objects.filter(sealed_code="").exists():
        yield "a participant's own code does not open"
    for trial in Trial.objects.order_by("?")[:REPLAYED]:
        if drawing.replay(trial) != drawn[trial.token]:
            yield f"the draw of trial {trial.pk} cannot be replayed"
    yield from _unguarded()


def _unguarded() -> Iterator[str]:
    first = Judgment.objects.order_by("pk")[:1].values("pk")
    try:
        with transaction.atomic():
            Judgment.objects.filter(pk__in=first).update(side="B", correct=False)
        yield "an answer can be changed"
    except DatabaseError:
        pass
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA foreign_key_check")
        else:
            cursor.execute("SELECT conname FROM pg_constraint WHERE NOT convalidated")
        yield from (f"constraint: {row}" for row in cursor.fetchall()[:5])
