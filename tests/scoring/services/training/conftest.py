from pathlib import Path
from typing import Any

import pytest

from scoring.models import Corpus
from tests.scoring.trainings import corpus_row, folders_in


@pytest.fixture
def corpus(settings: Any, tmp_path: Path) -> Corpus:
    """Of the demonstration model's paragraphs, in folders of the test's own."""
    folders_in(settings, tmp_path)
    return corpus_row(last_published="2019-08")
