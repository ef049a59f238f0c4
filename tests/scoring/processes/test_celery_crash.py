"""A Celery worker is killed at random points: its runs go on by themselves, to the same numbers."""

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connections

from experiment.models import Study
from lib.jobs import leases
from scoring.models import LanguageModel, ScoringRun
from scoring.services import token_store
from scoring.services.runs import create_run
from tests.factories import make_study
from tests.scoring.processes.celery_worker import FILES, REDIS, TIMEOUT_S, Worker, has_redis
from tests.scoring.processes.test_crash import assert_rows_and_records_agree, results
from tests.scoring.tiny_models import save_gpt2
from tests.storages import records_folder

# Other processes look at the database: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)

SEED = 3
BROKERS = [FILES, REDIS] if has_redis() else [FILES]
N_ITEMS = 140  # more than two slices
KILLS = 10
STARTING_S = 4.0  # roughly what it takes until the first batch


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_study(human=N_ITEMS, machine=1)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_gpt2(tmp_path / "model")


@pytest.fixture
def worker_with(tmp_path: Path) -> Iterator[Callable[[str], Worker]]:
    workers = []

    def make(broker: str) -> Worker:
        workers.append(Worker(tmp_path, broker))
        return workers[-1]

    yield make
    for worker in workers:
        worker.leave_nothing()
    connections.close_all()


def create(study: Study, model: Path, **fields: object) -> ScoringRun:
    row, _ = LanguageModel.objects.get_or_create(name="tiny", display_name="Tiny")
    asked = {"backend": "transformers", "model_args": {"pretrained": str(model)}}
    return create_run(study=study, language_model=row, batch_tokens=300, **(asked | fields))


def kill_once(worker: Worker, run: ScoringRun, nth: int, rng: random.Random) -> None:
    """Every other time while it starts, else in the midst of its work; all of it, or what scores alone."""
    worker.start()
    run.refresh_from_db()
    starting_s = rng.uniform(0, STARTING_S) if nth % 2 == 0 else TIMEOUT_S
    worker.wait_for(run, done=run.done + rng.randint(1, 5), at_most_s=starting_s)
    time.sleep(rng.uniform(0, 0.03))
    if rng.random() < 0.5:
        worker.kill()
    else:
        worker.kill_below()


@pytest.mark.sweep  # `score` is killed in `make test` (test_crash), and a worker of its (test_workers)
@pytest.mark.parametrize("broker", BROKERS)
def test_killed_at_random_points_a_run_goes_on_by_itself_to_the_same_bits(
    broker: str, worker_with: Callable[[str], Worker], study: Study, model: Path
) -> None:
    rng = random.Random(f"{SEED}/{broker}")
    worker, run = worker_with(broker), create(study, model)  # and no one sends a message
    states = []
    for nth in range(KILLS):
        kill_once(worker, run, nth, rng)
        assert_rows_and_records_agree(run)
        assert run.done < run.total, "there is nothing left to be killed in"
        states.append(run.done)
    assert len(set(states)) >= KILLS / 2

    worker.start()
    worker.wait_for(run, status="finished")
    whole = create(study, model)  # by a worker that is not killed
    worker.wait_for(whole, status="finished")
    run.refresh_from_db()
    whole.refresh_from_db()
    assert run.done == run.total == N_ITEMS + 1
    assert run.plan == whole.plan
    assert results(run) == results(whole)
    tokens, expected = (token_store.read_tokens(r).drop_columns("run") for r in (run, whole))
    assert tokens.equals(expected)
    assert not list(records_folder(run).glob(".*"))


def test_a_worker_stops_a_cancelled_run_within_a_batch_and_goes_on_with_the_next(
    worker_with: Callable[[str], Worker], study: Study, model: Path
) -> None:
    first = create(study, model)
    second = create(study, model, limit=5)  # of the same model, which is open by then
    worker = worker_with(BROKERS[-1])
    worker.start()
    worker.wait_for(first, done=3)
    first = leases.request_cancel(first)
    assert first.cancel_requested or first.status == "cancelled"  # at once between two slices
    done = first.done
    worker.wait_for(first, status="cancelled")
    first.refresh_from_db()
    assert done <= first.done <= done + 2  # a batch is a pair here, and one was under way
    assert first.item_scores.count() == first.done
    worker.wait_for(second, status="finished")
    assert second.done == 5
