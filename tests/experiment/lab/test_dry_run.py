"""Dry runs: asked for on a page, worked off through the real services, and what their pages say."""

import csv
import io
from dataclasses import asdict
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from experiment.domain.forecast import Simulated
from experiment.models import Advice, AdvisedTrial, Adviser, AuditEvent, DryRun, Participant, Study
from experiment.services import work as services
from experiment.services.counts import study_length
from experiment.services.study_setup import set_recruitment
from experiment.simulation import dry_run as work
from experiment.simulation.run import count_flow
from lib.formatting import points
from tests.experiment.lab_client import run_json
from tests.factories import (
    make_adviser,
    make_arms,
    make_item,
    make_participant,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
ASKED = {
    "finishers": "6",
    "dropout_percent": "50",
    "arrival": "steady",
    "follow_percent": "40",
    "seed": "3",
    "target": "60",
    "per_day": "10",
    "pay": "3.50",
    "pay_per": "participant",
    "currency": "EUR",
    "fee_percent": "10",
}
FEW = {"finishers": "6", "dropout_percent": "0"}


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def asked(ruth: Client, study: Study) -> DryRun:
    response = ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED)
    assert response.status_code == 302
    return DryRun.objects.get()


def planted(study: Study) -> None:
    """An adviser that needs no model, explained as it must be."""
    make_adviser(study, kind="planted", source="", planted_accuracy=0.7)
    study.debriefing = "The advice was made up."
    study.save()


def text(client: Client, dry_run: DryRun) -> str:
    response = client.get(reverse("lab:dry_run", args=[dry_run.study.slug, dry_run.pk]))
    assert response.status_code == 200
    return response.text


def test_the_page_forecasts_what_the_simulated_rows_say_and_gives_the_sample_out(
    ruth: Client, asked: DryRun, study: Study
) -> None:
    real, earlier = make_participant(study), make_participant(study, kind="simulated")
    assert "Waiting for the worker" in text(ruth, asked)
    job = work.run(asked)
    flow, found = count_flow(study), job.found
    assert found is not None
    assert (job.status, job.done) == ("finished", job.total)
    assert (found.started, found.finished, found.valid) == (flow.started, 6, flow.valid)
    assert found.excluded in ({"missed_catch": 1}, {"admitted_cheating": 1})
    n_items = {stratum: len(counts) for stratum, counts in found.exposures.items()}
    assert n_items == {"human": 8, "machine": 4, "catch": 3}
    assert sum(sum(counts) for counts in found.exposures.values()) <= flow.valid * study.n_trials
    told = study_length(study)
    assert found.minutes == (told.minutes[0], told.typical, told.minutes[1])
    # People stay, and earlier simulated ones go
    assert Participant.objects.filter(pk=real.pk).exists()
    assert not Participant.objects.filter(pk=earlier.pk).exists()
    shown = text(ruth, asked)
    assert "Participants who must start" in shown
    assert "data-live-url" not in shown
    response = ruth.get(reverse("lab:dry_run_sample", args=[study.slug, asked.pk]))
    rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))
    assert len(rows) == found.trials
    assert {row["kind"] for row in rows} == {"simulated"}


def test_a_study_with_advice_gets_the_power_of_its_reports_test(ruth: Client, study: Study) -> None:
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    planted(study)
    ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED | FEW | {"target": "60"})
    job = work.run(DryRun.objects.get())
    assert job.error == ""
    human, machine = job.found.arms
    assert (human.source, human.first, human.second) == ("human", "alone", "advised")
    # Eight test cases are judged by 30 people in each arm; four are too few for a verdict
    assert (human.n_clusters, machine.n_clusters) == (8, 4)
    assert 0.1 < human.detectable[0] < human.detectable[1] < 0.6
    assert machine.detectable is None
    right = Advice.objects.filter(item__source="human", picks_original=True).count() / 8
    assert human.difference == pytest.approx(0.4 * (right - work.ACCURACY))
    shown = text(ruth, job)
    assert "Differences between arms" in shown
    assert "The adviser had no advice" not in shown
    assert points(human.difference) in shown
    assert "too few to say" in shown


def test_the_power_between_arms_does_not_depend_on_who_was_simulated(
    ruth: Client, study: Study
) -> None:
    """It was 8 to 37 points in six seeds of one design."""
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    planted(study)
    found = []
    for seed, finishers in (("1", "4"), ("2", "6")):
        asked = ASKED | FEW | {"seed": seed, "finishers": finishers}
        ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), asked)
        found.append(work.run(DryRun.objects.order_by("-pk")[0]).found.arms)
    assert found[0] == found[1]


def test_some_advised_trials_make_two_conditions_named_as_the_report_names_them(
    ruth: Client, study: Study
) -> None:
    make_arms(
        study,
        {"name": "some", "advice": "after", "advised_items": 3},
        {"name": "all", "advice": "before", "share": 2},
    )
    planted(study)
    ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED | FEW)
    found = work.run(DryRun.objects.get()).found.arms
    assert {(one.first, one.second) for one in found if one.source == "human"} == {
        ("some, without advice", "some, advice after an answer"),
        ("some, without advice", "all"),
    }


def test_arms_without_advice_have_no_power_and_the_page_says_why(
    ruth: Client, study: Study
) -> None:
    make_arms(study)
    ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED | FEW)
    job = work.run(DryRun.objects.get())
    assert job.found.arms == ()
    assert "compares arms only if at least one of them has advice" in text(ruth, job)


def test_a_dry_run_of_an_earlier_version_is_still_shown(ruth: Client, asked: DryRun) -> None:
    found = asdict(Simulated(6, 6, 6, (5, 6, 7), {}, {}, 30)) | {"contrasts": [{"first": "a"}]}
    DryRun.objects.update(result=found)
    assert "Participants who must start" in text(ruth, asked)


def test_a_dry_run_of_other_pages_than_participants_will_see_is_refused_with_what_is_missing(
    ruth: Client, study: Study
) -> None:
    address = reverse("lab:dry_run_ask", args=[study.slug])
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    made_up = {"kind": "planted", "source": "", "planted_accuracy": 0.7, "is_frozen": False}
    for said, then in (
        ("the study has no adviser", lambda: make_adviser(Study.objects.get(), is_frozen=False)),
        ("has not judged 12 test cases", lambda: Adviser.objects.all().delete()),
        ("the study has no adviser", lambda: make_adviser(Study.objects.get(), **made_up)),
        ("the advice is made up", lambda: Study.objects.update(debriefing="It was made up.")),
    ):
        page = ruth.get(reverse("lab:dry_runs", args=[study.slug]))
        refused = ruth.post(address, ASKED | FEW)
        assert (refused.status_code, said in page.text, said in refused.text) == (422, True, True)
        with pytest.raises(CommandError, match=said):
            call_command("simulate_participants", study.slug)
        then()
    Advice.objects.all().delete()
    ruth.post(address, ASKED | FEW)
    job = work.run(DryRun.objects.get())
    assert job.found is not None
    assert not job.found.lacks_advice
    assert AdvisedTrial.objects.exists()


def test_a_dry_run_says_on_how_many_test_cases_it_had_no_advice(ruth: Client, study: Study) -> None:
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    planted(study)
    set_recruitment(study, "open")
    Study.objects.update(recruitment="closed", version=1)
    study.study_items.create(item=make_item("later"))
    study.refresh_from_db()
    told = run_json("simulate_participants", study.slug, "--finish", "2", "--dropout", "0")
    assert told["without_advice"] == 1
    ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED | FEW)
    job = work.run(DryRun.objects.get())
    assert "Simulated participants saw no advice on some test cases" in text(ruth, job)


@pytest.mark.parametrize("percent", [0, 100])
def test_simulated_participants_follow_advice_as_often_as_stated(
    ruth: Client, study: Study, percent: int
) -> None:
    make_arms(study, {"name": "alone"}, {"name": "advised", "advice": "after"})
    planted(study)
    asked = ASKED | FEW | {"follow_percent": str(percent)}
    ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), asked)
    job = work.run(DryRun.objects.get())
    rows = AdvisedTrial.objects.filter(trial__judgment__isnull=False)
    assert any(row.first_side != row.advice_side for row in rows)
    for row in rows:
        assert row.trial.judgment.side == (row.advice_side if percent else row.first_side)
    assert f"follow advice in {percent}% of their advised trials" in text(ruth, job)


def test_stopping_at_work_removes_whom_it_simulated(
    ruth: Client, asked: DryRun, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate = work.simulate

    def stopped_midway(*arguments: Any) -> Any:
        for done in simulate(*arguments):
            ruth.post(reverse("lab:dry_run_stop", args=[study.slug, asked.pk]))
            yield done

    monkeypatch.setattr("experiment.simulation.run.PAGES_PER_COMMIT", 20)
    monkeypatch.setattr(work, "simulate", stopped_midway)
    assert work.run(asked).status == "cancelled"
    assert not study.participants.exists()
    assert "The dry run was stopped" in text(ruth, asked)
    assert [event.action for event in AuditEvent.objects.filter(study=study.slug)][-2:] == [
        "work_started",
        "work_stopped",
    ]


def test_a_failure_leaves_no_simulated_participants(
    asked: DryRun, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(work, "export_trials", fails)
    with pytest.raises(OSError, match="disk full"):
        work.run(asked)
    asked.refresh_from_db()
    assert (asked.status, study.participants.count()) == ("failed", 0)


def test_one_at_a_time(ruth: Client, asked: DryRun, study: Study) -> None:
    response = ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), ASKED)
    assert response.status_code == 422
    assert "A dry run of this study is in progress" in response.text
    with pytest.raises(CommandError, match="under way"):
        call_command("simulate_participants", study.slug)
    make_participant(study, kind="simulated")
    ruth.post(reverse("lab:dry_run_remove", args=[study.slug]))
    assert study.participants.count() == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("finishers", "0"),
        ("dropout_percent", "91"),
        ("arrival", "never"),
        ("currency", "euros"),
        ("pay", "NaN"),
    ],
)
def test_impossible_values_are_refused_beside_their_field(
    ruth: Client, study: Study, name: str, value: str
) -> None:
    response = ruth.post(reverse("lab:dry_run_ask", args=[study.slug]), {**ASKED, name: value})
    assert response.status_code == 422
    assert response.context["form"].errors.keys() == {name}
    assert not DryRun.objects.exists()


def test_only_the_newest_are_kept_with_their_samples(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "KEPT_PER_STUDY", 1)
    by = make_user("rita", study)
    first = work.run(services.ask_dry_run(study, by, finishers=1, dropout_percent=0))
    work.run(services.ask_dry_run(study, by, finishers=1, dropout_percent=0))
    third = services.ask_dry_run(study, by, finishers=1, dropout_percent=0)
    assert not study.dry_runs.filter(pk=first.pk).exists()
    assert not services.sample_storage().exists(first.path)
    assert study.dry_runs.count() == 2
    assert third.found is None
