import csv
import json

import numpy as np
import pytest

from scoring.domain.perplexity import ratio, zlib_bytes
from scoring.domain.prompts import Prompt

# These families were given the paper's sentence as it is; Llama-2 and Falcon longer prompts of their own
GIVEN_THE_SENTENCE = ("facebook--galactica-6.7b", "gpt2", "finetune_gpt2")


@pytest.mark.parametrize("model", GIVEN_THE_SENTENCE)
def test_compressed_lengths_of_prompted_items_are_the_published_ones(shared_dir, model):
    results = shared_dir / "brainbench_results"
    with open(
        results / "testcases/BrainBench_Human_v0.1.csv", encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    folder = results / "model_results" / model / "human_abstracts"
    published, labels = np.load(folder / "ZLIB_A_and_B.npy"), np.load(folder / "labels.npy")
    prompt = Prompt.of("paper")
    ours = [
        [zlib_bytes(prompt.fill(row[f"{name}_abstract"])) for name in ("original", "incorrect")]
        for row in rows
    ]
    # Side A is the original where the label is 0
    theirs = [
        pair[::-1] if label else pair
        for pair, label in zip(published.tolist(), labels, strict=True)
    ]
    assert ours == theirs


def test_the_anchor_texts_compressed_length_and_ratio_are_the_published_ones(shared_dir):
    results = shared_dir / "brainbench_results"
    (anchor,) = json.loads((results / "data/gettysburg_address.json").read_text(encoding="utf-8"))
    reference = {"tiiuae--falcon-180B": 604.34, "meta-llama--Llama-2-70b-hf": 639.95}
    for model, expected in reference.items():
        folder = results / "model_results" / model / "gettysburg_address"
        assert zlib_bytes(anchor["text"]) == np.load(folder / "ZLIB.npy").item()
        ppl = np.load(folder / "PPL.npy").item()
        assert ratio(zlib_bytes(anchor["text"]), ppl) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("ppl", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ratio_needs_a_perplexity(ppl):
    with pytest.raises(ValueError, match="is not a perplexity"):
        ratio(700, ppl)
