"""The benchmark measures what it says it does; how fast the machine is, is no test's matter."""

import json
import mmap

import numpy as np
import pytest
import torch
from django.core.management import CommandError, call_command
from transformers import GPT2Config

from benchmarks.scoring import gpu, measuring, models


@pytest.fixture
def config(tmp_path):
    GPT2Config(n_embd=32, n_layer=1, n_head=2).save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def bench(capsys, *options):
    call_command("bench_scoring", *map(str, options), "--no_memory")
    return capsys.readouterr().out


@pytest.mark.sweep
def test_all_three_methods_agree_on_the_demo_items(capsys, config, shared_dir):
    args = f"config={config},tokenizer={shared_dir / 'tokenizers' / 'gpt2'}"
    options = ("--model_args", args, "--limit", 2, "--lm_eval_batches", "1,3", "--linear", "1,2,99")
    result = json.loads(bench(capsys, *options, "--json"))
    assert set(result["cpu_ratio"]) == set(result["wall_ratio"]) == {"published", "lm_eval"}
    assert result["lm_eval_batch"] in (1, 3)
    assert result["max_rel_error"] < 2e-5
    assert result["max_rel_error_float64"] < 1e-6
    assert result["decisions_changed"] == 0
    assert result["items"] == 2
    assert set(result["cpu_ratio_with_probe"]) == {"published", "lm_eval"}
    for name, ratio in result["cpu_ratio_with_probe"].items():
        cost = result["cpu_s"]["ours"] + result["probe_cpu_s"]
        assert ratio * cost == pytest.approx(result["cpu_ratio"][name] * result["cpu_s"]["ours"])
    assert result["probe_items"] * result["cpu_s"]["ours"] / 2 == pytest.approx(
        result["probe_cpu_s"]
    )
    assert set(result["linear"][0]["cpu_ratio_with_probe"]) == {"published", "lm_eval"}
    assert [row["items"] for row in result["linear"]] == [1, 2]
    assert result["distinct_tokens"] < result["tokens"]
    assert result["cpu_s"]["ours"] > 0


@pytest.mark.sweep
def test_people_are_shown_a_line_for_each_method(capsys, config, shared_dir):
    args = f"config={config},tokenizer={shared_dir / 'tokenizers' / 'gpt2'}"
    options = ("--model_args", args, "--limit", 1, "--lm_eval_batches", "", "--linear", "1")
    lines = bench(capsys, *options).splitlines()
    assert {line.split()[0] for line in lines if line} >= {"ours", "published"}
    assert any("decisions changed: 0" in line for line in lines)


def test_a_large_model_is_measured_where_there_is_a_device_for_it(config, monkeypatch):
    # On processors without bfloat16 a large product of such numbers takes minutes.
    monkeypatch.setattr(measuring, "matrix_product_flops", lambda device, dtype: (1e9, 1e9))
    rng = np.random.default_rng(0)
    texts = [[rng.integers(3, 99, 20) for _ in "AB"] for _ in range(3)]
    row = gpu.of_shape(str(config), "bfloat16", torch.device("cpu"), texts, 100)
    assert (row.dtype, row.strategy) == ("bfloat16", "packed")
    assert row.items_per_s > 0
    # No text begins like another here: 20 tokens of each run. A layer of GPT-2 has 12 d^2 weights, the head vocabulary x d.
    flop_per_item = 2 * (2 * 20) * (12 * 32**2 + 50257 * 32)
    assert row.share * 1e9 / row.items_per_s == pytest.approx(flop_per_item)


def test_without_a_gpu_the_large_models_are_not_measured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.measure([], 100, lambda: None) is None


def test_published_items_are_read(shared_dir):
    pairs = models.read_pairs(shared_dir / "brainbench_results")
    assert len(pairs) == 200
    assert all(original != altered for original, altered in pairs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model_args", "config=nowhere"), "neither a folder with a config.json nor one of gpt2"),
        (("--model_args", "config=gpt2,speed=high"), "speed: choose from"),
        (("--linear", "many"), "is not a list of numbers"),
        (("--items", "nowhere"), "nowhere"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence(options, said):
    with pytest.raises(CommandError, match=said):
        call_command("bench_scoring", *options, "--no_memory")


def test_peak_memory_is_what_was_held_at_once():
    def hold() -> None:
        # From the system itself: an allocator that held memory of earlier tests would need no more.
        with mmap.mmap(-1, 40 * 2**20) as held:
            held[:: mmap.PAGESIZE] = b"x" * (len(held) // mmap.PAGESIZE)

    peak = measuring.peak_mb(torch.device("cpu"), hold)
    if peak is not None:  # only Linux reports it
        assert 38 < peak < 60
