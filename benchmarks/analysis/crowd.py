"""A simulated study of any size, written to the database some rows at a time."""

import uuid
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.utils import timezone

from experiment.models import Item, Judgment, Participant, Study, Trial
from experiment.services.recounting import recount
from scoring.models import ItemScore, LanguageModel, ModelSet, ModelSetMember, ScoringRun

TRIALS_EACH = 9
SUBFIELDS = ("Behaviour", "Circuits", "Development", "Disease", "Molecules")
CAREERS = ("doctoral_student", "postdoctoral_researcher", "faculty")
CHUNK = 10_000


def make_crowd(n_trials: int, n_items: int, n_models: int, seed: int = 42) -> Study:
    """A study with that many analysed trials on human-created items, and scores of that many models."""
    rng = np.random.default_rng(seed)
    slug = f"crowd-{n_trials}"
    with transaction.atomic():
        study = Study.objects.create(
            slug=slug, title=f"{n_trials:,} simulated trials", briefing="-"
        )
        items = _items(slug, n_items)
        _models(rng, study, items, n_models)
        _people(rng, study, items, n_trials)
        recount(study, Participant.Kind.IMPORTED)
    return study


def _items(slug: str, n: int) -> np.ndarray:
    rows = [
        Item(
            key=f"{slug}-{number:04d}",
            markup=f"Text {number} of {slug} [[rose, fell]].",
            subfield=SUBFIELDS[number % len(SUBFIELDS)],
            doi=f"10.0/{slug}-{number}",
            publication_date=timezone.now().date(),
            status=Item.Status.ACCEPTED,
        )
        for number in range(n)
    ]
    for row in rows:
        row.derive_texts()
    return np.array([row.pk for row in Item.objects.bulk_create(rows)])


def _models(rng: np.random.Generator, study: Study, items: np.ndarray, n: int) -> None:
    names = [f"simulated/model-{number:02d}" for number in range(n)]
    known = [
        LanguageModel.objects.get_or_create(
            name=name, defaults={"display_name": name, "family": f"Family {number // 3}"}
        )[0]
        for number, name in enumerate(names)
    ]
    model_set = ModelSet.objects.create(study=study, name="simulated models")
    for position, model in enumerate(known):
        ModelSetMember.objects.create(model_set=model_set, language_model=model, position=position)
    shared = rng.normal(0.05, 0.05, len(items))
    for model in known:
        for condition, seed in (("full", None), ("isolated", None), ("swapped", 42)):
            run = ScoringRun.objects.create(
                study=study,
                language_model=model,
                backend="imported",
                condition=condition,
                seed=seed,
                status="finished",
                prompt="paper",
            )
            original = np.exp(rng.normal(2.3, 0.2, len(items)))
            altered = original * np.exp(shared + rng.normal(0, 0.05, len(items)))
            ItemScore.objects.bulk_create(
                ItemScore(
                    run=run,
                    item_id=item,
                    ppl_original=a,
                    ppl_altered=b,
                    zlib_original_bytes=800,
                    zlib_altered_bytes=800,
                )
                for item, a, b in zip(
                    items.tolist(), original.tolist(), altered.tolist(), strict=True
                )
            )


def _people(rng: np.random.Generator, study: Study, items: np.ndarray, n_trials: int) -> None:
    """Everybody judges different items with log-odds 0.6 + person + item."""
    n_people = -(-n_trials // TRIALS_EACH)
    first_person, first_trial = _next_pk(Participant), _next_pk(Trial)
    owner, position = np.divmod(np.arange(n_trials), TRIALS_EACH)
    order = rng.permutation(items)
    item = order[(rng.integers(0, len(items), n_people)[owner] + position) % len(items)]
    ease = rng.normal(0, 0.8, len(items))[np.searchsorted(np.sort(items), item)]
    logit = 0.6 + rng.normal(0, 0.4, n_people)[owner] + ease
    right = rng.random(n_trials) < 1 / (1 + np.exp(-logit))
    side = rng.integers(0, 2, n_trials).tolist()
    _store(Participant, (_person(study, first_person + k, k) for k in range(n_people)))
    _store(
        Trial,
        (
            Trial(
                id=first_trial + k,
                participant_id=first_person + k // TRIALS_EACH,
                position=k % TRIALS_EACH + 1,
                stratum="human",
                item_id=item_id,
                original_side="AB"[side[k]],
                token=uuid.UUID(int=(first_trial + k) << 64 | 2),
            )
            for k, item_id in enumerate(item.tolist())
        ),
    )
    _store(Judgment, _judgments(rng, first_trial, right.tolist(), side))


def _person(study: Study, pk: int, k: int) -> Participant:
    now = timezone.now()
    return Participant(
        id=pk,
        study=study,
        kind=Participant.Kind.IMPORTED,
        stage=Participant.Stage.FINISHED,
        position=TRIALS_EACH,
        page_reached=TRIALS_EACH + 3,
        started_at=now,
        finished_at=now,
        plan=[],
        public_id=uuid.UUID(int=pk << 64 | 1),
        seed=k,
        demographics={
            "position": CAREERS[k % len(CAREERS)],
            "age": 20 + k % 50,
            "experience_years": k % 30,
        },
    )


def _judgments(
    rng: np.random.Generator, first_trial: int, right: list[bool], sides: list[int]
) -> Iterator[Judgment]:
    n = len(right)
    confidence, expertise = (rng.integers(1, 101, n).tolist() for _ in range(2))
    rt_ms = np.exp(rng.normal(11, 0.8, n)).astype(int).tolist()
    for k in range(n):
        yield Judgment(
            trial_id=first_trial + k,
            side="AB"[sides[k] if right[k] else 1 - sides[k]],
            correct=right[k],
            confidence=confidence[k],
            expertise=expertise[k],
            confidence_moved=True,
            expertise_moved=True,
            rt_ms=rt_ms[k],
        )


def _next_pk(model: type[models.Model]) -> int:
    last = model._default_manager.aggregate(last=models.Max("pk"))["last"]
    return int(last or 0) + 1


def _store(model: type[models.Model], rows: Iterable[Any]) -> None:
    rows = iter(rows)
    while batch := list(islice(rows, CHUNK)):
        model._default_manager.bulk_create(batch)
    # The keys given here are not counted by PostgreSQL: the next row would take one of them
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)
