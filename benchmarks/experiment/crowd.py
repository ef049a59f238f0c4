"""As many participants of a study as are asked for, in whose rows every exported column has a value, as after real ones."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from django.db import transaction

from experiment.models import (
    ConsentVersion,
    Item,
    Judgment,
    Participant,
    RecruitmentRecord,
    Study,
    Trial,
)
from experiment.services.recounting import recount

STRATA = (*("human",) * 6, *("machine",) * 3, *("catch",) * 2)
TRIALS_EACH = len(STRATA)
COUNTRIES, CAREERS = ("GB", "DE", "JP"), ("faculty", "doctoral_student", "other")
START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
CHUNK = 1_000  # participants
BATCH = 900  # rows of one insert; the database may take less


def add_people(study: Study, n: int, announce: Callable[[int], None] = lambda _: None) -> None:
    """That many more finished participants, with a judgment of every trial."""
    first = study.participants.count()
    consent = study.consent
    pools = {name: list(Item.objects.of_stratum(name).order_by("pk")) for name in set(STRATA)}
    for at in range(first, first + n, CHUNK):
        rng = Random(at)
        with transaction.atomic():
            people = [
                _person(study, consent, rng, k) for k in range(at, min(at + CHUNK, first + n))
            ]
            Participant.objects.bulk_create(people, batch_size=BATCH)
            records = [_record(rng, person) for person in people]
            RecruitmentRecord.objects.bulk_create(records, batch_size=BATCH)
            trials = [trial for person in people for trial in _trials(rng, person, pools)]
            Trial.objects.bulk_create(trials, batch_size=BATCH)
            judgments = [_judgment(rng, trial) for trial in trials]
            Judgment.objects.bulk_create(judgments, batch_size=BATCH)
        announce(at + len(people) - first)
    recount(study, Participant.Kind.REAL)


def _person(study: Study, consent: ConsentVersion | None, rng: Random, k: int) -> Participant:
    begun = START + timedelta(seconds=37.123456 * k)
    return Participant(
        study=study,
        kind=Participant.Kind.REAL,
        stage=Participant.Stage.FINISHED,
        position=TRIALS_EACH,
        page_reached=TRIALS_EACH + 4,
        plan=[[stratum, "AB"[n % 2]] for n, stratum in enumerate(STRATA)],
        demographics={
            "gender": "female",
            "age": str(20 + k % 50),
            "country": COUNTRIES[k % len(COUNTRIES)],
            "position": CAREERS[k % len(CAREERS)],
            "experience_years": str(k % 30),
        },
        external_source="prolific",
        consent_version=consent,
        consent_hash=consent.sha256 if consent else "",
        consented_at=begun,
        demographics_at=begun + timedelta(minutes=1),
        practice_attempts=1,
        started_at=begun + timedelta(minutes=2),
        debriefed_at=begun + timedelta(minutes=29),
        finished_at=begun + timedelta(minutes=30),
        last_seen_at=begun + timedelta(minutes=30),
        cheated=False,
        comments="" if k % 4 else "Interesting, but “hard”.\nThank you!",
        excluded_by="" if k % 10 else "missed_catch",
    )


def _record(rng: Random, person: Participant) -> RecruitmentRecord:
    return RecruitmentRecord(
        participant=person,
        study=person.study,
        source=person.external_source,
        external_id=f"{rng.getrandbits(96):024x}",
        external_study_id="65f0a1b2c3d4e5f6a7b8c9d0",
        external_session_id=f"{rng.getrandbits(96):024x}",
    )


def _trials(rng: Random, person: Participant, pools: dict[str, list[Item]]) -> Iterator[Trial]:
    drawn = {name: iter(rng.sample(pool, STRATA.count(name))) for name, pool in pools.items()}
    assert person.started_at is not None
    for position, stratum in enumerate(STRATA, start=1):
        shown = person.started_at + timedelta(seconds=150.25 * position)
        yield Trial(
            participant=person,
            position=position,
            stratum=stratum,
            item=next(drawn[stratum]),
            original_side=rng.choice("AB"),
            drawn_at=shown,
            shown_at=shown,
        )


def _judgment(rng: Random, trial: Trial) -> Judgment:
    assert trial.shown_at is not None
    rt_ms = rng.randrange(9_000, 120_000)
    is_right = rng.random() < 0.63
    times: dict[str, Any] = {
        name: rng.randrange(rt_ms)
        for name in (
            "rt_choice_ms",
            "rt_final_choice_ms",
            "confidence_first_ms",
            "confidence_last_ms",
            "expertise_first_ms",
            "expertise_last_ms",
        )
    }
    return Judgment(
        trial=trial,
        side=trial.original_side if is_right else "AB"["BA".index(trial.original_side)],
        correct=is_right,
        confidence=rng.randint(1, 100),
        expertise=rng.randint(1, 100),
        confidence_moved=True,
        expertise_moved=True,
        recognised=rng.random() < 0.05,
        rt_ms=rt_ms,
        changes=rng.randrange(3),
        aid_switches=rng.randrange(3),
        blur_count=0,
        hidden_ms=0,
        reloads=0,
        viewport_width=1280,
        viewport_height=720,
        translated="no",
        received_at=trial.shown_at + timedelta(milliseconds=rt_ms + 137),
        excluded_by="recognised" if rng.random() < 0.05 else "",
        **times,
    )
