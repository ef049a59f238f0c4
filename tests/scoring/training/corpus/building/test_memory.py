"""Building a corpus takes no memory for its texts."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiment.http_client import ROOT


def peak_mib(folder: Path, documents: int) -> int:
    folder.mkdir()
    module = "tests.scoring.training.corpus.building.peak_memory"
    command = [sys.executable, "-m", module, str(folder), str(documents)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.sweep  # up to a minute
def test_the_texts_of_a_corpus_are_never_in_memory_together(tmp_path: Path) -> None:
    few, many = (peak_mib(tmp_path / str(n), n) for n in (2_000, 12_000))
    sizes = [(tmp_path / str(n) / "source.jsonl").stat().st_size for n in (2_000, 12_000)]
    assert many - few < (sizes[1] - sizes[0]) / 2**20 * 0.7
