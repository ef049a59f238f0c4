"""A result is computed once, stored whole, and computed by whoever may; a failed one says why and can be tried again."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from analysis import store
from analysis.data.filters import ReportOptions
from analysis.models import Computation
from analysis.report.services.save import save_report
from analysis.services import compute
from analysis.services.compute import Asked
from analysis.store import StoredResult
from experiment.models import Study
from lib.jobs import leases
from tests.analysis import results_stub as stub
from tests.analysis.results_stub import shown, url
from tests.factories import make_participant, make_study


class FakeProcess:
    """Takes the place of a process: `started` holds the jobs that one was started for."""

    def wait(self) -> int:
        return 0

    @classmethod
    def starting(cls, started: list[int]) -> Any:
        def start(command: list[str], **_: Any) -> "FakeProcess":
            started.append(int(command[-1]))
            return cls()

        return start


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("var_dir")]
HUMAN = ReportOptions(source="human")
MAKE = "analysis.report.services.make.make_report"


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("no people")

    monkeypatch.setattr(MAKE, fail)
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures)


def test_results_are_computed_again_only_when_data_options_or_code_change(
    ruth: Client, study: Study, computed: list[ReportOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        shown(ruth)
    assert len(computed) == 1
    shown(ruth, "?kind=real&source=human&now=1")  # the defaults, spelt out
    assert len(computed) == 1
    shown(ruth, "?trials=all&now=1")
    assert len(computed) == 2
    make_participant(study)
    shown(ruth)
    assert len(computed) == 3
    monkeypatch.setattr(compute, "code_digest", lambda *_: "other code")
    shown(ruth)
    assert len(computed) == 4


def test_a_report_on_all_sources_answers_for_each(
    ruth: Client, study: Study, computed: list[ReportOptions]
) -> None:
    whole = stub.report(study, ReportOptions())
    Asked(study, ReportOptions()).keep(lambda row: save_report(row, whole))
    assert "Humans against models" in shown(ruth, "?source=machine")
    values = ruth.get(url("results_report", query="?source=machine")).json()
    assert list(values["sources"]) == ["machine"]
    assert values["options"]["source"] == "machine"
    assert computed == []


def test_a_report_under_way_is_not_computed_twice(
    study: Study, computed: list[ReportOptions]
) -> None:
    row = Asked(study, HUMAN).row()
    assert leases.take(row) is not None  # another process is at it
    assert isinstance(Asked(study, HUMAN).ensure_computed(), compute.Waiting)
    assert computed == []


def test_however_many_questions_pages_show_a_few_of_a_study_wait_and_the_newest_take_the_oldests_place(
    study: Study, settings: Any
) -> None:
    settings.JOB_EXECUTOR = "celery"
    other = Asked(make_study("other"), HUMAN).row()
    asked = [Asked(study, ReportOptions(source="human", seed=seed)) for seed in range(1, 31)]
    begun = asked[0].row()
    assert leases.take(begun) is not None
    for each in asked:
        each.ensure_computed()
    newest = [each.rows.get(key=each.key) for each in asked[-compute.MOST_WAITING :]]
    assert [*Computation.objects.order_by("pk")] == [other, begun, *newest]
    again = asked[1].row()
    assert again.status == Computation.Status.WAITING
    assert [*leases.waiting(asked[1].rows)] == [*newest[1:], again]


@pytest.mark.usefixtures("failing")
def test_a_failure_says_why_and_is_tried_again_when_asked(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "ZeroDivisionError: no people" in ruth.get(url("results_live")).content.decode()
    assert "The results could not be computed" in shown(ruth)
    assert Computation.objects.get().status == Computation.Status.FAILED
    assert Asked(study, HUMAN).find() is None
    monkeypatch.setattr(MAKE, lambda study, options, progress=None: stub.report(study, options))
    assert "ZeroDivisionError" in shown(ruth), "It is not tried again automatically"
    assert ruth.post(url("results_retry")).status_code == 302
    assert "Humans against models" in shown(ruth)


def test_a_stopped_computation_says_so_and_waits_again_when_asked(
    ruth: Client, study: Study, computed: list[ReportOptions], settings: Any
) -> None:
    settings.JOB_EXECUTOR = "celery"
    waiting = Asked(study, HUMAN).ensure_computed()
    assert isinstance(waiting, compute.Waiting)
    assert not waiting.problem
    assert ruth.post(url("results_stop")).status_code == 302
    stopped = Asked(study, HUMAN).ensure_computed()
    assert isinstance(stopped, compute.Waiting)
    assert stopped.problem in shown(ruth)
    assert Computation.objects.get().status == Computation.Status.CANCELLED
    assert ruth.post(url("results_retry")).status_code == 302
    assert Computation.objects.get().status == Computation.Status.WAITING
    assert Asked(study, HUMAN).state() == replace(waiting, is_asked=True)


def test_failed_and_stopped_computations_go_with_the_oldest_results(
    study: Study, computed: list[ReportOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "KEPT_PER_STUDY", 1)
    for seed, status in enumerate(Computation.Status.values, start=1):
        row = Asked(study, ReportOptions(source="human", seed=seed)).row()
        Computation.objects.filter(pk=row.pk).update(status=status)
    last = Asked(study, HUMAN).ensure_computed()
    assert isinstance(last, StoredResult)
    others = Computation.objects.exclude(pk=last.computation.pk)
    assert {row.status for row in others} == set(Computation.OPEN_STATUSES)


def test_a_result_whose_files_are_gone_is_computed_again(
    study: Study, computed: list[ReportOptions]
) -> None:
    first = Asked(study, HUMAN).ensure_computed()
    assert isinstance(first, StoredResult)
    store.storage().delete(f"{first.computation.folder}/index.json")
    assert isinstance(Asked(study, HUMAN).ensure_computed(), StoredResult)
    assert len(computed) == 2


def test_many_trials_are_computed_by_one_process_at_a_time(
    ruth: Client, study: Study, computed: list[ReportOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(compute, "MAX_INLINE_TRIALS", 3)
    monkeypatch.setattr("lib.jobs.worker.subprocess.Popen", FakeProcess.starting(started))
    make_participant(study)
    for _ in range(2):
        assert "a separate process" in ruth.get(url("results_live")).content.decode()
    assert ruth.get(url("results_report", query="?trials=all")).status_code == 400
    assert "a separate process" in shown(ruth, "?trials=all&source=human&now=1")
    assert (len(started), computed) == (1, [])
    compute.run(Computation.objects.get(pk=started[0]))
    assert ruth.get(url("results_live")).status_code == 302
    shown(ruth, "?trials=all&source=human&now=1")
    assert len(started) == 2


def test_while_people_take_part_a_long_computation_is_not_started_over(
    ruth: Client, study: Study, computed: list[ReportOptions], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr(compute, "MAX_INLINE_TRIALS", 3)
    monkeypatch.setattr("lib.jobs.worker.subprocess.Popen", FakeProcess.starting(started))
    make_participant(study)
    ruth.get(url("results_live"))
    make_participant(study)
    ruth.get(url("results_live"))
    row = compute.run(Computation.objects.get())
    Computation.objects.update(started_at=timezone.now() - timedelta(minutes=1))
    assert "Humans against models" in shown(ruth, "")
    Computation.objects.update(
        started_at=timezone.now() - timedelta(hours=1),
        finished_at=timezone.now() - timedelta(minutes=40),
    )
    assert "Computing the results" in shown(ruth, "")
    ruth.get(url("results_live"))
    assert started[1:] == list(Computation.objects.exclude(pk=row.pk).values_list("pk", flat=True))


def test_the_page_says_which_step_it_is_at_and_for_how_long(
    ruth: Client, study: Study, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    make_participant(study)
    pages: list[str] = []

    def make(of: Study, options: ReportOptions, progress: compute.Progress) -> Any:
        for chapter in ("Accuracy", "Agreement"):
            progress(chapter)
        settings.JOB_EXECUTOR = "celery"  # where a page does not compute by itself
        pages.append(ruth.get(url()).text)
        return stub.report(of, options)

    monkeypatch.setattr(MAKE, make)
    monkeypatch.setattr("analysis.report.services.save.draw_all", stub.figures)
    shown(ruth)
    row = Computation.objects.get()
    assert (row.step, row.done) == ("Agreement", 1)
    assert f"Step 2 of {row.total}: Agreement" in pages[0]
    assert f'value="{100 // row.total}"' in pages[0]
    assert "so far" in pages[0]
