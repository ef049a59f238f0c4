"""`grade` is killed in the midst of its work: in the end each answer has one grade, and no grade that was stored is asked for again."""

import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from scoring.models import GradingRun, JudgeGrade
from tests.experiment.http_client import ROOT
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import environment
from tests.scoring.services.grading.rows import make_answers, make_empty_study

# Another process looks at the database: nothing is rolled back
pytestmark = pytest.mark.django_db(transaction=True)
N_ANSWERS = 30
CONCURRENCY = 3
TIMEOUT_S = 300  # a busy machine; nothing waits for it to pass


def test_a_run_that_was_killed_goes_on_without_a_lost_or_doubled_grade(tmp_path: Path) -> None:
    said: list[str | tuple[str, str]] = [f"answer {n}." for n in range(N_ANSWERS)]
    # Nobody asks about these, and their rows are stored before the first request
    make_answers(make_empty_study(), [("", "failed"), *said, ("", "empty")])
    with ChatStub(lambda request: "3") as stub:
        stub.delay_s = 0.02
        process = _grade(stub, tmp_path)
        until = time.monotonic() + TIMEOUT_S
        asked = JudgeGrade.objects.filter(tries__gt=0)
        while asked.count() < 5:
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < until
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(timeout=TIMEOUT_S) == -signal.SIGKILL
        kept = {grade.answer.text for grade in asked.select_related("answer")}
        n_before = len(stub.requests)
        assert 5 <= len(kept) < N_ANSWERS

        assert _grade(stub, tmp_path, "--resume").wait(timeout=TIMEOUT_S) == 0

        run = GradingRun.objects.get()
        assert (run.status, run.done) == ("finished", N_ANSWERS + 2)
        unasked = run.grades.filter(tries=0).order_by("answer").values_list("points", "finish")
        assert list(unasked) == [(None, "failed"), (None, "empty")]
        assert asked.count() == N_ANSWERS
        assert set(asked.values_list("points", flat=True)) == {3.0}
        about = Counter(words.partition("----- response ")[2] for words in stub.last_words)
        assert len(about) == N_ANSWERS
        after = "".join(stub.last_words[n_before:])
        assert not [text for text in kept if text in after]
        # Only what was under way at that moment was asked about twice
        assert len(stub.requests) <= N_ANSWERS + CONCURRENCY


def _grade(stub: ChatStub, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    args = f"base_url={stub.url},model={MODEL},concurrency={CONCURRENCY}"
    command = ["grade", "--study", "genes", "--judge", "chat", "--model_args", args, *arguments]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=environment(folder),
            stdout=log,
            stderr=log,
        )
