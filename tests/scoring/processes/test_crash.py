"""`score` is killed at random points: its results in the end are those of a run that was never killed."""

import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.forms.models import model_to_dict

from experiment.models import Study
from scoring.models import ScoringRun
from scoring.services import token_store
from tests.experiment.http_client import ROOT, at_once
from tests.factories import make_study
from tests.scoring.commands import environment, hf, score
from tests.scoring.tiny_models import save_gpt2
from tests.storages import records_folder

# Other processes look at the database: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)

SEED = 20
N_ITEMS, N_ITEMS_SWEEP = 24, 64
STARTING_S = 4.0  # roughly what it takes until the first batch
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass
POLL_S = 0.01
TRIES = 5
FULL = ("--conditions", "full", "--batch_tokens", "300")


def heed_interrupts() -> None:
    """As in a terminal: what a shell runs in the background inherits that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Lane:
    """The command on one study, in processes of its own."""

    def __init__(self, study: Study, model: Path, folder: Path, number: int) -> None:
        self.study, self.model, self.number = study, model, number
        self.rng = random.Random(f"{SEED}/{number}")
        self.log = folder / f"lane-{number}.log"
        self.command = [
            *(sys.executable, "manage.py", "score", "--study", study.slug),
            *("--model", "hf", "--model_args", f"pretrained={model}"),
            *FULL,
        ]
        self.environment = environment(folder)

    def start(self) -> subprocess.Popen[bytes]:
        """Go on with the run, or begin one: the first, or another when that was finished before it could be killed."""
        run = self.run()
        resume = ["--resume"] if run is None or run.status != "finished" else []
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*self.command, *resume],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                preexec_fn=heed_interrupts,
            )

    def run(self) -> ScoringRun | None:
        return ScoringRun.objects.filter(study=self.study).order_by("-pk").first()

    def finish(self) -> None:
        process = self.start()
        assert process.wait(timeout=TIMEOUT_S) == 0, self.log.read_text()

    def score_at_once(self) -> None:
        """Another run of it, here, where nothing is killed."""
        _, _, error = score(*hf(self.model), "--study", self.study.slug, *FULL)
        assert error is None

    def wait_until_done(self, process: subprocess.Popen[bytes], n: int) -> None:
        """Until so many pairs are done, or the process is over."""
        until = time.monotonic() + TIMEOUT_S
        runs = ScoringRun.objects.filter(study=self.study, status="running", done__gte=n)
        while process.poll() is None and not runs.exists():
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(POLL_S)

    def kill_once(self, nth: int) -> bool:
        """Start and kill: a third of the times while it starts, else in the midst of its work."""
        process = self.start()
        if nth % 3 == 0:
            time.sleep(self.rng.uniform(0, STARTING_S))
        else:
            run = self.run()
            done = run.done if run is not None and run.status != "finished" else 0
            self.wait_until_done(process, done + self.rng.randint(1, 4))
            time.sleep(self.rng.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        return process.wait(timeout=TIMEOUT_S) == -signal.SIGKILL

    def interrupt(self) -> None:
        """Send SIGINT in the midst of the work; again with another run when that was over before the signal came."""
        for _ in range(TRIES):
            process = self.start()
            self.wait_until_done(process, 3)
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=TIMEOUT_S)
            if code != 0:
                break
        assert code == 130, self.log.read_text()

    def kill_repeatedly(self, times: int) -> list[int]:
        """How many pairs were done at each kill."""
        states: list[int] = []
        while len(states) < times:
            if self.kill_once(len(states)):
                run = self.run()
                if run is not None:
                    assert_rows_and_records_agree(run)
                states.append(run.done if run is not None else 0)
        self.finish()
        return states


def assert_rows_and_records_agree(run: ScoringRun) -> None:
    """Asserts that whole batches are stored at any moment, each with its record."""
    run.refresh_from_db()
    stored = set(run.item_scores.values_list("item__key", flat=True))
    assert len(stored) == run.item_scores.count() == run.done
    recorded = token_store.read_tokens(run).column("item").unique().to_pylist()
    assert stored <= set(recorded)


def results(run: ScoringRun) -> list[dict[str, Any]]:
    rows = run.item_scores.order_by("item__key")
    return [model_to_dict(row, exclude=["id", "run"]) for row in rows]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return save_gpt2(tmp_path / "model")


def assert_same_as_at_once(lane: Lane) -> None:
    """All runs so far are finished, and are what a run is that nobody stops."""
    mine = list(lane.study.scoring_runs.all())
    assert mine
    lane.score_at_once()
    whole = lane.run()
    assert whole is not None
    assert whole not in mine
    tokens = token_store.read_tokens(whole).drop_columns("run")
    for run in mine:
        assert (run.status, run.done, run.total) == ("finished", whole.total, whole.total)
        assert run.plan == whole.plan
        assert results(run) == results(whole)
        assert token_store.read_tokens(run).drop_columns("run").equals(tokens)
        assert not list(records_folder(run).glob(".*"))


@pytest.mark.sweep  # the next test is its short form; on PostgreSQL workers are killed (test_workers)
def test_killed_at_random_points_a_run_gives_the_same_to_the_last_bit(
    model: Path, tmp_path: Path
) -> None:
    # Lanes side by side on one database, as most of a start is imports
    lanes = [
        Lane(make_study(f"lane-{n}", human=N_ITEMS_SWEEP, machine=1), model, tmp_path, n)
        for n in range(2)
    ]
    done_at_kills = at_once([lambda lane=lane: lane.kill_repeatedly(10) for lane in lanes])
    # The kills came before, among and after scored pairs, not all at the same moment
    assert len({state for states in done_at_kills for state in states}) > 8
    for lane in lanes:
        assert_same_as_at_once(lane)


@pytest.mark.sqlite  # about the process: no database does it otherwise
def test_interrupted_by_hand_it_says_how_to_go_on_and_then_killed_it_comes_to_the_same(
    model: Path, tmp_path: Path
) -> None:
    lane = Lane(make_study(human=N_ITEMS, machine=1), model, tmp_path, 0)
    lane.interrupt()
    run = lane.run()
    assert run is not None
    assert (run.status, run.worker) == ("waiting", "")
    assert 3 <= run.done < run.total == N_ITEMS + 1
    last = lane.log.read_text().splitlines()[-1]
    said = f"Stopped. Run {run.pk} has reached {run.done} of {run.total}. Run the same command with --resume to continue it."
    assert last == f"StoppedError: {said}"
    lane.kill_repeatedly(2)
    assert re.search(rf" full .* {run.total} ", lane.log.read_text(), re.MULTILINE)
    assert_same_as_at_once(lane)
