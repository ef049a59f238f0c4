"""Test cases as a task folder, and scores as samples, in lm-evaluation-harness's forms."""

import json
import re
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from django.core.management import CommandError, call_command
from lm_eval.api.model import LM
from transformers import AutoTokenizer, GPT2LMHeadModel

from experiment.models import Study
from experiment.services.study_setup import pin_items
from scoring.domain.perplexity import NEAR_TIE_NATS
from scoring.domain.prompts import PAPER_SENTENCE
from scoring.lm_eval.files import utils
from scoring.lm_eval.task import HELPER, YAML
from scoring.models import ScoringRun
from scoring.services import token_store
from scoring.services.texts import texts_of
from tests.factories import make_item, make_study
from tests.scoring.commands import hf, score, score_json
from tests.scoring.lm_eval.conftest import MARKUPS, make_run


def test_the_command_writes_a_task_folder_with_the_studys_items(study, tmp_path, capsys):
    machine = make_item("machine-1", source="machine", generator="GPT-4")
    pin_items(study, [machine, make_item("practice", kind="practice")])
    call_command("export_lm_eval_task", tmp_path / "task", study="memory", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "folder": str(tmp_path / "task"),
        "task": "brainbench",
        "prompt": "paper",
        "condition": "full",
        "items": len(MARKUPS) + 1,
        "documents": len(MARKUPS) + 1,
    }
    names = sorted(path.name for path in (tmp_path / "task").iterdir())
    assert names == ["brainbench.jsonl", "brainbench.yaml", "utils.py"]
    call_command("export_lm_eval_task", tmp_path / "task", source="human", prompt="clean")
    lines = (tmp_path / "task" / "brainbench.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["item"] for row in rows] == [f"item-{n}" for n in range(len(MARKUPS))]
    assert rows[2]["altered"] == "β-endorphin neurons fired “late”."
    assert {(row["counted"], row["prompt"]) for row in rows} == {("text", PAPER_SENTENCE)}
    assert "--tasks brainbench --include_path" in capsys.readouterr().out


@pytest.mark.parametrize("condition", ["isolated", "swapped"])
def test_a_task_of_a_condition_has_the_texts_of_a_run_of_it(study, tmp_path, capsys, condition):
    alone = make_item("alone", markup="Rats [[slept, ran]].", subfield="Of its own")
    pin_items(study, [alone, make_item("two", markup="Rats [[slept, ran]]. Mice [[ate, slept]].")])
    folder = tmp_path / "task"
    call_command("export_lm_eval_task", folder, condition=condition, seed=3)
    said = capsys.readouterr().out
    assert f"--tasks brainbench_{condition} " in said
    assert ("alone needs 1 result of another work" in said) == (condition == "swapped")
    lines = (folder / f"brainbench_{condition}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = {(row["item"], row["unit"]): row for row in map(json.loads, lines)}
    texts = texts_of(make_run(study, condition=condition, seed=3)).texts
    assert list(rows) == [(text.item.key, text.unit) for text in texts]
    for text, row in zip(texts, rows.values(), strict=True):
        assert [row["original"], row["altered"]] == [t.text.strip() for t in text.texts]
        assert row["condition"] == condition


def test_the_harness_has_the_same_rule_for_near_ties():
    # It runs outside this project, and so has its own copy
    assert f"\nNEAR_TIE_NATS = {NEAR_TIE_NATS}\n" in HELPER.read_text(encoding="utf-8")
    assert f"less than {NEAR_TIE_NATS} nat" in YAML


class Words(LM):
    """A model of the harness's to which each word is a token, with the space before it."""

    prefix_token_id, max_length = 0, 99
    loglikelihood = loglikelihood_rolling = generate_until = None

    def tok_encode(self, text, add_special_tokens=True):
        return re.findall(r"\s?\S+|\s+", text)

    def _encode_pair(self, before, rest):
        return self.tok_encode(before), self.tok_encode(rest)


@pytest.mark.parametrize(("counted", "n_tokens"), [("all", (4, 7)), ("text", (2, 5))])
def test_the_harness_decides_by_the_mean_over_tokens_and_not_by_the_sum(counted, n_tokens):
    texts = {"original": "Rats slept.", "altered": "Rats fasted for two days."}
    doc = texts | {"prompt": "You read this:", "counted": counted}
    lm = Words()  # found by its name, and so are the requests
    before, rests = utils.context(doc), utils.choices(doc)
    assert [before + rest for rest in rests] == [f"{doc['prompt']} {t}" for t in texts.values()]
    requests = [SimpleNamespace(args=(before, rest)) for rest in rests]
    found = utils.results(doc, [(-12.0, False), (-14.0, False)])
    ppls = [np.exp(total / n) for total, n in zip((12, 14), n_tokens, strict=True)]
    assert [found["ppl_original"], found["ppl_altered"]] == pytest.approx(ppls)
    assert (found["acc"], found["near_tie"]) == (0, 0)
    requests.pop()
    with pytest.raises(ValueError, match="must be run without"):
        utils.results(doc, [(-12.0, False), (-14.0, False)])
    assert lm


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"study": "nowhere"}, "no study “nowhere”"), ({"folder": "taken/file"}, "was not written")],
)
def test_an_impossible_export_is_refused_in_a_sentence(study, tmp_path, arguments, message):
    (tmp_path / "taken").write_text("")
    folder = tmp_path / arguments.pop("folder", "task")
    with pytest.raises(CommandError, match=message):
        call_command("export_lm_eval_task", folder, **arguments)
    assert not (tmp_path / "task").exists()


pytestmark = pytest.mark.django_db
TWO_SENTENCES = (
    "In study memory the response [[rose, fell]] after training. The sample was [[large, late]] in advance.",
    "The measure was [[reliable, large]]. It was late. The response [[fell, rose]]. It was reliable.",
    "The analysis was [[planned in advance, late]] and the sample [[rose, fell]] after it. It was late.",
    "It was [[large, late]]. The response rose. It [[fell, rose]]. The sample was reliable.",
)


@pytest.fixture
def sampled() -> Study:
    made = make_study(human=1, machine=1)
    for n, markup in enumerate(TWO_SENTENCES):
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
    """The perplexity of the text's tokens up to each of them."""
    rows = token_store.read_tokens(run, key, unit).to_pylist()
    nats = [
        -r["logprob"] for r in rows if r["version"] == version and r["in_text"] and r["logprob"]
    ]
    return [float(np.exp(np.mean(nats[: n + 1]))) for n in range(len(nats))]


@pytest.mark.parametrize("condition", ["full", "isolated", "swapped"])
def test_flips_by_token_are_those_of_the_running_perplexities(
    sampled: Study, tiny: Path, tmp_path: Path, condition: str
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


@pytest.mark.parametrize("prompt", ["paper", "clean"])
def test_is_greedy_is_what_the_models_own_first_choices_say(
    sampled: Study, tiny: Path, tmp_path: Path, prompt: str
) -> None:
    _, samples = written(tiny, tmp_path, "--prompt", prompt, "--conditions", "full,isolated")
    model = GPT2LMHeadModel.from_pretrained(tiny).eval()
    tokenizer = AutoTokenizer.from_pretrained(tiny)
    said = []
    for sample in samples:
        pairs = zip(sample["filtered_resps"], sample["arguments"].values(), strict=True)
        for (_, greedy), arguments in pairs:
            before, rest = arguments["arg_0"], arguments["arg_1"]
            given = len(tokenizer(before.rstrip())["input_ids"]) if before else 1
            ids = tokenizer(before + rest)["input_ids"]
            with torch.no_grad():
                first = model(torch.tensor([ids])).logits[0, :-1].argmax(-1).tolist()
            said.append(greedy)
            assert greedy in ("None", str(first[given - 1 :] == ids[given:]))
    assert said.count("None") < len(said) / 2


def test_results_that_cannot_be_written_do_not_spoil_the_json(
    sampled: Study, tiny: Path, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    printed, _, error = score(*hf(tiny, "--json", "--output_path", in_the_way))
    assert json.loads(printed)["n_items"] == 6
    assert f"{in_the_way} was not written: " in str(error)
    printed_again = score_json(*hf(tiny, "--resume", "--output_path", tmp_path / "results"))
    assert printed_again["n_items"] == 6
    assert len(list(tmp_path.glob("results/*/samples_*.jsonl"))) == 1
