"""The capability probe: which servers are let through, and what is said of the others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.completions.models import make_tokenizer, tiny_gpt2, torch_lm
from benchmarks.completions.stub import MODEL, CompletionsStub
from scoring.backends.completions.backend import CompletionsBackend
from scoring.domain.backend import ScoringError, TokenText

OFF_BY_ONE = (
    "entry i of token_logprobs must be the log-probability of token i given the tokens before it"
)


def open_backend(stub: CompletionsStub, folder: Path, **args: str) -> CompletionsBackend:
    quick = {"timeout": "5", "retry_seconds": "5"}
    known = {"base_url": stub.url, "model": MODEL, "tokenizer": str(folder)}
    return CompletionsBackend(known | quick | args)


def refusal(stub: CompletionsStub, folder: Path, fault: str, **args: str) -> str:
    """The sentence with which a server with this fault is refused."""
    stub.fault = fault
    backend = open_backend(stub, folder, **args)
    with pytest.raises(ScoringError) as raised:
        backend.prepare([])
    sentence = str(raised.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a_right_server_is_let_through_without_remarks(stub: CompletionsStub, folder: Path) -> None:
    backend = open_backend(stub, folder)
    backend.prepare([])
    assert backend.remarks == []
    assert len(stub.prompts) < 40


@pytest.mark.parametrize("seed", range(3))
def test_a_right_server_of_a_random_transformer_is_let_through(
    stub: CompletionsStub, folder: Path, seed: int
) -> None:
    stub.lm = torch_lm(tiny_gpt2(len(stub.tokenizer), seed))
    backend = open_backend(stub, folder)
    backend.prepare([])
    assert backend.remarks == []


def test_numbers_rounded_as_in_bfloat16_are_let_through(
    stub: CompletionsStub, folder: Path
) -> None:
    exact = stub.lm

    def coarse(ids: list[int]) -> Any:
        # A prompt's length decides the kernel, and that how the last bit of a logit of 16 to 32 falls
        return exact(ids) + np.random.default_rng(len(ids)).choice([-0.06, 0.0, 0.06])

    stub.lm = lambda ids: np.minimum(coarse(ids), 0.0)
    open_backend(stub, folder).prepare([])


@pytest.mark.parametrize("lm", ["markov", "transformer", "transformer of small weights"])
@pytest.mark.parametrize(
    "fault",
    [
        "numbers one place early",
        "numbers one place late",
        "numbers late, generated one in place",
        "numbers at their own place",
    ],
)
def test_a_server_that_is_off_by_one_is_refused(
    stub: CompletionsStub, folder: Path, fault: str, lm: str
) -> None:
    if lm != "markov":
        spread = 0.02 if "small" in lm else 0.3
        stub.lm = torch_lm(tiny_gpt2(len(stub.tokenizer), spread=spread))
    assert OFF_BY_ONE in refusal(stub, folder, fault)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("echo ignored", "ignored echo=true: it returned log-probabilities for 1 token where"),
        ("generated token missing", "where 20 of the prompt and 1 generated were due"),
        ("no null first", "gave the first token a log-probability (-1)"),
        ("numbers one place late with nulls", "got no log-probability (null"),
        ("constant", "gave two different texts the same log-probabilities"),
        ("random", "gave one text, sent twice, log-probabilities that differ by"),
        ("logits", "--logprobs-mode raw_logprobs"),
        ("nan", "got NaN for a log-probability at token 4 of"),
        ("minus infinity", "got the probability 0 (a log-probability of -9999)"),
        ("strings", "put something else than numbers into token_logprobs"),
        ("llama server", "ignored echo=true: it returned log-probabilities of what it generated"),
        ("no logprobs", "answered without log-probabilities"),
        ("adds a token", "it must score every token that it is sent and no other"),
        ("cuts long prompts", "log-probabilities for 9 tokens where 20"),
        ("scores other ids", "scored other token ids than it was sent"),
        ("other json", "answered with JSON that is no completion"),
        ("400", "refused to score: 400: Token id 401 is out of vocabulary"),
    ],
)
def test_a_server_that_cannot_score_is_refused_with_what_it_did(
    stub: CompletionsStub, folder: Path, fault: str, words: str
) -> None:
    sentence = refusal(stub, folder, fault)
    assert sentence.startswith(f"The server at {stub.url} ")
    assert words in sentence


def test_a_server_whose_numbers_repeat_only_nearly_is_let_through_with_a_remark(
    stub: CompletionsStub, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stub.fault = "slightly noisy"
    backend = open_backend(stub, folder)
    backend.prepare([])
    (remark,) = backend.remarks
    assert "sent twice, differed by up to 0.000" in remark
    assert remark in caplog.text


def test_a_tokenizer_of_another_model_is_refused_with_an_example(
    stub: CompletionsStub, folder: Path, tmp_path: Path
) -> None:
    other = make_tokenizer(tmp_path, ["Quite other words make quite another vocabulary."] * 9)
    sentence = refusal(stub, other, "")
    assert "has another tokenizer: it reads token" in sentence
    assert "give the tokenizer of the model that is served" in sentence


def test_the_longest_text_is_tried_before_the_run(stub: CompletionsStub, folder: Path) -> None:
    texts = [TokenText(f"text {n}", np.arange(n) % 300) for n in (30, 90, 60)]
    stub.fault_lengths = lambda n: n == 90
    stub.fault = "cuts long prompts"
    backend = open_backend(stub, folder)
    with pytest.raises(ScoringError, match="9 tokens where 90 of the prompt"):
        backend.prepare([texts])


def test_a_server_that_takes_a_beginning_from_another_text_is_refused(
    stub: CompletionsStub, folder: Path
) -> None:
    # As one that caches beginnings may: short prompts fill no block of its cache
    stub.fault, stub.fault_lengths = "beginning from elsewhere", lambda n: n == 90
    backend = open_backend(stub, folder)
    with pytest.raises(ScoringError, match="gave the first 60 tokens of a text other log-prob"):
        backend.prepare([[TokenText("a long text", np.arange(90))]])
