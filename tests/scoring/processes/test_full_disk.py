"""A disk that takes no more: the run ends in one sentence with the path, and goes on when there is room again."""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from scoring.services.runs import reopen
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.scoring.commands import environment, hf, score, score_json
from tests.scoring.made_runs import Disturbed, ask, scores, tokens
from tests.scoring.ngram_backend import NgramBackend
from tests.scoring.tiny_models import save_gpt2
from tests.storages import records_folder

N_ITEMS = 6
FILE_BYTES = 2000  # less than a batch's records, and than any page of the database further on


@pytest.mark.django_db
def test_records_that_cannot_be_written_end_the_run_and_it_goes_on_to_the_same() -> None:
    study = make_study(human=N_ITEMS, machine=1)
    whole = execute(ask(study), backend=NgramBackend())
    run = ask(study)
    folder = records_folder(run)
    away = folder.with_name("away")

    def put_a_file_in_the_way() -> None:
        folder.rename(away)
        folder.touch()

    run = execute(run, backend=Disturbed(2, put_a_file_in_the_way))
    assert run.status == "failed"
    assert run.error == (
        f"{folder} cannot be used: file exists (move away what stands in its place); then --resume goes on."
    )
    assert 0 < run.done < run.total
    assert len(scores(run)) == run.done
    folder.unlink()
    away.rename(folder)
    run = execute(reopen(run), backend=NgramBackend())
    assert (run.status, run.error) == ("finished", "")
    assert (scores(run), tokens(run)) == (scores(whole), tokens(whole))


def at_most(n_bytes: int) -> Callable[[], None]:
    """As on a full disk: no file of the process can become longer."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


def score_in_a_process(
    model: Path, folder: Path, *arguments: object, file_bytes: int | None = None
) -> tuple[int, dict[str, Any], str]:
    """Its exit status, what it printed as JSON, and its standard error."""
    ran = subprocess.run(
        [
            *(sys.executable, "manage.py", "score", "--study", "memory", "--model", "hf", "--json"),
            *("--model_args", f"pretrained={model}", *map(str, arguments)),
        ],
        cwd=ROOT,
        env=environment(folder),
        capture_output=True,
        text=True,
        preexec_fn=None if file_bytes is None else at_most(file_bytes),
    )
    return ran.returncode, json.loads(ran.stdout), ran.stderr


@pytest.mark.sqlite  # about the process: no database does it otherwise
@pytest.mark.django_db(transaction=True)
def test_the_command_says_so_in_json_and_in_one_sentence_and_resumes(tmp_path: Path) -> None:
    make_study(human=N_ITEMS, machine=1)
    model = save_gpt2(tmp_path / "model")
    code, printed, said = score_in_a_process(model, tmp_path, file_bytes=FILE_BYTES)
    assert code == 1
    assert "Traceback" not in said
    sentence = printed["error"]
    assert said.splitlines()[-1] == f"CommandError: {sentence}"
    assert " cannot be used: " in sentence
    assert sentence.endswith(".")
    assert score_json(*hf(model, "--resume"))["n_items"] == N_ITEMS + 1
    run = ScoringRun.objects.get()
    assert token_store.read_tokens(run).num_rows > 0


@pytest.mark.django_db
def test_results_that_cannot_be_written_do_not_spoil_the_json(tmp_path: Path) -> None:
    make_study(human=2, machine=1)
    model = save_gpt2(tmp_path / "model")
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    printed, _, error = score(*hf(model, "--json", "--output_path", in_the_way))
    assert json.loads(printed)["n_items"] == 3
    assert f"{in_the_way} was not written: " in str(error)
    printed_again = score_json(*hf(model, "--resume", "--output_path", tmp_path / "results"))
    assert printed_again["n_items"] == 3
    assert len(list(tmp_path.glob("results/*/samples_*.jsonl"))) == 1
