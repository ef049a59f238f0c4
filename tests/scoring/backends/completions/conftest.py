"""A server to score with, and its tokenizer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.completions.models import make_tokenizer, tiny_markov
from benchmarks.completions.stub import CompletionsStub
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("tokenizer"), list(SENTENCES))


@pytest.fixture(scope="package")
def tokenizer(folder: Path) -> Any:
    return load_tokenizer(str(folder))


@pytest.fixture
def stub(tokenizer: Any) -> Iterator[CompletionsStub]:
    with CompletionsStub(tiny_markov(len(tokenizer)), tokenizer) as stub:
        yield stub
