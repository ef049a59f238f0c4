"""What a run's samples say beyond its sums: flips, the model's first choice, and the tokenizer in the results."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Study
from scoring.models import ScoringRun
from scoring.services import token_store
from tests.factories import make_item, make_study
from tests.scoring.commands import hf, score_json
from tests.scoring.tiny_models import save_gpt2

pytestmark = pytest.mark.django_db
MARKUPS = (
    "In study memory the response [[rose, fell]] after training. The sample was [[large, late]] in advance.",
    "The measure was [[reliable, large]]. It was late. The response [[fell, rose]]. It was reliable.",
    "The analysis was [[planned in advance, late]] and the sample [[rose, fell]] after it. It was late.",
    "It was [[large, late]]. The response rose. It [[fell, rose]]. The sample was reliable.",
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2")


@pytest.fixture
def study() -> Study:
    made = make_study(human=1, machine=1)
    for n, markup in enumerate(MARKUPS):
        made.study_items.create(item=make_item(f"memory-own-{n}", markup=markup))
    return made


def written(
    tiny: Path, folder: Path, *words: object
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    score_json(*hf(tiny, *words, "--output_path", folder))
    (results,) = folder.glob("*/results_*.json")
    lines = [
        line for path in folder.glob("*/samples_*.jsonl") for line in path.read_text().splitlines()
    ]
    return json.loads(results.read_text()), [json.loads(line) for line in lines]


def running_ppl(run: ScoringRun, key: str, unit: int, version: str) -> list[float]:
    """Of the text's tokens up to each of them."""
    rows = token_store.read_tokens(run, key, unit).to_pylist()
    nats = [
        -r["logprob"] for r in rows if r["version"] == version and r["in_text"] and r["logprob"]
    ]
    return [float(np.exp(np.mean(nats[: n + 1]))) for n in range(len(nats))]


@pytest.mark.parametrize("condition", ["full", "isolated", "swapped"])
def test_flips_by_token_are_those_of_the_running_perplexities(
    study: Study, tiny: Path, tmp_path: Path, condition: str
) -> None:
    _, samples = written(tiny, tmp_path, "--prompt", "clean", "--conditions", condition)
    run, n_checked = ScoringRun.objects.get(), 0
    for sample in samples:
        flips = sample["flips"]["token"]
        doc = sample["doc"]
        original, altered = (
            running_ppl(run, doc["item"], doc["unit"], version)
            for version in ("original", "altered")
        )
        assert flips["category"][3:] == ("Pos" if sample["acc"] else "Neg")
        if len(original) != len(altered):
            continue  # how such tokens are paired is the report's to say, and tested there
        n_checked += 1
        signs = [np.sign(a - o) for o, a in zip(original, altered, strict=True)]
        places = [n for n, sign in enumerate(signs) if sign]
        turns = [b for a, b in pairwise(places) if signs[a] != signs[b]]
        assert flips["sign_flips"] == len(turns)
        assert flips["turned_at"] == (turns[-1] + 1 if turns else None)
        assert flips["category"][:3] == ("Pos" if signs[places[0]] > 0 else "Neg")
    assert n_checked
    by_sentence = [sample["flips"]["sentence"] for sample in samples]
    assert all((flips is not None) == (condition == "full") for flips in by_sentence)


def test_sentences_turn_where_their_ends_do(study: Study, tiny: Path, tmp_path: Path) -> None:
    _, samples = written(tiny, tmp_path, "--prompt", "clean")
    for sample in samples:
        by_token, by_sentence = sample["flips"]["token"], sample["flips"]["sentence"]
        assert by_sentence["category"][3:] == by_token["category"][3:]
        assert by_sentence["sign_flips"] <= by_token["sign_flips"]
        assert (by_sentence["turned_at"] is None) == (by_sentence["sign_flips"] == 0)


@pytest.mark.parametrize("prompt", ["paper", "clean"])
def test_is_greedy_is_what_the_models_own_first_choices_say(
    study: Study, tiny: Path, tmp_path: Path, prompt: str
) -> None:
    _, samples = written(tiny, tmp_path, "--prompt", prompt, "--conditions", "full,isolated")
    model = GPT2LMHeadModel.from_pretrained(tiny).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    said = []
    for sample in samples:
        for (_, greedy), arguments in zip(
            sample["filtered_resps"], sample["arguments"].values(), strict=True
        ):
            given = (
                len(tokenizer(arguments["arg_0"].rstrip())["input_ids"])
                if arguments["arg_0"]
                else 1
            )
            ids = tokenizer(arguments["arg_0"] + arguments["arg_1"])["input_ids"]
            with torch.no_grad():
                first = model(torch.tensor([ids])).logits[0, :-1].argmax(-1).tolist()
            said.append(greedy)
            assert greedy in ("None", str(first[given - 1 :] == ids[given:]))
    assert said.count("None") < len(said) / 2


def test_the_results_say_which_tokens_the_tokenizer_has(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    results, _ = written(tiny, tmp_path / "out")
    for name in ("pad", "eos", "bos"):
        token, number = (getattr(tokenizer, f"{name}_token{suffix}") for suffix in ("", "_id"))
        assert results[f"tokenizer_{name}_token"] == [token, str(number)]
    assert results["eot_token_id"] == tokenizer.eos_token_id
    assert results["chat_template"] is None  # none was applied


def test_a_tokenizer_that_changed_since_is_not_described(
    study: Study, tiny: Path, tmp_path: Path
) -> None:
    score_json(*hf(tiny))
    run = ScoringRun.objects.get()
    from scoring.lm_eval.surroundings import tokenizer_fields

    assert tokenizer_fields([run])
    run.identity["tokenizer_sha256"] = "ab" * 32
    assert tokenizer_fields([run]) == {}
