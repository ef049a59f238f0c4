"""A Celery worker's treatment of a message, and of runs that have no message any more."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.celery import QUEUE, app, transport_options
from experiment.models import Study
from lib.jobs import leases, tasks
from lib.jobs.queue import n_sent, send
from lib.jobs.tasks import Requeuer
from scoring.models import ScoringRun
from scoring.services import execute as execution
from scoring.services.execute import execute
from scoring.services.open_model import OneModel
from tests.factories import make_user
from tests.scoring.lab.rows import ask
from tests.scoring.made_runs import scores
from tests.scoring.ngram_backend import NgramBackend

pytestmark = pytest.mark.django_db
NOBODY = "redis://127.0.0.1:1/0"  # a port at which nothing listens


def use_broker(url: str, folder: Path) -> None:
    options = transport_options(url, QUEUE, folder)
    app.conf.update(broker_url=url, broker_transport_options=options)


@pytest.fixture(autouse=True)
def broker(tmp_path: Path) -> Iterator[None]:
    """Messages are files in a folder of the test's own, and no one reads them."""
    before = app.conf.broker_url, app.conf.broker_transport_options
    use_broker("filesystem://", tmp_path / "celery")
    yield
    app.conf.update(broker_url=before[0], broker_transport_options=before[1])


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[NgramBackend]:
    """The models that the worker opens: small ones, which load no torch."""
    backends: list[NgramBackend] = []

    def open_backend(kind: str, args: Mapping[str, str]) -> NgramBackend:
        backends.append(NgramBackend())
        return backends[-1]

    monkeypatch.setattr("scoring.services.open_model.open_backend", open_backend)
    monkeypatch.setattr(execution, "models", OneModel())
    monkeypatch.setattr(execution, "PAIRS_PER_SLICE", 4)
    return backends


def waiting(study: Study, name: str = "bigrams", **fields: Any) -> ScoringRun:
    return ask(study, name, batch_tokens=400, **fields)


def look_at(pk: int) -> None:
    tasks.work("scoring.scoringrun", pk)


def keys(requeuer: Requeuer) -> list[int]:
    return [pk for _, pk in requeuer.requeue()]


# A message


def test_a_run_is_scored_slice_by_slice_and_each_sends_for_the_next(
    study: Study, opened: list[NgramBackend]
) -> None:
    whole = execute(waiting(study, "whole"), backend=NgramBackend())
    run, done = waiting(study), []
    while not done or run.status == "waiting":
        look_at(run.pk)
        run.refresh_from_db()
        done.append(run.done)
        assert n_sent("scoring.scoringrun") == (
            len(done) if run.status == "waiting" else len(done) - 1
        )
    assert done == [4, 8, 12]
    assert (run.status, scores(run)) == ("finished", scores(whole))
    assert len(opened) == 1


def test_a_message_for_what_is_over_does_nothing(study: Study, opened: list[NgramBackend]) -> None:
    run = waiting(study)
    ScoringRun.objects.update(status="finished")
    look_at(run.pk)
    look_at(run.pk + 1)  # and one that was deleted
    run.refresh_from_db()
    assert (run.status, run.done, opened, n_sent("scoring.scoringrun")) == ("finished", 0, [], 0)


def test_after_a_failure_that_nobody_foresaw_the_model_is_opened_anew(
    study: Study, opened: list[NgramBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: NgramBackend, groups: object) -> Any:
        raise ZeroDivisionError("by zero")

    run, after = waiting(study), waiting(study, prompt="clean")
    with monkeypatch.context() as patch:
        patch.setattr(NgramBackend, "score", fail)
        with pytest.raises(ZeroDivisionError):
            look_at(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error) == ("failed", "ZeroDivisionError: by zero")
    look_at(after.pk)
    after.refresh_from_db()
    assert (after.done, [backend.is_closed for backend in opened]) == (4, [True, False])


# Runs without a message


def forgotten(study: Study, name: str) -> ScoringRun:
    """A run whose worker, elsewhere, has been silent for too long."""
    run = waiting(study, name)
    silent = timezone.now() - timedelta(hours=1)
    state = {"status": "running", "worker": f"elsewhere:1:1.1:{name}", "heartbeat_at": silent}
    ScoringRun.objects.filter(pk=run.pk).update(**state)
    return run


def test_where_no_message_is_on_its_way_all_that_can_be_worked_on_is_sent_for(
    study: Study, opened: list[NgramBackend]
) -> None:
    gone, first, second = forgotten(study, "aaaa"), waiting(study), waiting(study, "other")
    over = waiting(study, "over")
    ScoringRun.objects.filter(pk=over.pk).update(status="finished")
    requeuer = Requeuer(send, n_sent)
    assert keys(requeuer) == [gone.pk, first.pk, second.pk]
    assert n_sent("scoring.scoringrun") == 3
    assert keys(requeuer) == []  # they are on their way
    assert n_sent("scoring.scoringrun") == 3


def test_a_run_whose_worker_is_gone_is_sent_for_once_whatever_else_is_on_its_way(
    study: Study,
) -> None:
    waiting(study)
    sent: list[int] = []
    requeuer = Requeuer(lambda kind, pk: sent.append(pk), lambda kind: 7)
    assert keys(requeuer) == []
    gone = forgotten(study, "aaaa")
    assert [keys(requeuer), keys(requeuer)] == [[gone.pk], []]
    ScoringRun.objects.filter(pk=gone.pk).update(worker="elsewhere:2:2.2:bbbb")  # and gone again
    assert [keys(requeuer), keys(requeuer)] == [[gone.pk], []]
    assert sent == [gone.pk, gone.pk]


@pytest.mark.django_db(transaction=True)
def test_a_requeuer_outlives_a_broker_and_a_database_that_are_away(
    caplog: pytest.LogCaptureFixture, settings: Any
) -> None:
    settings.JOB_STALE_SECONDS = 0.01
    tries: list[int] = []

    def away(kind: str) -> int:
        tries.append(1)
        if len(tries) == 3:
            requeuer.stop()
        raise ConnectionRefusedError("no one listens")

    requeuer = Requeuer(send, away)
    thread = requeuer.start()
    thread.join(timeout=30)
    assert (len(tries), thread.is_alive()) == (3, False)
    assert caplog.text.count("Could not look for forgotten jobs: no one listens") == 3


# From a page


@pytest.fixture
def ruth(client: Client, study: Study, settings: Any) -> Client:
    settings.JOB_EXECUTOR = "celery"
    client.force_login(make_user("ruth", study))
    return client


def queue(ruth: Client) -> str:
    fields = {"model": "hf", "model_args": "pretrained=a", "conditions": ["full", "isolated"]}
    response = ruth.post(
        reverse("lab:scoring_queue", args=["memory"]), fields | {"prompt": "paper"}, follow=True
    )
    assert response.status_code == 200
    return response.content.decode()


def test_workers_get_messages_of_queued_runs_once_the_rows_are_there(
    ruth: Client, django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        page = queue(ruth)
        assert n_sent("scoring.scoringrun") == 0
    assert n_sent("scoring.scoringrun") == 2
    assert "No worker is running" in page  # none lives in this test
    run = ScoringRun.objects.first()
    assert run is not None
    leases.request_cancel(run)
    with django_capture_on_commit_callbacks(execute=True):
        ruth.post(reverse("lab:scoring_resume", args=["memory", run.pk]))
    assert n_sent("scoring.scoringrun") == 3


def test_without_a_broker_a_run_waits_and_nothing_breaks(
    ruth: Client,
    tmp_path: Path,
    django_capture_on_commit_callbacks: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    use_broker(NOBODY, tmp_path)
    with django_capture_on_commit_callbacks(execute=True):
        assert "Runs" in queue(ruth)
    assert set(ScoringRun.objects.values_list("status", flat=True)) == {"waiting"}
    assert "Connection refused" in caplog.text
