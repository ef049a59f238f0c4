"""`score_pairs`: the command's numbers from Python, without a database."""

import doctest
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Study
from scoring import ScoredPair, ScoredText, score_pairs
from scoring.backends.opening import open_backend
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun
from scoring.services import token_store
from tests.experiment.http_client import ROOT
from tests.factories import make_item, make_study
from tests.scoring.commands import hf, score_json

PAIR = "In study memory the response [[rose, fell]] after training."


@pytest.fixture
def study() -> Study:
    made = make_study(human=4, machine=3)
    two = "Rats [[slept, ran]] more. It was late. The response [[rose, fell]] [[late, in advance]]."
    made.study_items.create(item=make_item("memory-two", markup=two))
    return made


def rows(results: list[ScoredPair]) -> list[dict[str, Any]]:
    """As `--json` has them."""
    return [
        {
            "item": result.name,
            "unit": result.unit,
            "ppl_original": result.original.ppl,
            "ppl_altered": result.altered.ppl,
            "nll_original": result.original.nll_nats,
            "nll_altered": result.altered.nll_nats,
            "tokens_original": result.original.n_tokens,
            "tokens_altered": result.altered.n_tokens,
        }
        for result in results
    ]


def markups(study: Study) -> dict[str, str]:
    items = study.items.filter(kind="test")
    return {item.key: item.markup for item in sorted(items, key=lambda item: item.key)}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("prompt", "condition", "args"),
    [
        ("paper", "full", {}),
        ("clean", "isolated", {}),
        ("none", "swapped", {"strategy": "padded"}),
        ("Is this so, or not? <choice abstract>", "full", {"batch_size": 3}),
        ("paper", "full", {"max_length": 90, "overlong": "rolling"}),
        ("paper", "full", {"max_length": 90, "overlong": "truncate"}),
    ],
)
def test_its_numbers_are_the_commands_to_the_last_bit(
    study: Study, tiny: Path, prompt: str, condition: str, args: dict[str, Any]
) -> None:
    words = ("--prompt", prompt, "--conditions", condition, "--seed", 7)
    data = score_json(*hf(tiny, *words, **args))["scores"]
    results = score_pairs(markups(study), tiny, prompt, condition, seed=7, **args)
    for row, result in zip(data, rows(results), strict=True):
        assert {name: row[name] for name in result} == result
    assert data


@pytest.mark.django_db
def test_its_tokens_are_those_that_the_command_stores(study: Study, tiny: Path) -> None:
    score_json(*hf(tiny))
    run = ScoringRun.objects.get()
    for result in score_pairs(markups(study), tiny):
        stored = token_store.read_tokens(run, result.name).to_pylist()
        ours = [*result.original.tokens, *result.altered.tokens]
        for row, token in zip(stored, ours, strict=True):
            for name in ("token", "logprob", "start", "end", "in_text", "in_alternation"):
                assert row[name] == getattr(token, name)


def test_both_versions_given_as_they_are_are_scored_the_same(tiny: Path) -> None:
    versions = (PAIR.replace("[[rose, fell]]", "rose"), PAIR.replace("[[rose, fell]]", "fell"))
    (written,), (given,) = (score_pairs([pair], tiny) for pair in (PAIR, versions))
    assert (written.original.ppl, written.altered.ppl) == (given.original.ppl, given.altered.ppl)
    assert "".join(_marked(given.altered)).strip("Ġ") == "fell"


def _marked(text: ScoredText) -> list[str]:
    return [token.token for token in text.tokens if token.in_alternation]


def test_a_perplexity_is_that_of_a_plain_forward_pass(tiny: Path) -> None:
    (result,) = score_pairs([PAIR], tiny, "none")
    model = GPT2LMHeadModel.from_pretrained(tiny).double().eval()
    text = PAIR.replace("[[rose, fell]]", "fell")
    ids = AutoTokenizer.from_pretrained(tiny)(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        loss = model(ids, labels=ids).loss
    assert result.altered.ppl == pytest.approx(float(loss.exp()), rel=1e-5)
    assert result.decision.points == (result.original.ppl < result.altered.ppl)
    assert result.altered.tokens[0].logprob is None


def test_an_open_model_is_used_again_and_stays_open(tiny: Path) -> None:
    backend = open_backend("hf", {"pretrained": str(tiny)})
    first, second = (score_pairs([PAIR], backend) for _ in range(2))
    assert first == second == score_pairs([PAIR], tiny)
    assert hasattr(backend, "model")
    with pytest.raises(ScoringError, match="already open does not accept arguments"):
        score_pairs([PAIR], backend, dtype="float64")


@pytest.mark.parametrize(
    ("pairs", "fields", "part"),
    [
        ([], {}, "no pairs to score"),
        (["Rats slept."], {}, r"Pair 1: .*no \[\[original, altered"),
        ([("Rats slept.", "Rats slept.")], {}, "Pair 1: the two versions are the same"),
        (
            [("Rats slept.", "Rats ran.")],
            {"condition": "isolated"},
            "needs texts with marked differences",
        ),
        ([PAIR], {"condition": "swapped"}, "Pair 1 needs 1 result of another work"),
        ([PAIR, f"{'late ' * 3000}[[rose, fell]]"], {}, "Pair 2, the original: needs"),
    ],
)
def test_impossible_pairs_are_refused_in_one_sentence(
    tiny: Path, pairs: Any, fields: dict[str, Any], part: str
) -> None:
    with pytest.raises(ScoringError, match=part):
        score_pairs(pairs, tiny, **fields)


def test_the_example_in_the_documentation_holds() -> None:
    path = ROOT / "docs" / "models.md"
    failed, tried = doctest.testfile(str(path), module_relative=False)
    assert tried >= 5
    assert failed == 0


@pytest.mark.parametrize(
    ("hosts", "said"),
    [({}, "Texts may not be sent to"), ({"SCORING_HOSTS": "127.0.0.2:9"}, "127.0.0.2")],
)
def test_without_settings_a_server_is_on_this_machine_or_named(
    tiny: Path, hosts: dict[str, str], said: str
) -> None:
    code = f"""
from scoring import score_pairs
from scoring.domain.backend import ScoringError
server = {{"base_url": "http://127.0.0.2:9", "tokenizer": {str(tiny)!r}, "retry_seconds": 0}}
try:
    score_pairs(["Rats [[slept, ran]]."], "completions", model_name="m", **server)
except ScoringError as error:
    print(error)
"""
    found = outside_django(code, **hosts)
    assert said in found
    assert ("may not be sent to" in found) == (not hosts)


def test_without_settings_a_key_belongs_to_a_host_too() -> None:
    code = """
from scoring.backends.http.address import allowed_address, key_of
from scoring.domain.backend import ScoringError
try:
    print([key_of(allowed_address(f"https://{host}.org")) for host in ("a", "b")])
except ScoringError as error:
    print(error)
"""
    hosts = {"SCORING_HOSTS": "a.org,b.org"}
    assert outside_django(code, **hosts, SCORING_API_KEYS="a.org=k").strip() == "['k', '']"
    refused = outside_django(code, **hosts, SCORING_API_KEY="sk-secret")
    assert "SCORING_API_KEYS=HOST=KEY" in refused
    assert "sk-secret" not in refused


def outside_django(code: str, **environment: str) -> str:
    """The output of a script that knows of no settings."""
    known = {k: v for k, v in os.environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    known |= {"PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=known, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_needs_neither_a_database_nor_settings_and_its_import_is_cheap() -> None:
    code = """
import sys
import scoring
heavy = {"django", "torch", "transformers", "numpy"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
from scoring import score_pairs
(result,) = score_pairs(["Rats [[slept, ran]] after it."], "embedded")
assert result.original.ppl > 1
assert "django.db" not in sys.modules
assert "django.conf" not in sys.modules or not sys.modules["django.conf"].settings.configured
"""
    outside_django(code)
