"""vLLM's own server, where it is installed, with a tiny model of random weights: each answer has the form that was asked for.

Its Python is the one that VLLM_PYTHON names, or this one.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from scoring.services.asking.settings import Asked
from scoring.services.choosing import runs
from scoring.services.choosing.summary import summarise
from tests.factories import make_study
from tests.scoring import tokenizers_made

pytestmark = pytest.mark.sweep
MODEL = "tiny"
STARTING_S = 600
TEMPLATE = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


@pytest.fixture(scope="module")
def python() -> str:
    path = os.environ.get("VLLM_PYTHON") or sys.executable
    if subprocess.run([path, "-c", "import vllm"], capture_output=True).returncode:
        pytest.skip(f"vLLM is not installed for {path}: VLLM_PYTHON names a Python that has it")
    return path


@pytest.fixture(scope="module")
def url(python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's address."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("vllm")
    tokenizer = tokenizers_made.byte_level(eos_token="<end>", chat_template=TEMPLATE)
    tokenizer.save_pretrained(folder / MODEL)
    sizes = {"hidden_size": 256, "intermediate_size": 256, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=len(tokenizer), num_hidden_layers=2, max_position_embeddings=4096, **sizes
    )
    LlamaForCausalLM(config).save_pretrained(folder / MODEL)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [python, "-m", "vllm.entrypoints.openai.api_server", "--model", folder / MODEL]
    command += ["--served-model-name", MODEL, "--port", port, "--dtype", "float32"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log)
    try:
        url = f"http://127.0.0.1:{port}"
        until = time.monotonic() + STARTING_S
        while time.monotonic() < until and server.poll() is None and not _answers(url):
            time.sleep(0.5)
        assert _answers(url), (folder / "server.log").read_text()
        yield url
    finally:
        server.terminate()
        server.wait()


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/v1/models"):
            return True
    except URLError:
        return False


@pytest.mark.django_db
def test_a_model_chooses_in_both_orders_with_the_odds_of_the_sides(url: str) -> None:
    asked = Asked("chat", {"base_url": url, "model": MODEL, "max_tokens": "60"})
    run = runs.choice_run(make_study(human=2, machine=2), asked)
    run.save()
    run = runs.run(run)
    assert (run.status, run.error, run.done) == ("finished", "", 8)
    assert summarise(run).states == {"read": 8}
    assert run.choices.filter(confidence__range=(50, 100), log_odds__isnull=False).count() == 8
    assert (run.requests, runs.lost(run)) == (8, 0)
