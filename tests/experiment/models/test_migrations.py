"""Databases of earlier releases keep what they hold."""

import random
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps.registry import Apps
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from experiment.domain.assignment import rng_key
from experiment.domain.exclusion import Rules
from experiment.domain.withdrawal_code import new_code
from experiment.models import ItemCount, Judgment, Participant, Study, Trial
from experiment.services import drawing
from experiment.services.recount import check

# They write rows of older tables, which nothing counts
pytestmark = [pytest.mark.both, pytest.mark.django_db(transaction=True), pytest.mark.drifts]

Migrate = Callable[[str], Apps]


@pytest.fixture(scope="module", autouse=True)
def _own_database(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any
) -> Iterator[None]:
    """One that begins empty: from nothing to a migration is ten times as quick as back to it from the newest."""
    usual = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        own = str(tmp_path_factory.mktemp("migrations") / "old.sqlite3")
    else:
        own = f"{usual}_old"
    with django_db_blocker.unblock():
        on_server("CREATE", own)
        use(own)
        yield
        use(usual)
        on_server("DROP", own)


def on_server(verb: str, name: str) -> None:
    if connection.vendor != "sqlite":
        with connection._nodb_cursor() as cursor:
            cursor.execute(f'{verb} DATABASE "{name}"')


def use(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
    ContentType.objects.clear_cache()


@pytest.fixture
def migrate() -> Migrate:
    """To a migration, from wherever the test before left the tables."""

    def to(name: str) -> Apps:
        call_command("migrate", "experiment", name, verbosity=0)
        return MigrationExecutor(connection).loader.project_state([("experiment", name)]).apps

    return to


def migrate_to_newest() -> None:
    call_command("migrate", "experiment", verbosity=0)


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

    migrate_to_newest()
    rows = Trial.objects.filter(participant=person.pk).order_by("position")
    assert [drawing.replay(row) for row in rows] == drawn
    assert all(len(row.draw) <= 200 for row in rows)
    assert Trial.objects.get(participant=gone.pk).draw == b""
    assert set(Judgment.objects.values_list("rt_ms", flat=True)) == {2**31 - 1}
    assert Participant.objects.get(pk=gone.pk).left_at is not None
    assert ItemCount.objects.count() == len({*drawn, items[0].pk})
    assert check(Study.objects.all()) == []


def test_recruitment_ids_move_to_their_own_table_and_back(migrate: Migrate) -> None:
    old = migrate("0013_access_tokens")
    study = old.get_model("experiment", "Study").objects.create(slug="s", title="S", briefing="B")
    people = old.get_model("experiment", "Participant").objects
    now = timezone.now()
    until = now.date() + timedelta(days=90)
    ids = {"external_study_id": "st", "external_session_id": "se", "external_ids_until": until}
    cases = {
        "known": {"external_source": "prolific", "external_id": "p1", **ids},
        "plain": {},
        "forgotten": {"external_source": "prolific", "external_ids_until": now.date()},
        "published": {"kind": "imported", "external_source": "brainbench", "external_id": "17"},
    }
    for code, values in cases.items():
        given = {"kind": "real", "consented_at": now, "withdrawal_code": code} | values
        people.create(study=study, **given)

    new = migrate("0014_recruitment_records")
    people = new.get_model("experiment", "Participant").objects
    record = new.get_model("experiment", "RecruitmentRecord").objects.get()
    assert record.participant == people.get(withdrawal_code="known")
    assert (record.study_id, record.source, record.external_id) == (study.pk, "prolific", "p1")
    assert (record.external_study_id, record.external_session_id) == ("st", "se")
    assert record.until == until
    assert dict(people.values_list("withdrawal_code", "external_source")) == {
        "known": "prolific",
        "plain": "",
        "forgotten": "prolific",
        "published": "brainbench",
    }
    assert people.exclude(published_id="").get().published_id == "17"

    old = migrate("0013_access_tokens")
    people = old.get_model("experiment", "Participant").objects
    names = ("external_id", "external_study_id", "external_session_id", "external_ids_until")
    rows = {code: tuple(kept) for code, *kept in people.values_list("withdrawal_code", *names)}
    assert rows["known"] == ("p1", "st", "se", until)
    assert rows["published"][0] == "17"
    assert rows["plain"] == ("", "", "", None)


def test_titles_that_several_studies_had_get_the_short_name_after_them(migrate: Migrate) -> None:
    old = migrate("0015_participant_lists").get_model("experiment", "Study").objects
    long = "x" * 200
    titles = {"a": "Same", "b": "Same", "c": "Same (b)", "d": "Same", "e": long, "f": long}
    for slug, title in titles.items():
        old.create(slug=slug, title=title, briefing="B")
    new = migrate("0016_unique_titles").get_model("experiment", "Study").objects
    assert dict(new.values_list("slug", "title")) == {
        "a": "Same",
        "b": "Same (b)",
        "c": "Same (b) (c)",
        "d": "Same (d)",
        "e": long,
        "f": "x" * 196 + " (f)",
    }
    with pytest.raises(DatabaseError), transaction.atomic():
        new.create(slug="g", title="Same", briefing="B")


def test_codes_in_clear_are_sealed_and_stay_the_same(migrate: Migrate) -> None:
    old = migrate("0017_export_queries")
    study = old.get_model("experiment", "Study").objects.create(slug="s", title="S", briefing="B")
    people = old.get_model("experiment", "Participant").objects
    codes = [new_code(), new_code()]
    for code in codes:
        people.create(study=study, kind="real", consented_at=timezone.now(), withdrawal_code=code)
    people.create(study=study, kind="imported", withdrawal_code=new_code())

    migrate_to_newest()
    kept = Participant.objects.exclude(kind="imported")
    assert [person.withdrawal_code for person in kept] == codes
    assert [Participant.objects.with_code(code).get() for code in codes] == list(kept)
    assert Participant.objects.get(kind="imported").code_digest is None

    old = migrate("0017_export_queries")
    rows = old.get_model("experiment", "Participant").objects.order_by("pk")
    assert [row.withdrawal_code for row in rows][:2] == codes


def test_a_platforms_ends_become_the_first_channel_and_go_back(migrate: Migrate) -> None:
    studies = migrate("0021_withdrawal_policies").get_model("experiment", "Study").objects
    ends = {
        "completion_url": "https://a.example/{external_id}",
        "screen_out_url": "https://a.example",
    }
    given: dict[str, dict[str, str]] = {
        "panel": {"platform": "sona", "returns": "refuse", **ends},
        "code": {"completion_code": "C1"},
        "nothing": {},
    }
    for slug, values in given.items():
        studies.create(slug=slug, title=slug, briefing="B", **values)

    channels = migrate("0023_ends_of_channels_only").get_model("experiment", "Channel").objects
    shown = ("study__slug", "code", "platform", "returns", "completion_url", "completion_code")
    assert set(channels.values_list(*shown)) == {
        ("panel", "sona", "sona", "refuse", ends["completion_url"], ""),
        ("code", "plain", "plain", "resume", "", "C1"),
    }

    studies = migrate("0021_withdrawal_policies").get_model("experiment", "Study").objects
    for slug, values in given.items():
        row = studies.filter(slug=slug).values(*values) if values else []
        assert all(own == values for own in row)
    assert studies.get(slug="code").platform == ""


def test_fields_are_made_of_what_test_cases_name_with_who_curated_them(migrate: Migrate) -> None:
    old = migrate("0024_target_limits")
    item, study = old.get_model("experiment", "Item"), old.get_model("experiment", "Study")
    user, member = old.get_model("auth", "User"), old.get_model("experiment", "Membership")
    text = {"markup": "a [[b, c]]", "original": "a b", "altered": "a c", "status": "accepted"}
    named = {"x": ("Sleep!", "REM"), "y": ("Sleep!", ""), "z": ("sleep?", "REM"), "none": ("", "A")}
    items = {
        key: item.objects.create(key=key, field=field, subfield=subfield, **text)
        for key, (field, subfield) in named.items()
    }
    lab, elsewhere = (study.objects.create(slug=s, title=s, briefing="B") for s in ("l", "e"))
    old.get_model("experiment", "StudyItem").objects.create(study=lab, item=items["x"])
    roles = {"ruth": "researcher", "cora": "curator", "audi": "auditor"}
    for name, role in roles.items():
        member.objects.create(study=lab, user=user.objects.create(username=name), role=role)
    stranger = user.objects.create(username="stranger")
    member.objects.create(study=elsewhere, user=stranger, role="researcher")

    new = migrate("0026_fields_of_items")
    fields = new.get_model("experiment", "ResearchField").objects
    assert list(fields.order_by("name").values_list("name", "slug", "reviews_needed")) == [
        ("Sleep!", "sleep", 2),
        ("sleep?", "sleep-2", 2),
    ]
    subfields = new.get_model("experiment", "Subfield").objects
    assert set(subfields.values_list("field__slug", "name")) == {
        ("sleep", "REM"),
        ("sleep-2", "REM"),
    }
    people = new.get_model("experiment", "FieldMember").objects
    assert set(people.values_list("field__slug", "user__username", "role")) == {
        ("sleep", "ruth", "lead"),
        ("sleep", "cora", "curator"),
    }
