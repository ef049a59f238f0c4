"""The servers that are let through, and the one sentence that is said of the others."""

import numpy as np
import pytest
from tokenizers.processors import TemplateProcessing

from benchmarks.completions.models import END, make_tokenizer, tiny_gpt2, torch_lm
from benchmarks.completions.stub import MODEL
from scoring.backends.completions.probe import SENTENCES
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import ScoringError, TextError, TokenText
from tests.scoring.backends.completions.conftest import opened, refusal
from tests.scoring.backends.completions.test_backend import TEXTS, as_tokens

OFF_BY_ONE = "entry i of token_logprobs must be the log-probability of token i"


@pytest.mark.parametrize("seed", [None, 0, 1])
def test_a_right_server_is_let_through_without_remarks(stub, folder, seed):
    if seed is not None:
        stub.lm = torch_lm(tiny_gpt2(len(stub.tokenizer), seed))
    backend = opened(stub, folder)
    backend.prepare([])
    assert backend.remarks == []
    assert len(stub.prompts) < 40


def test_numbers_rounded_as_in_bfloat16_are_let_through(stub, folder):
    exact = stub.lm

    def coarse(ids):
        # A prompt's length decides the kernel, and that how the last bit of a logit of 16 to 32 falls
        return exact(ids) + np.random.default_rng(len(ids)).choice([-0.06, 0.0, 0.06])

    stub.lm = lambda ids: np.minimum(coarse(ids), 0.0)
    opened(stub, folder).prepare([])


def test_a_server_whose_numbers_repeat_only_nearly_is_let_through_with_a_remark(
    stub, folder, caplog
):
    stub.fault = "slightly noisy"
    backend = opened(stub, folder)
    backend.prepare([])
    (remark,) = backend.remarks
    assert "sent twice, differed by up to 0.000" in remark
    assert remark in caplog.text


@pytest.mark.parametrize("spread", [None, 0.3, 0.02], ids=["markov", "transformer", "small weights"])  # fmt: skip
@pytest.mark.parametrize(
    "fault",
    [
        "numbers one place early",
        "numbers one place late",
        "numbers late, generated one in place",
        "numbers at their own place",
    ],
)
def test_a_server_that_is_off_by_one_is_refused(stub, folder, fault, spread):
    if spread is not None:
        stub.lm = torch_lm(tiny_gpt2(len(stub.tokenizer), spread=spread))
    assert OFF_BY_ONE in refusal(stub, folder, fault)


WRONG = {
    # Of the connection
    "drops": "closed the connection without an answer in HTTP (asked",
    "500": "answered 500 (engine [31mdied) (asked",
    "429 for an hour": "answered 429 (slow down) and requests a pause of 3600 s, longer than the rest",
    "garbage": "is not JSON (25 bytes of application/json)",
    "huge": "sent more than 1,089,536 bytes, the largest possible size",
    "redirects": "redirects to http://192.0.2.1. Redirects are not followed",
    "401": "needs a key, but SCORING_API_KEYS has none for 127.0.0.1:",
    "other json": "answered 200 with the error 502 (no such engine) (asked",
    "400": "refused to score: 400: Token id 401 is out of vocabulary",
    # Of the numbers
    "echo ignored": "ignored echo=true: it returned log-probabilities for 1 token instead of",
    "llama server": "ignored echo=true: it returned only log-probabilities of the generated tokens",
    "no logprobs": "did not send log-probabilities",
    "generated token missing": "instead of 20 of the prompt and 1 generated",
    "no null first": "gave the first token a log-probability (-1)",
    "numbers one place late with nulls": "got no log-probability (null",
    "constant": "gave two different texts the same log-probabilities",
    "random": "gave one text, sent twice, log-probabilities that differ by",
    "logits": "--logprobs-mode raw_logprobs",
    "nan": "got NaN for a log-probability at token 4 of",
    "minus infinity": "got the probability 0 (a log-probability of -9999)",
    "strings": "sent token_logprobs that are not numbers",
    # Of the tokens
    "adds a token": "it must score exactly the tokens that it receives",
    "cuts long prompts": "log-probabilities for 9 tokens instead of 20",
    "scores other ids": "scored other token IDs than those sent",
}
ASKED_FOR_AS_LONG_AS_MAY_BE = ("drops", "500", "other json")


@pytest.mark.parametrize(("fault", "words"), WRONG.items(), ids=WRONG)
def test_a_server_that_is_wrong_is_refused_with_what_it_did(stub, folder, fault, words):
    budget_s = "1" if fault in ASKED_FOR_AS_LONG_AS_MAY_BE else "5"
    sentence = refusal(stub, folder, fault, retry_seconds=budget_s)
    assert sentence.startswith(f"The server at {stub.url} ")
    assert words in sentence


def test_a_tokenizer_of_another_model_is_refused_with_an_example(stub, tmp_path):
    other = make_tokenizer(tmp_path, ["Quite other words make quite another vocabulary."] * 9)
    sentence = refusal(stub, other)
    assert "has another tokenizer: it decodes token" in sentence
    assert "Give the tokenizer of the served model" in sentence


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("cuts long prompts", "9 tokens instead of 90 of the prompt"),
        # As one that caches beginnings may: short prompts fill no block of its cache
        ("beginning from elsewhere", "gave the first 60 tokens of a text other log-prob"),
    ],
)
def test_the_longest_text_is_tried_before_the_run(stub, folder, fault, words):
    texts = [TokenText(f"text {n}", np.arange(n) % 300) for n in (30, 90, 60)]
    stub.fault, stub.fault_lengths = fault, lambda n: n == 90
    with pytest.raises(ScoringError, match=words):
        opened(stub, folder).prepare([texts])


class TestAServerOfStrings:
    """As llama.cpp's family: right behind a start token, refused without one."""

    def test_leaves_out_an_end_token_that_the_tokenizer_adds(self, of_strings, starting, tmp_path):
        ending = load_tokenizer(str(starting))
        ending.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{END} $A {END}", special_tokens=[(END, 0)]
        )
        ending.save_pretrained(tmp_path)
        text = as_tokens(of_strings.tokenizer, TEXTS[0])
        backends = [opened(of_strings, folder) for folder in (starting, tmp_path)]
        for backend in backends:
            backend.prepare([[text]])
        one, other = (backend.score([[text]])[0][0] for backend in backends)
        np.testing.assert_array_equal(one, other)

    def test_is_asked_in_the_form_that_it_takes(self, of_strings, starting):
        backend = opened(of_strings, starting)
        backend.prepare([])
        of_strings.requests.clear()
        backend.score([[as_tokens(of_strings.tokenizer, TEXTS[0])]] * 2)
        constant = {"model": MODEL, "max_tokens": 1, "temperature": 0, "logprobs": 1}
        echo = constant | {"prompt": TEXTS[0], "echo": True}
        # Sentences of the probe begin with the same token: its number is known
        assert of_strings.requests == [echo, echo]
        assert backend.identity()["request"]["prompt"].startswith("text;")

    @pytest.mark.parametrize("start", [None, 0])
    def test_is_refused_at_once_without_a_start_token(self, of_strings, tmp_path, start):
        of_strings.start = start
        sentence = refusal(of_strings, make_tokenizer(tmp_path, list(SENTENCES)))
        assert "does not accept token IDs" in sentence
        assert "correctly only after a start token (BOS)" in sentence
        assert len(of_strings.requests) <= 4

    def test_is_refused_where_it_leaves_out_the_start_token(self, of_strings, starting):
        of_strings.start = None
        assert "without one, its numbers are shifted by one token" in refusal(of_strings, starting)

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            ("says no usage", "does not report the number of a text's tokens in usage.prompt_tokens"),
            ("forces nothing", "generated '?' although logit_bias forced token"),
            ("numbers late", OFF_BY_ONE),
            ("generated numbers of another scale", "and the same token, scored by echo in its place"),
            ("other tokens", "becomes other tokens at the server: 'x', but the given tokenizer has"),
        ],
    )  # fmt: skip
    def test_is_refused_with_what_it_did_wrong(self, of_strings, starting, fault, words):
        assert words in refusal(of_strings, starting, fault)

    def test_names_a_text_of_which_it_makes_other_tokens(self, of_strings, starting):
        backend = opened(of_strings, starting)
        backend.prepare([])
        text, the = as_tokens(of_strings.tokenizer, TEXTS[0]), list("Ġthe")
        cut = TokenText("cut", np.array([0, *of_strings.tokenizer.convert_tokens_to_ids(the)]))
        ((right, wrong),) = backend.score([[text, cut]])
        assert isinstance(right, np.ndarray)
        assert isinstance(wrong, TextError)
        assert "changes when it is decoded from its tokens" in str(wrong)
