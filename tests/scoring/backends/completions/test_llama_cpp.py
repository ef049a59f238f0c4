"""llama-cpp-python's own server with a tiny Llama of random weights: right behind a start token, refused without one.

Its Python is the one of `make llama-cpp`, or the one that LLAMA_CPP_PYTHON names.
"""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np
import pytest

from benchmarks.completions.models import make_tokenizer
from experiment.domain.markup import parse
from experiment.models import Study
from experiment.services.study_setup import pin_items
from scoring.backends.completions.backend import CompletionsBackend
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError, TokenText
from scoring.models import ChoiceRun
from scoring.services.asking.settings import Asked
from scoring.services.choosing import prompts, runs
from scoring.services.choosing.summary import summarise
from tests.conftest import ROOT
from tests.factories import make_item, make_study
from tests.scoring.backends.completions import write_gguf
from tests.scoring.backends.completions.test_backend import in_float64

pytestmark = pytest.mark.sweep

MODEL = "tiny"
STARTING_S = 120
TEXTS = (
    "Water boils when the old violin falls.",
    "Nobody remembered the signals — and “cells” turn at 42 °C!",
    " ".join(SENTENCES),
)


@pytest.fixture(scope="module")
def python() -> Path:
    """One that has llama-cpp-python, its server and gguf."""
    path = Path(os.environ.get("LLAMA_CPP_PYTHON") or ROOT / "var/llama-cpp/bin/python")
    tried = [str(path), "-c", "import gguf, llama_cpp.server.app; print(llama_cpp.__version__)"]
    if not path.exists() or subprocess.run(tried).returncode:
        pytest.skip(f"llama-cpp-python is not at {path}: `make llama-cpp` builds it")
    return path


def make_tokenizer_with_bytes(folder: Path) -> Path:
    """As Llama 2's: a space before the text, spaces as ▁, and a token for each byte that has no other."""
    from tokenizers import Tokenizer, decoders, models, normalizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    of_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(byte_fallback=True))
    trainer = trainers.BpeTrainer(
        vocab_size=520, special_tokens=["<s>", *of_bytes], min_frequency=1, show_progress=False
    )
    made.train_from_iterator([s.replace(" ", "▁") for s in SENTENCES], trainer)
    written = json.loads(made.to_str())
    written["added_tokens"] = written["added_tokens"][:1]  # bytes are no special tokens
    made = Tokenizer.from_str(json.dumps(written))
    steps = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    made.normalizer = normalizers.Sequence(steps)
    back = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence([*back, decoders.Strip(" ", 1, 0)])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="<s>"
    ).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=["byte-level", "with bytes"])
def starting(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    if request.param == "with bytes":
        return make_tokenizer_with_bytes(folder)
    return make_tokenizer(folder, list(SENTENCES), starts=True)


@pytest.fixture(scope="module")
def model(starting: Path) -> Any:
    """Two layers, 32 wide, float32; weights large enough that what is read matters."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(load_tokenizer(str(starting))),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=write_gguf.N_HEADS,
            max_position_embeddings=write_gguf.WINDOW,
            initializer_range=0.3,
        )
    ).eval()


@contextmanager
def serving(python: Path, model: Any, tokenizer: Path, folder: Path, start: str) -> Iterator[str]:
    """The server's address."""
    # Compared in float64, it stays so
    arrays = {name: tensor.float().numpy() for name, tensor in model.state_dict().items()}
    np.savez(folder / "weights.npz", **arrays)
    gguf = folder / f"{start}.gguf"
    written = [folder / "weights.npz", tokenizer / "tokenizer.json", gguf, start]
    subprocess.run([python, write_gguf.__file__, *written], check=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # The cache in float32: the default, float16, moves the third digit
    exact = ("--logits_all", "true", "--type_k", "0", "--type_v", "0")
    size = ("--n_ctx", str(write_gguf.WINDOW), "--n_threads", "1", "--model_alias", MODEL)
    command = [python, "-m", "llama_cpp.server", "--model", gguf, *exact, *size, "--port", port]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/v1/models", server, folder / "server.log")
        yield url
    finally:
        server.kill()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTING_S
    while time.monotonic() < until and server.poll() is None:
        try:
            with urlopen(url):
                return
        except URLError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_behind_a_start_token_its_numbers_are_those_of_the_model_in_float64(
    python: Path, model: Any, starting: Path, tmp_path: Path
) -> None:
    with serving(python, model, starting, tmp_path, "add_bos") as url:
        args = {"base_url": url, "model": MODEL, "tokenizer": str(starting)}
        backend = CompletionsBackend(args)
        ids = [np.array(backend.tokenizer(text)["input_ids"]) for text in TEXTS]
        texts = [TokenText(text[:20], i) for text, i in zip(TEXTS, ids, strict=True)]
        backend.prepare([texts])
        assert backend.remarks == []
        (results,) = backend.score([texts])
    worst = 0.0
    for text, result in zip(texts, results, strict=True):
        assert isinstance(result, np.ndarray)
        right = in_float64(model, text.ids)
        np.testing.assert_allclose(result, right, rtol=0, atol=5e-5)
        worst = max(worst, abs(float(np.expm1(np.mean(result[1:] - right[1:])))))
    print(f"Largest relative difference of a perplexity from float64: {worst:.2g}")
    assert worst < 1e-6


@pytest.mark.parametrize("start", ["add_none", "add_bos"])
def test_without_a_start_token_it_is_refused(
    python: Path, model: Any, starting: Path, tmp_path: Path, start: str
) -> None:
    other = make_tokenizer(tmp_path / "other", list(SENTENCES))
    with serving(python, model, starting, tmp_path, start) as url:
        args = {"base_url": url, "model": MODEL}
        with pytest.raises(ScoringError, match="only after a start token"):
            CompletionsBackend(args | {"tokenizer": str(other)}).prepare([])
        if start == "add_none":
            with pytest.raises(ScoringError, match="its numbers are shifted by one token"):
                CompletionsBackend(args | {"tokenizer": str(starting)}).prepare([])


@pytest.fixture
def study() -> Study:
    """A study of test cases and a prompt that fit into the window."""
    study = make_study(human=1, machine=1)
    markups = ("Cells [[rose, fell]].", "It [[rained | was dry]] in May.", "Rats [[slept, ate]].")
    items = [make_item(f"m{n}", markup=m, doi=f"10.1/m{n}") for n, m in enumerate(markups)]
    study.study_items.filter(item__kind="test").delete()
    pin_items(study, items)
    return study


def chosen(study: Study, kind: str, args: dict[str, str]) -> ChoiceRun:
    words = "Which is true?\n{versions}"
    run = runs.choice_run(study, Asked(kind, args), prompt="custom", own_prompt=words)
    run.save()
    return runs.run(run)


@pytest.mark.django_db
def test_it_chooses_by_the_likelihoods_of_the_model_in_float64(
    python: Path, model: Any, starting: Path, tmp_path: Path, study: Study
) -> None:
    with serving(python, model, starting, tmp_path, "add_bos") as url:
        args = {"base_url": url, "model": MODEL, "tokenizer": str(starting)}
        run = chosen(study, "completions", args)
    assert (run.status, run.error, run.done) == ("finished", "", 6)
    tokenizer = load_tokenizer(str(starting))
    for choice in run.choices.select_related("item"):
        turns = prompts.conversation(run, [], parse(choice.item.markup), choice.original_side)
        words = prompts.plain_text(turns)
        n = len(tokenizer(words)["input_ids"])
        ids = [np.array(tokenizer(f"{words} {side}")["input_ids"]) for side in "AB"]
        a, b = (float(in_float64(model, own)[n:].sum()) for own in ids)
        assert choice.log_odds == pytest.approx(a - b, abs=1e-4)
        assert choice.side == ("A" if a > b else "B")


@pytest.mark.django_db
def test_each_of_its_answers_in_words_is_a_choice_or_has_a_state(
    python: Path, model: Any, starting: Path, tmp_path: Path, study: Study
) -> None:
    """Its weights are random: only a server that holds it to the form of an answer has it choose."""
    with serving(python, model, starting, tmp_path, "add_bos") as url:
        run = chosen(study, "chat", {"base_url": url, "model": MODEL, "max_tokens": "40"})
    assert (run.status, run.error, run.done) == ("finished", "", 6)
    assert summarise(run).n_answers == run.choices.count() == 6
    assert run.choices.filter(finish="failed").count() == 0
    assert (run.requests >= 6, runs.lost(run)) == (True, 0)
