"""Trials, participants and exclusions through the API: the command's bytes, and nobody's identity."""

import csv
import io
import json
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from experiment.models import AuditEvent, Participant, Study, TrialExport
from experiment.services.export import jobs
from lib.jobs.models import LivingWorker
from lib.jobs.workers import Worker
from tests.api_client import Program, named, problem
from tests.experiment.lab_client import run
from tests.factories import make_participant, make_study, make_user
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
TRIALS = "studies/memory/trials/"


@pytest.fixture
def study() -> Study:
    study = make_study()
    for _ in range(2):
        make_participant(study)
    make_participant(study, excluded_by="missed_catch")
    make_participant(study, judged=2)
    return study


@pytest.fixture
def ruth(study: Study) -> Program:
    return Program(make_user("ruth", study))


def digest(content: bytes) -> str:
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"


@pytest.mark.parametrize(
    ("which", "kind"), [("analysis", "csv"), ("all", "jsonl"), ("all", "parquet")]
)
def test_a_file_is_what_the_command_writes(
    ruth: Program, tmp_path: Path, which: str, kind: str
) -> None:
    path = tmp_path / f"trials.{kind}"
    run("export_trials", "memory", "--set", which, "--format", kind, "--output", str(path))
    response = ruth.get(TRIALS, set=which, format=kind)
    content = response.getvalue()
    assert content == path.read_bytes()
    assert response["Content-Length"] == str(len(content))
    assert response["Repr-Digest"] == digest(content)
    event = AuditEvent.objects.filter(action="exported").last()
    assert (event.actor, event.details["sha256"]) == ("ruth", sha256(content).hexdigest())


@pytest.mark.django_db(transaction=True)  # a worker writes its progress beside the snapshot
def test_a_large_file_is_made_by_a_worker_and_never_half_of_it_is_sent(
    ruth: Program, study: Study, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    store_files_in(settings, tmp_path)
    direct = ruth.get(TRIALS, format="csv").getvalue()
    monkeypatch.setattr(jobs, "LARGE", 10)
    assert problem(ruth.get(TRIALS, format="csv")) == (503, "no_worker")
    LivingWorker.objects.create(
        name=str(Worker.of_this_process()), kinds=["experiment.trialexport"], beat_at=timezone.now()
    )
    waiting = ruth.get(TRIALS, format="csv")
    assert problem(waiting) == (503, "being_made")
    assert int(waiting["Retry-After"]) > 0
    jobs.run(TrialExport.objects.get())
    response = ruth.get(TRIALS, format="csv")
    assert response.getvalue() == direct
    assert response["Repr-Digest"] == digest(direct)
    TrialExport.objects.update(status="failed", error="The disk is full.")
    assert problem(ruth.get(TRIALS, format="csv")) == (409, "not_made")


@pytest.mark.parametrize(
    "query",
    [
        {"set": "all"},
        {"set": "analysis", "source": ["machine"]},
        {"set": "all", "reason": "missed_catch"},
        {"status": "trial"},
        {"from": "2026-03-02", "to": "2026-03-02"},
    ],
)
def test_pages_hold_the_rows_of_the_file(ruth: Program, query: dict[str, Any]) -> None:
    rows = ruth.all_pages(TRIALS, limit=3, **query)
    lines = ruth.get(TRIALS, format="jsonl", **query).getvalue().splitlines()
    assert rows == [json.loads(line) for line in lines]
    assert rows


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ({"rules": "7"}, "rules"),
        ({"item": "nothing"}, "item"),
        ({"set": "analysis", "reason": "too_fast"}, "reason"),
        ({"ordering": "rt_ms"}, "ordering"),
        ({"external_id": "P1"}, "external_id"),
        ({"cursor": "x"}, "cursor"),
    ],
)
def test_a_filter_that_is_not_meant_is_named(
    ruth: Program, query: dict[str, Any], name: str
) -> None:
    assert named(ruth.get(TRIALS, **query)) == [name]


def test_pages_of_somebody_who_is_gone_do_not_end_in_silence(ruth: Program, study: Study) -> None:
    after = ruth.get(TRIALS, limit=1).json()
    person = Participant.objects.get(public_id=after["results"][0]["participant"])
    Participant.objects.filter(pk=person.pk).update(public_id="0" * 32)
    assert named(ruth.client.get(after["next"], headers=ruth.headers)) == ["cursor"]


@pytest.mark.parametrize(
    ("path", "first", "other_path", "other"),
    [
        ("trials/", {"source": "machine"}, "trials/", {}),
        ("trials/", {"set": "analysis"}, "trials/", {"set": "all"}),
        ("participants/", {}, "participants/", {"valid": "true"}),
        ("participants/", {}, "exclusions/", {}),
        ("participants/", {}, "participants/", {"ordering": "-entered"}),
    ],
)
def test_a_cursor_opens_no_other_query_than_its_own(
    ruth: Program, path: str, first: dict[str, str], other_path: str, other: dict[str, str]
) -> None:
    root = "studies/memory/"
    link = ruth.get(root + path, limit=1, **first).json()["next"]
    cursor = parse_qs(urlsplit(link).query)["cursor"][0]
    assert ruth.get(root + path, limit=2, cursor=cursor, **first).status_code == 200
    assert named(ruth.get(root + other_path, cursor=cursor, **other)) == ["cursor"]


@pytest.mark.parametrize("path", ["trials/", "participants/"])
def test_a_list_is_read_on_by_the_token_that_began_and_for_a_day(
    ruth: Program, study: Study, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trail names who began; nobody else goes on, and nobody later, with what it does not tell."""

    def read_on(link: str, program: Program = ruth) -> Any:
        return program.client.get(link, headers=program.headers)

    link = ruth.get(f"studies/memory/{path}", limit=1).json()["next"]
    user = get_user_model().objects.get(username="ruth")
    for other in (Program(user), Program(make_user("vera", study))):
        assert named(read_on(link, other)) == ["cursor"]
    assert AuditEvent.objects.filter(action="exported").count() == 1
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=23))
    link = read_on(link).json()["next"]
    monkeypatch.setattr(timezone, "now", lambda: now + timedelta(hours=25))
    told = read_on(link)
    assert named(told) == ["cursor"]
    assert "a day ago" in told.json()["detail"]


@pytest.mark.parametrize("path", ["participants/", "exclusions/"])
def test_people_who_are_taken_away_are_in_the_trail(ruth: Program, path: str) -> None:
    exported = AuditEvent.objects.filter(action="exported", actor="ruth", study="memory")
    address = f"/api/v1/studies/memory/{path}"
    for kind in ("csv", "jsonl", "parquet"):
        ruth.get(f"studies/memory/{path}", format=kind, kind="real").getvalue()
        assert exported.last().details == {"query": f"{address}?kind=real", "format": kind}
    ruth.all_pages(f"studies/memory/{path}", limit=1)
    assert exported.count() == 4  # once for all pages
    assert exported.last().details == {"query": f"{address}?", "format": "json"}


def test_participants_and_whom_rules_leave_out(ruth: Program, study: Study) -> None:
    path = "studies/memory/participants/"
    people = ruth.all_pages(path, limit=1)
    assert [row["excluded_by"] for row in people] == ["", "", "missed_catch", "not_finished"]
    assert len(ruth.all_pages(path, valid="true")) == 2
    out = ruth.all_pages("studies/memory/exclusions/")
    assert [row["participant"] for row in out] == [row["participant"] for row in people[2:]]
    for reason, row in zip(("missed_catch", "not_finished"), people[2:], strict=True):
        found = ruth.all_pages("studies/memory/exclusions/", reason=reason)
        assert [r["participant"] for r in found] == [row["participant"]]
    # They say of a person what the trials' export says
    text = ruth.get(TRIALS, format="csv").getvalue().decode()
    exported = {r["participant"]: r for r in csv.DictReader(io.StringIO(text))}
    table = ruth.get(path, format="csv").getvalue().decode()
    for row in csv.DictReader(io.StringIO(table)):
        trial = exported[row["participant"]]
        for column in ("kind", "stage", "recruitment_source", "age", "country", "position_held"):
            assert row[column] == trial[column]
        assert row["excluded_by"] == trial["participant_excluded_by"]


def test_nothing_tells_who_a_participant_is(ruth: Program, study: Study) -> None:
    person = Participant.objects.first()
    Participant.objects.update(comments="It was me.")
    for path in ("participants/", "exclusions/", "trials/", ""):
        told = ruth.get(f"studies/memory/{path}").text
        assert person.withdrawal_code not in told
        assert str(person.enrollment_key) not in told
        assert "It was me." not in told
