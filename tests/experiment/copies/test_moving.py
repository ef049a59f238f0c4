"""A site moves to the other kind of database and back: no row is lost on the way, and participants go on where they were."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from benchmarks.databases import scratch_postgres
from config.env import parse_database_url
from experiment.imports.store.demo import ensure_demo
from experiment.models import AuditEvent, Judgment, Participant, Study
from experiment.services.recounting import check
from experiment.simulation.run import Plan, ServiceDriver, simulate
from lib.backup.making import opened
from lib.backup.postgres import connected
from lib.backup.restoring import clear
from lib.migrated import is_migrated
from scoring.services.made_up import make_up
from scripts.with_postgres import with_programs
from tests.analysis.data.graded_rows import make_questions
from tests.analysis.data.scored import score
from tests.experiment.copies.conftest import Backup
from tests.experiment.http_client import run_until_killed
from tests.experiment.lab_client import run
from tests.experiment.people import AtPage, answer, finish, open_page, open_trial, start
from tests.factories import make_user

ODD_TEXT = "Tab\tline\nbackslash \\N \\. “quoted”, 🧠, é"
DETAILS: dict[str, Any] = {
    "zz": 1.0,
    "a": [1e16, -2.5e-07, 10**25, None, True],
    "é\\u0000": ODD_TEXT,
}


@pytest.fixture
def site(study: Study) -> Study:
    """People of each kind, questions, models' scores and grades, and values at which databases differ."""
    demo, _ = ensure_demo()
    plan = Plan(6, dropout=0.3, arrival="steady", accuracy=0.63, seed=1)
    for _ in simulate(demo, plan, partial(ServiceDriver, demo, demo.policy)):
        pass
    for n in range(3):
        score(demo, f"org/{n}", (2.0 + n / 3, 3.0))
    make_up(make_questions(8))
    person = Participant.objects.filter(study=study, stage="finished").get()
    Participant.objects.filter(pk=person.pk).update(comments=ODD_TEXT, plan=[["human", DETAILS]])
    make_user("ruth", study)
    Study.objects.filter(slug="quiz").update(pay_base="12.10", pay_bonus_amount="0.30")
    return study


def file_url(path: Path) -> str:
    return f"sqlite:///{path}"


def back_up(url: str, to: Path) -> Path:
    """A backup of the site whose database this is."""
    with opened(parse_database_url(url)):
        call_command("backup", output=to)
    [folder] = to.glob("brainbench-*")
    return folder


@time_machine.travel("2027-01-01", tick=False)
def exports(to: Path) -> dict[str, bytes]:
    """The files that the open database's site writes at one moment, by name."""
    to.mkdir()
    for study in Study.objects.order_by("slug"):
        place = str(to / study.slug)
        for kind in study.participants.order_by().values_list("kind", flat=True).distinct():
            for form in ("csv", "parquet"):
                output = f"{place}-{kind}.{form}"
                run("export_trials", study.slug, "--set", "all", "--kind", kind, "--format", form, "--output", output)  # fmt: skip
            run(
                "export_dataset",
                study.slug,
                "--set",
                "all",
                "--kind",
                kind,
                "--output",
                f"{place}-{kind}",
            )
        run("study_file", study.slug, "--write", f"{place}.json")
    return {
        str(path.relative_to(to)): path.read_bytes()
        for path in sorted(to.rglob("*"))
        if path.is_file()
    }


@time_machine.travel("2027-01-01", tick=False)
def report(slug: str, to: Path) -> bytes:
    run("report", slug, "--output", str(to), "--resamples", "50", "--formats", "svg")
    return (to / "report.json").read_bytes()


KILLED = """
import os, sys, django
django.setup()
from contextlib import contextmanager
from django.core.management import call_command
from django.utils.module_loading import import_string
from experiment.management.commands import restore
from lib.backup import moving

folder, where, least = sys.argv[1], sys.argv[2], int(sys.argv[3])
die = lambda *_: os.kill(os.getpid(), 9)

@contextmanager
def counted(**_):
    yield lambda step, done, total: step == where and done >= least and die()

moving.AT_ONCE = 100
restore.step_progress = counted
if "." in where:
    module, _, name = where.rpartition(".")
    setattr(import_string(module), name, die)
call_command("restore", folder, into_env="INTO", replace=True)
"""

READY = ("Comparing rows", 600)  # all rows are there
# Steps with so many rows done, and functions that are never done
PLACES = [
    ("Restoring the database", 0),
    ("Making the tables", 0),
    ("Copying rows", 0),
    ("Copying rows", 300),
    ("Copying rows", 900),
    ("Comparing rows", 0),
    READY,
    ("Migrating", 0),
    ("experiment.services.chores.withdraw_again", 0),
    ("lib.backup.restoring.{}", 0),  # it takes its place
]


def move(folder: Path, url: str, places: list[tuple[str, int]]) -> None:
    """Killed at each place, which leaves the earlier database as it is; and then to the end."""
    values = parse_database_url(url)
    with opened(values), connection.cursor() as cursor:
        cursor.execute("CREATE TABLE earlier (id integer)")
    if places == PLACES:
        call_command("restore", folder, into=url, verify=True)
    last = "take_place" if "postgres" in values["ENGINE"] else "sqlite.replace"
    for where, least in places:
        run_until_killed(
            KILLED,
            folder,
            where.format(last),
            least,
            INTO=url,
            VAR_DIR=str(folder.parent),
            WITHDRAWAL_KEY=settings.WITHDRAWAL_KEY,
        )
        with opened(values):
            assert connection.introspection.table_names() == ["earlier"], where
            assert not is_migrated()
    call_command("restore", folder, into=url, replace=True)
    with opened(values):
        assert "earlier" not in connection.introspection.table_names()
        if connection.vendor == "postgresql":  # which may have noticed the last kill only now
            with connected(connection.settings_dict) as admin:
                clear(admin, connection.settings_dict["NAME"])


@pytest.mark.postgres  # and an SQLite file beside it
def test_a_site_moves_there_and_back_with_equal_exports_and_its_participants(
    site: Study, backup: Backup, elsewhere: str, tmp_path: Path
) -> None:
    at_trial = open_trial(answer(start(site), until=2))
    at_debrief = open_page(site, "debrief")
    with connection.cursor() as cursor:  # as after rows that were deleted
        cursor.execute("SELECT setval('experiment_participant_id_seq', 10000)")
    before = exports(tmp_path / "before")
    there = file_url(tmp_path / "there.sqlite3")
    move(backup(), there, [READY])
    with opened(parse_database_url(there)):
        assert connection.vendor == "sqlite"
        assert exports(tmp_path / "there") == before
        # As only SQLite has them: keys in the order in which they were written, and a large float
        make_questions(4, "later")
        Participant.objects.filter(comments=ODD_TEXT).update(plan=[["human", DETAILS]])
        before = exports(tmp_path / "later")
        said = report("quiz", tmp_path / "report")
        move(back_up(there, tmp_path / "moved"), elsewhere, [READY])
    with opened(parse_database_url(elsewhere)):
        assert exports(tmp_path / "elsewhere") == before
        assert report("quiz", tmp_path / "report-elsewhere") == said
    for url in (there, elsewhere):
        with opened(parse_database_url(url)):
            moved = Participant.objects.get(comments=ODD_TEXT)
            assert moved.plan == [["human", DETAILS]]
            assert isinstance(moved.plan[0][1]["a"][0], float)
            go_on(at_trial, at_debrief)
            assert finish(site).pk > 10_000, "the key of a row that was deleted is not given again"
            with pytest.raises(DatabaseError, match="the audit trail never changes"):
                AuditEvent.objects.update(reason="another")
            assert is_migrated()
            assert not check(Study.objects.all())


@pytest.mark.sweep
def test_a_move_that_is_killed_at_any_place_leaves_what_was_there(
    site: Study, backup: Backup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", with_programs(os.environ["PATH"]))
    with scratch_postgres() as postgres:
        if postgres is None:
            pytest.skip("no PostgreSQL server can be had")
        urls = [file_url(tmp_path / "there.sqlite3"), postgres]
        first, second = urls if connection.vendor == "postgresql" else reversed(urls)
        move(backup(), first, PLACES)
        move(back_up(first, tmp_path / "moved"), second, PLACES)


def go_on(at_trial: AtPage, at_debrief: AtPage) -> None:
    """By the cookie and the page that they had before."""
    person = at_trial.person
    assert person is not None
    sent = at_trial.send()
    assert sent.status_code == 303, sent.content
    assert Participant.objects.get(pk=person.pk).position == person.position + 1
    assert Judgment.objects.filter(trial__participant=person).count() == 3
    assert at_debrief.send().status_code == 303
    assert at_debrief.person is not None
    assert Participant.objects.get(pk=at_debrief.person.pk).stage == "finished"
