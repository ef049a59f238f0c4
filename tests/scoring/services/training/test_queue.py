"""Trainings keep a machine for hours: they wait in a queue of their own, which a machine takes or leaves."""

from typing import Any

import pytest

from config.celery import app
from lib.jobs import queue, worker
from lib.jobs.queue import kinds
from scoring.models import Corpus, ScoringRun, Training
from tests.scoring.trainings import asked

pytestmark = pytest.mark.django_db


def test_a_machine_that_scores_takes_no_training_and_one_that_trains_nothing_else(
    settings: Any, corpus: Corpus
) -> None:
    training = asked(corpus)
    settings.JOB_APPS = ["experiment", "scoring", "analysis"]
    assert ScoringRun in kinds()
    assert worker.next_job() is None
    settings.JOB_APPS = ["training"]
    assert kinds() == [Training]
    assert worker.next_job() == training


def test_one_worker_that_takes_both_does_them_beside_each_other(settings: Any) -> None:
    settings.JOB_APPS = ["experiment", "scoring", "training"]
    lanes = [lane.queues for lane in worker.PollingWorker().lanes]
    assert lanes == [["experiment", "scoring"], ["training"]]


def test_messages_about_trainings_go_to_their_own_queue() -> None:
    assert queue._queue(app, "scoring.training").endswith("-training")
    assert queue._queue(app, "scoring.scoringrun").endswith("-scoring")
