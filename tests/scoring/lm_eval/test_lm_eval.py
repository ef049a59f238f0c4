import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from experiment.models import Item
from scoring.domain.backend import ScoringError
from scoring.domain.perplexity import decide
from scoring.domain.prompts import PAPER_SENTENCE
from scoring.lm_eval.results import write_results
from scoring.lm_eval.samples import HIGHER_IS_BETTER
from scoring.lm_eval.task import write_task
from scoring.models import ItemScore, LanguageModel
from scoring.services.execute import execute
from scoring.services.open_model import ensure_language_model
from scoring.services.runs import create_run
from scoring.services.texts import item_texts
from tests.scoring import tokenizers_made
from tests.scoring.lm_eval import run_lm_eval
from tests.scoring.lm_eval.conftest import MARKUPS, make_run

# Folder, name, prompt and condition
TASKS = (
    ("paper", "brainbench", "paper", "full"),
    ("clean", "clean", "clean", "full"),
    ("isolated", "isolated", "paper", "isolated"),
    ("swapped", "swapped", "clean", "swapped"),
)


@dataclass
class Evaluated:
    """The results of lm-evaluation-harness for exported tasks, and the models it ran."""

    folder: Path
    models: dict[str, Any]
    results: dict[str, Any]  # of GPT-2 in the prompt `paper`
    samples: list[dict[str, Any]]
    python: dict[str, Any]  # of the Llama-like model


@pytest.fixture(scope="module")
def evaluated(shared_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lm_eval")
    torch.manual_seed(1)
    gpt2 = tokenizers_made.gpt2(shared_dir)
    llama = tokenizers_made.llama_like()
    wide = {"initializer_range": 0.6}  # so that the models are far from indifferent
    models = {
        "gpt2": (
            GPT2LMHeadModel(GPT2Config(n_embd=16, n_layer=2, n_head=2, n_positions=128, **wide)),
            gpt2,
        ),
        "llama": (
            LlamaForCausalLM(
                LlamaConfig(
                    vocab_size=len(llama),
                    hidden_size=16,
                    intermediate_size=32,
                    num_hidden_layers=2,
                    num_attention_heads=2,
                    num_key_value_heads=2,
                    max_position_embeddings=512,
                    bos_token_id=llama.bos_token_id,
                    eos_token_id=llama.eos_token_id,
                    **wide,
                )
            ),
            llama,
        ),
    }
    for name, (model, tokenizer) in models.items():
        model.eval().save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    items = [Item(key=f"item-{n}", markup=markup) for n, markup in enumerate(MARKUPS)]
    for item in items:
        item.derive_texts()
    for name, task, prompt, condition in TASKS:
        texts = item_texts(items, condition, seed=5).texts
        write_task(texts, folder / name, task, prompt, condition)
    environment = os.environ | {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "HF_HOME": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, run_lm_eval.__file__, str(folder)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-9000:]
    (results,) = (folder / "out").rglob("results_*.json")
    (samples,) = (folder / "out").rglob("samples_brainbench_*.jsonl")
    return Evaluated(
        folder,
        models,
        json.loads(results.read_text(encoding="utf-8")),
        [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()],
        json.loads((folder / "python.json").read_text(encoding="utf-8")),
    )


def nll_nats(model, tokenizer, text, counted):
    """Sum and number of a text's scored tokens, one text at a time and in float64."""
    string = f"{PAPER_SENTENCE} {text}"
    encoded = tokenizer(string, return_offsets_mapping=True)
    ids = torch.tensor(encoded["input_ids"])
    with torch.no_grad():
        logprobs = model(ids[None]).logits[0].double().log_softmax(-1)
    per_token = -logprobs[:-1].gather(1, ids[1:, None])[:, 0]
    ends = [end for _, end in encoded["offset_mapping"]]
    before = len(PAPER_SENTENCE) + 1
    first = 1 if counted == "all" else next(n for n, end in enumerate(ends) if end > before)
    return float(per_token[first - 1 :].sum()), len(ids) - first


def expected(evaluated, name, counted, samples):
    """By item and sentence: the decision by means, the perplexities, and the decision by sums."""
    model, tokenizer = evaluated.models[name]
    rows = {}
    for sample in samples:
        doc = sample["doc"]
        scored = [nll_nats(model, tokenizer, doc[v], counted) for v in ("original", "altered")]
        ppls = [torch.tensor(nll / n).exp().item() for nll, n in scored]
        rows[place(sample)] = (decide(*ppls).points, ppls, scored[0][0] < scored[1][0])
    return rows


def place(sample):
    return (sample["doc"]["item"], sample["doc"]["unit"])


def decisions(samples):
    return {place(sample): sample["acc"] == 1.0 for sample in samples}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "prompt", "counted"),
    [
        ("gpt2", "paper", "all"),
        ("llama", "paper", "all"),
        ("llama", "clean", "text"),
        ("llama", "isolated", "all"),
        ("llama", "swapped", "text"),
    ],
)
def test_the_harness_decides_by_mean_surprise_as_an_independent_count_does(
    evaluated, name, prompt, counted
):
    samples = evaluated.samples if name == "gpt2" else evaluated.python[prompt]
    rows = expected(evaluated, name, counted, samples)
    assert decisions(samples) == {item: right for item, (right, _, _) in rows.items()}
    for sample in samples:
        _, ppls, _ = rows[place(sample)]
        assert [sample["ppl_original"], sample["ppl_altered"]] == pytest.approx(ppls, rel=1e-4)
    # Sums would decide otherwise, and so would always choosing one version
    assert {right for right, _, _ in rows.values()} == {True, False}
    if prompt != "swapped":
        assert any(right != by_sum for right, _, by_sum in rows.values())


@pytest.mark.sweep
@pytest.mark.parametrize("condition", ["isolated", "swapped"])
def test_the_harness_comes_to_what_the_command_comes_to(study, evaluated, tmp_path, condition):
    names = {"isolated": "paper", "swapped": "clean"}
    run = execute(
        create_run(
            study=study,
            language_model=ensure_language_model("org/llama"),
            backend="transformers",
            model_args={"pretrained": str(evaluated.folder / "llama")},
            condition=condition,
            prompt=names[condition],
            seed=5,
        )
    )
    assert run.status == "finished", run.error
    ours = {(s.item.key, s.unit): (s.ppl_original, s.ppl_altered) for s in run.item_scores.all()}
    theirs = {
        place(sample): (sample["ppl_original"], sample["ppl_altered"])
        for sample in evaluated.python[condition]
    }
    assert ours.keys() == theirs.keys()
    for where, ppls in ours.items():
        assert theirs[where] == pytest.approx(ppls, rel=1e-4)


@pytest.mark.sweep
def test_the_harness_command_reports_the_share_of_right_decisions(evaluated):
    report = evaluated.results["results"]["brainbench"]
    right = decisions(evaluated.samples).values()
    assert report["acc,none"] == pytest.approx(sum(right) / len(MARKUPS))
    assert report["sample_len"] == len(MARKUPS)
    assert evaluated.results["higher_is_better"]["brainbench"]["acc"] is True


@pytest.mark.sweep
def test_a_task_that_is_not_read_as_it_is_stops_the_harness(evaluated):
    assert "must be run without" in evaluated.python["refused"]


def make_scores(run, ppls):
    for item, (original, altered) in zip(run.study.items.order_by("key"), ppls, strict=False):
        ItemScore.objects.create(
            run=run,
            item=item,
            ppl_original=original,
            ppl_altered=altered,
            nll_all_original_nats=30.0,
            nll_all_altered_nats=40.0,
            nll_text_original_nats=10.0,
            nll_text_altered_nats=20.0,
        )


def written(runs, folder):
    """The results and, by task, the samples that were written."""
    paths = write_results(runs, folder)
    (results,) = (path for path in paths if path.name.startswith("results_"))
    samples = {
        path.name.removeprefix("samples_").rpartition("_")[0]: [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        for path in paths
        if path.suffix == ".jsonl"
    }
    return json.loads(results.read_text(encoding="utf-8")), samples


@pytest.mark.sweep
def test_written_results_have_the_shape_of_the_harnesss_own(study, evaluated, tmp_path):
    run = make_run(study)
    make_scores(run, [(9.0, 10.0), (11.0, 10.0), (9.0, 9.0)])
    results, samples = written([run], tmp_path)
    theirs = evaluated.results
    assert results.keys() == theirs.keys()
    assert results["results"]["memory_full"].keys() == theirs["results"]["brainbench"].keys()
    assert theirs["config"].keys() | {"identity"} == results["config"].keys()
    missing = theirs["configs"]["brainbench"].keys() - results["configs"]["memory_full"].keys()
    # How the harness came by the texts, which a run did not
    assert missing <= {
        *(
            "custom_dataset",
            "dataset_kwargs",
            "doc_to_text",
            "doc_to_choice",
            "process_results",
            "unsafe_code",
        ),
        *("fewshot_delimiter", "fewshot_config"),
    }
    (ours, *_), (sample, *_) = samples["memory_full"], evaluated.samples
    assert ours.keys() == sample.keys()
    assert ours["metrics"] == sample["metrics"] == list(HIGHER_IS_BETTER)
    assert ours["target_hash"] == sample["target_hash"]
    for key in ("arguments", "resps", "filtered_resps"):
        assert shape(ours[key]) == shape(sample[key])


def shape(value):
    """The types in a JSON value."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value)


def test_written_results_say_what_the_run_says(study, tmp_path):
    identity = {"dtype": "torch.float32", "device": "cpu", "libraries": {"transformers": "5.0"}}
    run = make_run(study, identity=identity, model_args={"pretrained": "x"}, limit=3)
    make_scores(run, [(9.0, 10.0), (11.0, 10.0), (9.0, 9.0)])
    results, samples = written([run], tmp_path)
    metrics = results["results"]["memory_full"]
    assert metrics["acc,none"] == pytest.approx(1 / 2)  # right, wrong and a tie
    assert metrics["acc_stderr,none"] == pytest.approx(0.5 / 3**0.5)
    assert metrics["near_tie,none"] == pytest.approx(1 / 3)
    assert metrics["ppl_original,none"] == pytest.approx(29 / 3)
    assert results["n-samples"]["memory_full"] == {"original": len(MARKUPS), "effective": 3}
    assert results["config"]["model"] == "hf"
    assert results["config"]["identity"] == identity
    assert results["pretty_env_info"].startswith("PyTorch version")
    assert results["git_hash"] is None or re.fullmatch(r"[0-9a-z.-]+", results["git_hash"])
    assert (results["model_name"], results["transformers_version"]) == ("org/tiny", "5.0")
    first = samples["memory_full"][0]
    assert first["resps"] == [[["-30.0", "None"]], [["-40.0", "None"]]]
    assert first["arguments"]["gen_args_1"] == {
        "arg_0": "",
        "arg_1": f"{PAPER_SENTENCE} Rats fasted for two whole days after training.",
    }
    assert [row["acc"] for row in samples["memory_full"]] == [1.0, 0.0, 0.5]


def test_runs_of_one_model_share_a_file_of_results_and_models_have_folders(study, tmp_path):
    make_scores(full := make_run(study), [(9.0, 10.0)])
    make_scores(clean := make_run(study, prompt="clean"), [(9.0, 10.0)])
    make_scores(again := make_run(study, prompt="clean"), [(9.0, 10.0)])
    results, samples = written([full, clean, again], tmp_path)
    assert list(samples) == ["memory_full", "memory_full_clean", f"memory_full_clean_run{again.pk}"]
    assert results["results"].keys() == samples.keys()
    given = samples["memory_full_clean"][0]["arguments"]["gen_args_0"]
    assert given == {"arg_0": f"{PAPER_SENTENCE} ", "arg_1": "Rats slept after training."}
    assert samples["memory_full_clean"][0]["resps"][0] == [["-10.0", "None"]]
    other = LanguageModel.objects.create(name="a/b:c", display_name="Other")
    make_scores(run := make_run(study, language_model=other), [(9.0, 10.0)])
    assert {path.parent.name for path in write_results([full, run], tmp_path)} == {
        "org__tiny",
        "a__b__c",
    }


def test_texts_that_are_gone_and_folders_that_cannot_be_are_said_in_a_sentence(study, tmp_path):
    make_scores(run := make_run(study), [(9.0, 10.0)])
    (tmp_path / "taken").write_text("")
    with pytest.raises(ScoringError, match="taken was not written"):
        write_results([run], tmp_path / "taken")
    study.items.remove(*study.items.filter(key="item-0"))
    with pytest.raises(ScoringError, match="have changed since it was scored"):
        write_results([run], tmp_path)
