"""A server to score with, its tokenizer, and what becomes of one that is wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.completions.models import make_tokenizer, tiny_markov
from benchmarks.completions.stub import MODEL, CompletionsStub
from scoring.backends.completions.backend import CompletionsBackend
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tokenizer(tmp_path_factory.mktemp("tokenizer"), list(SENTENCES))


@pytest.fixture(scope="package")
def starting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer with a start token; without one, that of all other tests."""
    return make_tokenizer(tmp_path_factory.mktemp("start"), list(SENTENCES), starts=True)


@pytest.fixture
def stub(folder: Path) -> Iterator[CompletionsStub]:
    tokenizer = load_tokenizer(str(folder))
    with CompletionsStub(tiny_markov(len(tokenizer)), tokenizer) as stub:
        yield stub


@pytest.fixture
def of_strings(stub: CompletionsStub, starting: Path) -> CompletionsStub:
    """It takes strings alone, as llama.cpp's family."""
    stub.form, stub.tokenizer, stub.start = "llama.cpp", load_tokenizer(str(starting)), 0
    return stub


def opened(stub: CompletionsStub, folder: Path, **args: str) -> CompletionsBackend:
    patient = {"timeout": "60", "retry_seconds": "60"}  # on a busy machine the stub is slow
    known = {"base_url": stub.url, "model": MODEL, "tokenizer": str(folder)}
    return CompletionsBackend(known | patient | args)


def refusal(stub: CompletionsStub, folder: Path, fault: str = "", **args: str) -> str:
    """The one sentence in which connecting to such a server and trying it ends."""
    stub.fault = fault
    with pytest.raises(ScoringError) as raised:
        opened(stub, folder, **({"timeout": "5", "retry_seconds": "5"} | args)).prepare([])
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert sentence.isprintable()
    return sentence
