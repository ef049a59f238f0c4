"""The export page: what it shows is what the file, the command and the worker hold."""

import csv
import io
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from lxml import html

from experiment.domain.export_columns import IDENTITY_COLUMNS
from experiment.models import AuditEvent, Participant, Study, TrialExport
from lib.jobs.models import LivingWorker
from lib.jobs.workers import Worker
from tests.factories import make_participant, make_study, recruited
from tests.storages import store_files_in

pytestmark = pytest.mark.django_db
PAGE, FILE = (reverse(f"lab:{name}", args=["memory"]) for name in ("export", "export_download"))


@pytest.fixture
def study() -> Study:
    study = make_study()
    make_participant(study, demographics={"position": "<b>naïve</b>"})
    make_participant(study, excluded_by="missed_catch")
    recruited(make_participant(study, judged=4), "5f3a-secret")
    study.items.filter(key__endswith="2").update(subfield="Systems/Circuits")
    return study


QUERIES = [
    "set=all&source=machine&subfield=Systems%2FCircuits",
    "set=all&reason=missed_catch&reason=not_finished",
    "set=all&status=trial&from=2026-03-02&to=2026-03-02",
    "set=analysis&item=memory-human-1%0D%0Amemory-human-2%0D%0A",
    "set=all&recognised=false&from=&to=&rules=&channel=",
]


@pytest.mark.parametrize(
    ("query", "form"),
    [
        ("set=all", "csv"),
        ("set=all", "csv&bom=true"),
        ("set=analysis", "jsonl"),
        *((query, "csv") for query in QUERIES),
    ],
)
def test_count_file_and_command_agree(
    ruth: Client, study: Study, query: str, form: str, tmp_path: Path
) -> None:
    shown = ruth.get(f"{PAGE}?{query}&format={form}")
    assert shown.status_code == 200
    assert "<b>naïve" not in shown.text
    content = ruth.get(f"{FILE}?{shown.context['form'].address}").getvalue()
    n_lines = content.count(b"\n") - (0 if form == "jsonl" else 1)
    assert shown.context["n_rows"] == n_lines > 0
    if form == "csv":
        rows = list(csv.reader(io.StringIO(content.decode())))
        assert [shown.context["names"], *shown.context["rows"]] == rows[: 1 + 10]
    command = shlex.split(shown.context["command"])
    assert command[:2] == ["manage.py", "export_trials"]
    path = tmp_path / command[-1]
    call_command(*command[1:-1], str(path), stdout=io.StringIO())
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("set=none", "set"),
        ("from=tomorrow", "since"),
        ("item=nothing", "item"),
        ("format=parquet&bom=true", "bom"),
        ("release=true&k=1", "k"),
        ("k=5", "k"),
        ("release=false&words=true", "words"),
        ("colour=red", "__all__"),
    ],
)
def test_an_invalid_query_is_reported_at_its_field_and_exports_nothing(
    ruth: Client, query: str, name: str
) -> None:
    shown = ruth.get(f"{PAGE}?{query}")
    assert shown.status_code == 400
    assert list(shown.context["form"].errors) == [name]
    assert "Nothing is shown or exported" in shown.text
    response = ruth.get(f"{FILE}?{query}", follow=True)
    assert (response.status_code, response["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert not AuditEvent.objects.filter(action="exported").exists()


def test_ticked_boxes_are_sent_as_the_address_has_them(ruth: Client, study: Study) -> None:
    forms = html.document_fromstring(ruth.get(PAGE).text).forms
    form = next(one for one in forms if "release" in one.fields)
    ticked = {"bom", "zip", "release"}
    for name in ticked:
        form.inputs[name].checked = True
    sent = [(name, value) for name, value in form.form_values() if name in ticked]
    shown = ruth.get(f"{PAGE}?{urlencode(sent)}&k=5")
    assert shown.status_code == 200
    assert (shown.context["form"].form.bom, shown.context["form"].form.k) == (True, 5)
    assert shown.text.count("checked") >= 3


def test_a_release_from_page_and_command_leaves_out_who_somebody_is(
    ruth: Client, study: Study, tmp_path: Path
) -> None:
    shown = ruth.get(f"{PAGE}?set=all&release=true&k=3")
    content = ruth.get(f"{FILE}?set=all&release=true&k=3").getvalue()
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert list(rows[0]) == shown.context["names"]
    assert not {"published_id", "consented_at", "seed"} & set(rows[0])
    assert {row["country"] for row in rows} == {"suppressed"}
    command, path = shlex.split(shown.context["command"]), tmp_path / "release.csv"
    call_command(*command[1:-1], str(path), stdout=io.StringIO())
    assert path.read_bytes() == content


def test_a_release_that_leaves_nothing_says_so_and_which_groups_would_leave_some(
    ruth: Client, study: Study, tmp_path: Path
) -> None:
    people = study.participants.filter(kind="real")
    assert people.count() > 1
    alike = {"country": "GB", "age": "30", "gender": "female"}
    people.update(demographics=alike)
    n = people.count()
    said = f"groups of at least {n + 1} are asked for. Groups of at least {n} leave some answers."
    address = f"set=all&kind=real&release=true&k={n + 1}"
    assert said in ruth.get(f"{PAGE}?{address}").text
    assert "leave some answers" not in ruth.get(f"{PAGE}?set=all&kind=real&release=true&k={n}").text
    errors = io.StringIO()
    options = ["--set", "all", "--kind", "real", "--release", "--k", str(n + 1)]
    path = tmp_path / "trials.csv"
    call_command("export_trials", "memory", *options, "--output", str(path), stderr=errors)
    assert said in errors.getvalue()
    for person in people:
        people.filter(pk=person.pk).update(demographics={"country": "GB", "gender": str(person.pk)})
    assert "No other size of groups" in ruth.get(f"{PAGE}?{address}").text


def test_each_download_is_in_the_audit_trail(ruth: Client, study: Study) -> None:
    ruth.get(f"{FILE}?set=analysis&source=human").getvalue()
    event = AuditEvent.objects.get(action="exported")
    assert (event.actor, event.study) == ("ruth", "memory")
    assert event.details["query"] == "set=analysis&kind=real&source=human"
    assert (event.details["rows"], len(event.details["sha256"])) == (6, 64)
    assert event.details["format"] == "csv"
    assert "release" not in event.details
    form = {"bom": "true", "zip": "true", "release": "true", "k": "3", "words": "true"}
    ruth.get(f"{FILE}?set=analysis&{urlencode(form)}").getvalue()
    details = AuditEvent.objects.filter(action="exported").latest("pk").details
    assert form.items() <= details.items()


def test_the_page_costs_the_same_with_more_participants(ruth: Client, study: Study) -> None:
    def n_queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            ruth.get(f"{PAGE}?set=analysis&reason=")
        return len(seen)

    ruth.get(PAGE)
    before = n_queries()
    for _ in range(4):
        make_participant(study)
    assert n_queries() == before


def test_a_large_export_is_for_a_worker_and_the_page_says_if_none_lives(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr("experiment.services.export.jobs.LARGE", 10)
    store_files_in(settings, tmp_path)
    assert ruth.get(f"{FILE}?item=memory-human-2").getvalue().startswith(b"study,")  # is small
    assert "No worker is running" in ruth.get(FILE, follow=True).text
    LivingWorker.objects.create(
        name=str(Worker.of_this_process()),
        kinds=["experiment.trialexport"],
        beat_at=timezone.now(),
    )
    assert "No worker is running" not in ruth.get(FILE, follow=True).text
    response = ruth.get(f"{FILE}?format=parquet")
    job = TrialExport.objects.latest("pk")
    assert response["Location"] == reverse("lab:export_job", args=["memory", job.pk])
    assert (job.query, job.form.format) == ("set=all&kind=real", "parquet")


def test_ids_and_comments_are_exported_by_pseudonym_for_a_reason(
    ruth: Client, study: Study
) -> None:
    Participant.objects.filter(excluded_by="missed_catch").update(comments="=1+1, thanks")
    address = reverse("lab:export_identities", args=["memory"])
    assert "Explain why" in ruth.post(address, {"reason": "  "}, follow=True).text
    assert not AuditEvent.objects.filter(action="ids_exported").exists()
    response = ruth.post(address, {"reason": " To pay them. "})
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert list(rows[0]) == [column.name for column in IDENTITY_COLUMNS]
    people = [str(person.public_id) for person in study.participants.order_by("pk")]
    assert [row["participant"] for row in rows] == people[1:]
    assert [row["comments"] for row in rows] == ["'=1+1, thanks", ""]
    assert [row["external_id"] for row in rows] == ["", "5f3a-secret"]
    event = AuditEvent.objects.get(action="ids_exported")
    assert (event.actor, event.reason, event.details["rows"]) == ("ruth", "To pay them.", 2)
    assert "5f3a" not in str(event.details)


def test_the_page_begins_with_the_trials_that_results_count(ruth: Client, study: Study) -> None:
    assert ruth.get(PAGE).context["form"].query.set == "analysis"
    of_reason = ruth.get(PAGE, {"reason": "missed_catch"}).context["form"]
    assert (of_reason.query.set, of_reason.errors) == ("all", {})


def test_the_waiting_page_of_an_export_that_is_gone_leads_to_a_new_one(ruth: Client) -> None:
    response = ruth.get(reverse("lab:export_job", args=["memory", 10**6]))
    assert response.status_code == 404
    page = html.document_fromstring(response.text)
    assert page.xpath(f"//*[@id='live-export']//a[@href='{PAGE}']")
