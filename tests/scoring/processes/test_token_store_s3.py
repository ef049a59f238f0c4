"""Machines without a shared folder: token records in a bucket, over HTTP, between processes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.services.execute import execute
from tests.experiment.http_client import ROOT
from tests.factories import make_study
from tests.scoring.commands import environment, score
from tests.scoring.made_runs import ask
from tests.scoring.ngram_backend import NgramBackend
from tests.storages import store_files_in

# About storage and processes: no database does it otherwise
pytestmark = [pytest.mark.sqlite, pytest.mark.django_db(transaction=True)]
PLACE = "s3://records/lab"


def keys(bucket: Any) -> list[str]:
    return sorted(entry.key for entry in bucket.objects.all())


def test_one_process_writes_what_another_reads(bucket: Any, settings: Any, tmp_path: Path) -> None:
    make_study(human=2, machine=1)
    where = environment(tmp_path / "of the worker", FILES_URL=PLACE)
    command = [sys.executable, "manage.py", "score", "--study", "memory", "--model", "embedded"]
    subprocess.run(command, cwd=ROOT, env=where, check=True, capture_output=True)
    there = ScoringRun.objects.get()
    score("--study", "memory", "--model", "embedded")  # in a folder of this process
    here = ScoringRun.objects.exclude(pk=there.pk).get()
    expected = token_store.read_tokens(here).drop_columns("run")

    store_files_in(settings, PLACE)
    assert token_store.read_tokens(there).drop_columns("run").equals(expected)
    item = there.item_scores.first().item.key
    assert token_store.read_tokens(there, item).num_rows < expected.num_rows
    assert keys(bucket)[0] == f"lab/scoring/{there.uuid}/part-00000.parquet"
    assert not list((tmp_path / "of the worker").rglob("*.parquet"))


def test_a_run_in_a_bucket_is_resumed_and_removed_like_any(bucket: Any, settings: Any) -> None:
    store_files_in(settings, PLACE)
    run = execute(ask(make_study()), backend=NgramBackend(), max_pairs=4)
    n_parts = len(keys(bucket))
    assert n_parts == len(token_store.part_indices(run)) > 0
    run = execute(run, backend=NgramBackend())
    assert run.status == "finished"
    assert len(keys(bucket)) == len(run.plan) > n_parts
    token_store.delete_run(run)
    assert keys(bucket) == []
