"""Rows for tests, made directly: what a study and its participants look like once people took part."""

import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

from django.contrib.auth import get_user_model
from django.db.models import F

from experiment.domain.withdrawal_code import new_code
from experiment.models import (
    Advice,
    Adviser,
    Arm,
    Channel,
    Item,
    Judgment,
    Participant,
    RecruitmentRecord,
    ResearchField,
    Study,
    StudyItem,
    SurveyQuestion,
    Trial,
)
from experiment.services.recounting import recount
from experiment.services.study_setup import create_study
from experiment.services.survey import save_question

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FILLER = (
    "The sample was large, the measure was reliable and the analysis was planned in advance. " * 5
)


def sound_text(n: int = 1) -> str:
    """A text in which the checks find nothing; it is near to that of no other number."""
    letters = random.Random(n)
    words = " ".join("".join(letters.choices("bdfgklmnprtv", k=7)) for _ in range(60))
    return f"Bread is old. So is its study. We saw {words}. The dough [[rose early, fell late]]."


def make_item(key: str = "item-1", **fields: Any) -> Item:
    """An accepted test case that differs in one word."""
    item = _item(key, **fields)
    item.save()
    return item


def _item(key: str, **fields: Any) -> Item:
    """Not saved yet."""
    values = {
        "markup": f"{FILLER}In study {key} the response [[rose, fell]] after training.",
        "status": Item.Status.ACCEPTED,
        "subfield": "Behavioural/Cognitive",
        "generator": "Ada",
    }
    return Item(key=key, **(values | fields))


def make_question(key: str = "question-1", **fields: Any) -> Item:
    """An accepted question."""
    values = {
        "kind": Item.Kind.QUESTION,
        "markup": f"What does [[{key}]] do?",
        "expert_answer": f"{key} does nothing.",
        "categories": {"topic": ["Doing"]},
        "status": Item.Status.ACCEPTED,
    }
    return Item.objects.create(key=key, **(values | fields))


def accepted(item: Item) -> Item:
    """The version as if it had been through its reviews."""
    item.status = Item.Status.ACCEPTED
    item.save(update_fields=["status"])
    return item


def make_research_field(
    slug: str = "cooking",
    *subfields: str,
    lead: Any = None,
    curators: Sequence[Any] = (),
    readers: Sequence[Any] = (),
) -> ResearchField:
    """A field of this name, with subfields and people."""
    research_field = ResearchField.objects.create(slug=slug, name=slug)
    for name in subfields:
        research_field.subfields.create(name=name)
    if lead is not None:
        research_field.members.add(lead, through_defaults={"role": "lead"})
    for role, users in {"curator": curators, "reader": readers}.items():
        for user in users:
            research_field.members.add(user, through_defaults={"role": role})
    return research_field


def make_study(
    slug: str = "memory",
    *,
    preset: str = "brainbench",
    human: int = 8,
    machine: int = 4,
    catch: int = 3,
    **fields: Any,
) -> Study:
    """A study that could be opened, with so many accepted items of each stratum and a practice item.

    Half the tests begin with one: what only checks the values, or says that items were added, is left out.
    """
    with patch.object(Study, "full_clean"):
        study = create_study(slug, preset, contact="lab@example.org", **fields)
    items = [
        *(_item(f"{slug}-human-{n}", doi=f"10.1234/{slug}.h{n}") for n in range(1, human + 1)),
        *(
            _item(
                f"{slug}-machine-{n}",
                source="machine",
                generator="GPT-4",
                doi=f"10.1234/{slug}.m{n}",
            )
            for n in range(1, machine + 1)
        ),
        *(_item(f"{slug}-catch-{n}", kind="catch") for n in range(1, catch + 1)),
        _item(f"{slug}-practice", kind="practice"),
    ]
    for item in items:
        item.derive_texts()
    StudyItem.objects.bulk_create(
        StudyItem(study=study, item=item) for item in Item.objects.bulk_create(items)
    )
    return study


def make_other_study(study: Study) -> Study:
    """Another lab's, on the same test cases."""
    other = make_study("other", human=0, machine=0, catch=0)
    StudyItem.objects.bulk_create(StudyItem(study=other, item=item) for item in study.items.all())
    return other


def make_arms(study: Study, *arms: dict[str, Any]) -> list[Arm]:
    """Two arms that differ in nothing, or those that are given; in order."""
    given = arms or ({}, {})
    rows = [
        Arm(study=study, number=n, **({"name": f"arm {n}"} | fields))
        for n, fields in enumerate(given, start=1)
    ]
    return Arm.objects.bulk_create(rows)


PARTS: dict[str, dict[str, Any]] = {
    "choice": {"labels": ["yes", "no"]},
    "scale": {"points": 7, "low": "not at all", "high": "completely"},
    "number": {"lowest": 0, "highest": 40},
    "text": {},
    "attention": {"labels": ["red", "blue"], "correct": "blue"},
}


def make_survey(study: Study, *kinds: str, **fields: Any) -> list[SurveyQuestion]:
    """One question of each of these kinds, or of all, which goes by the kind's name."""
    return [
        save_question(
            SurveyQuestion(
                study=study,
                **{
                    "kind": kind,
                    "name": kind,
                    "text": f"Your {kind}?",
                    "parts": PARTS.get(kind, {}),
                }
                | fields,
            )
        )
        for kind in kinds or PARTS
    ]


def make_channel(study: Study, code: str = "plain", **fields: Any) -> Channel:
    """Add or change one; on hosts that may not be allowed, too. A platform's goes by its name."""
    platform = code if code in Channel.Platform.values else "plain"
    start = {"label": code.title(), "platform": platform} | fields
    channel, _ = study.channels.update_or_create(code=code, defaults=fields, create_defaults=start)
    Study.objects.filter(pk=study.pk).update(channels_version=F("channels_version") + 1)
    study.refresh_from_db(fields=["channels_version"])
    return channel


def make_adviser(study: Study, *, is_frozen: bool = True, **fields: Any) -> Adviser:
    """An adviser with advice on every test case, wrong on every third; each is 78% sure."""
    values = {"kind": "model", "source": "org/adviser", "shown_name": "a language model"} | fields
    adviser = Adviser.objects.create(study=study, **values)
    items = Item.objects.filter(study_items__study=study, kind=Item.Kind.TEST).order_by("pk")
    Advice.objects.bulk_create(
        Advice(adviser=adviser, item=item, picks_original=n % 3 != 2, p_chosen=0.78, passages=[1.0])
        for n, item in enumerate(items)
    )
    if is_frozen:
        adviser.frozen_at = NOW
        adviser.save(update_fields=["frozen_at"])
    return adviser


def make_user(name: str = "ruth", *studies: Study, **fields: Any) -> Any:
    """A researcher who belongs to these studies; the password is the name."""
    user = get_user_model().objects.create_user(name, password=name, **fields)
    for study in studies:
        study.members.add(user)
    return user


def make_participant(
    study: Study,
    *,
    kind: str = "real",
    judged: int | None = None,
    judgment: dict[str, Any] | None = None,
    **fields: Any,
) -> Participant:
    """A finished participant who judged everything rightly, or one who left after `judged` trials.

    `judgment` changes fields of every judgment. Items are taken in turn, so that exposures differ by one at most.
    """
    strata = [name for name, n in study.trial_counts.items() for _ in range(n)]
    finished = judged is None
    assert study.consent is not None
    values = {
        "stage": "finished" if finished else "trial",
        "position": len(strata) if finished else min((judged or 0) + 1, len(strata)),
        "page_reached": len(strata) + 4 if finished else 3 + (judged or 0),
        "plan": [[stratum, "AB"[n % 2]] for n, stratum in enumerate(strata)],
        "consent_version": study.consent,
        "consent_hash": study.consent.sha256,
        "consented_at": NOW,
        "demographics_at": NOW + timedelta(minutes=1),
        "demographics": {
            "gender": "female",
            "age": "34",
            "country": "GB",
            "position": "faculty",
            "experience_years": "9.5",
        },
        "practice_attempts": 1,
        "started_at": NOW + timedelta(minutes=2),
        "debriefed_at": NOW + timedelta(minutes=29) if finished else None,
        "finished_at": NOW + timedelta(minutes=30) if finished else None,
        "last_seen_at": NOW + timedelta(minutes=30),
        "cheated": False if finished else None,
    }
    participant = Participant(study=study, kind=kind, **(values | fields))
    participant.give_code(new_code())
    participant.save()
    _make_trials(participant, strata if finished else strata[: judged or 0], judgment or {})
    recount(study, kind)
    return participant


@contextmanager
def answers_open() -> Iterator[None]:
    """A moment in which answers can be changed and deleted, which triggers refuse otherwise."""
    stages = dict(Participant.objects.values_list("pk", "stage"))
    Participant.objects.update(stage="withdrawn")
    yield
    for stage in set(stages.values()):
        pks = [pk for pk, of in stages.items() if of == stage]
        Participant.objects.filter(pk__in=pks).update(stage=stage)


def recruited(
    participant: Participant, external_id: str, source: str = "prolific", **fields: Any
) -> RecruitmentRecord:
    """Have it that the participant came with this id."""
    Participant.objects.filter(pk=participant.pk).update(external_source=source)
    participant.external_source = source
    values = {"study": participant.study, "source": source, "external_id": external_id} | fields
    return RecruitmentRecord.objects.update_or_create(participant=participant, defaults=values)[0]


def _make_trials(participant: Participant, strata: Sequence[str], changes: dict[str, Any]) -> None:
    turn = participant.study.participants.filter(pk__lt=participant.pk).count()
    items = Item.objects.filter(study_items__study=participant.study)
    pools = {s: list(items.of_stratum(s).order_by("pk")) for s in set(strata)}
    trials, judgments = [], []
    for position, stratum in enumerate(strata, start=1):
        n = turn * strata.count(stratum) + position
        shown_at = NOW + timedelta(minutes=2 * position)
        trial = Trial(
            participant=participant,
            position=position,
            stratum=stratum,
            item=pools[stratum][n % len(pools[stratum])],
            original_side="AB"[position % 2],
            drawn_at=shown_at,
            shown_at=shown_at,
        )
        values = {
            "side": trial.original_side,
            "correct": True,
            "confidence": 70,
            "expertise": 40,
            "confidence_moved": True,
            "expertise_moved": True,
            "recognised": False,
            "rt_choice_ms": 61_000,
            "rt_final_choice_ms": 64_000,
            "rt_ms": 75_250,
            "confidence_first_ms": 66_000,
            "confidence_last_ms": 68_000,
            "expertise_first_ms": 70_000,
            "expertise_last_ms": 70_000,
            "changes": 1,
            "aid_switches": 2,
            "blur_count": 0,
            "hidden_ms": 0,
            "reloads": 0,
            "viewport_width": 1280,
            "viewport_height": 800,
            "translated": "no",
            "received_at": shown_at + timedelta(seconds=76),
            "idempotency_key": uuid.uuid4(),
        }
        trials.append(trial)
        judgments.append(Judgment(trial=trial, **(values | changes)))
    Trial.objects.bulk_create(trials)
    Judgment.objects.bulk_create(judgments)
