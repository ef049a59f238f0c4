from pathlib import Path
from typing import Any

import pytest

from scoring.models import Corpus
from tests.scoring.trainings import build_onions, folders_in


@pytest.fixture
def corpus(settings: Any, tmp_path: Path) -> Corpus:
    """In folders of the test's own."""
    folders_in(settings, tmp_path)
    return build_onions(tmp_path / "papers.jsonl")
