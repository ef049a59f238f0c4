"""The stored report and teams through the API: asking computes nothing, starting does."""

from typing import Any

import pytest

from analysis.data.filters import ReportOptions
from analysis.models import Computation
from analysis.report.report import json_schema
from experiment.models import AuditEvent, Study
from tests.api_client import Program, named, problem
from tests.factories import make_participant, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
ROOT = "studies/memory/"


@pytest.fixture
def program(study: Study) -> Program:
    return Program(make_user("program", study))


def test_asking_computes_nothing_and_says_what_would(
    program: Program, computed: list[ReportOptions]
) -> None:
    response = program.get(ROOT + "report/", source="human")
    assert problem(response) == (409, "not_computed")
    assert response.json()["start"].endswith("/studies/memory/report/start/?source=human")
    assert computed == []
    assert not Computation.objects.exists()


def test_a_report_that_was_started_is_the_one_that_the_page_shows(
    program: Program, ruth: Any, computed: list[ReportOptions]
) -> None:
    started = program.post(ROOT + "report/start/?source=human")
    assert (started.status_code, started.json()["state"]) == (202, "finished")
    found = program.client.get(started.json()["url"], headers=program.headers)
    assert found.status_code == 200
    of_page = ruth.get("/lab/studies/memory/results/report.json?source=human")
    assert found.json() == of_page.json()
    assert len(computed) == 1
    assert AuditEvent.objects.filter(action="work_started", actor="program").count() == 1


def test_the_schema_of_a_report_is_given_to_every_token(program: Program) -> None:
    found = program.get("schema/report/")
    assert (found.status_code, found.json()) == (200, json_schema())


def test_a_report_for_workers_is_under_way_until_it_is_stopped(
    program: Program, settings: Any
) -> None:
    settings.JOB_EXECUTOR = "celery"
    started = program.post(ROOT + "report/start/")
    assert (started.status_code, started.json()["state"]) == (202, "under_way")
    assert started["Retry-After"]
    waiting = program.get(ROOT + "report/")
    assert (waiting.status_code, waiting.json()) == (202, started.json())
    stopped = program.post(ROOT + "report/stop/")
    assert (stopped.status_code, stopped.json()["state"]) == (200, "stopped")
    assert problem(program.get(ROOT + "report/")) == (409, "stopped")


@pytest.mark.parametrize("name", ["report/", "report/start/", "teams/"])
def test_values_that_the_study_does_not_have_are_refused(program: Program, name: str) -> None:
    ask = program.post if name.endswith("start/") else program.get
    members = "&members=human" if name == "teams/" else ""
    assert named(ask(f"{ROOT}{name}?colour=red{members}")) == ["colour"]
    assert named(ask(f"{ROOT}{name}?source=martian{members}")) == ["source"]
    assert named(ask(f"{ROOT}{name}?trials=all&trials=analysed{members}")) == ["trials"]
    if name != "teams/":
        assert named(ask(f"{ROOT}{name}?models=gpt-9")) == [""]


def test_teams_take_a_way_of_combining_by_its_name(
    program: Program, study: Study, settings: Any
) -> None:
    settings.JOB_EXECUTOR = "celery"
    make_participant(study)
    started = program.post(f"{ROOT}teams/start/?members=human&method=majority")
    assert (started.status_code, Computation.objects.get().options["method"]) == (202, "majority")
