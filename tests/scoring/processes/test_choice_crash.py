"""`score --method choice` is interrupted or killed at any moment: no choice is lost or doubled, and what a kill loses is known."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scoring.models import ChoiceRun
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import environment

# Another process looks at the database: nothing is rolled back
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sweep]
N_ANSWERS, CONCURRENCY, MOMENTS = 400, 8, 20
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_paid_answer_is_stored_or_known_to_be_lost(tmp_path: Path, how: signal.Signals) -> None:
    make_study(human=15, machine=5)
    moments = sorted(random.Random(7).sample(range(5, N_ANSWERS - 50), MOMENTS))
    with ChatStub(lambda request: '{"side": "A", "confidence": 70}') as stub:
        stub.delay_s = 0.05
        for moment in moments:
            process = _score(stub, tmp_path)
            until = time.monotonic() + TIMEOUT_S
            while len(stub.requests) < moment and process.poll() is None:
                assert time.monotonic() < until
                time.sleep(0.005)
            process.send_signal(how)
            process.wait(timeout=TIMEOUT_S)
            stored = ChoiceRun.objects.get().choices.count()
            if how == signal.SIGINT:
                assert stored == len(stub.requests), (tmp_path / "log").read_text()
        assert _score(stub, tmp_path).wait(timeout=TIMEOUT_S) == 0
        run = ChoiceRun.objects.get()
        assert (run.status, run.done, run.choices.count()) == ("finished", N_ANSWERS, N_ANSWERS)
        lost = len(stub.requests) - N_ANSWERS
        assert 0 <= lost <= run.requests - N_ANSWERS <= MOMENTS * CONCURRENCY
        assert how == signal.SIGKILL or run.requests == N_ANSWERS


def _score(stub: ChatStub, folder: Path) -> subprocess.Popen[bytes]:
    args = f"base_url={stub.url},model={MODEL},concurrency={CONCURRENCY}"
    command = ["score", "--method", "choice", "--study", "memory", "--model", "chat"]
    command += ["--model_args", args, "--samples", "10", "--resume"]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment(folder),
            stdout=log,
            stderr=log,
        )
