"""The demonstration model and its corpus."""

import json
import math
import shutil
from dataclasses import asdict
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
import torch
from django.core.management import call_command
from transformers import AutoModelForCausalLM, AutoTokenizer

from experiment.domain.markup import parse
from experiment.services.item_choice import read_items
from scoring.demo_lm import MODEL_FOLDER, NAME
from scoring.demo_lm.corpus import LITERATURE_DIR, Paragraph, corpus_sha256, read_corpus, split
from scoring.demo_lm.embedded import FILES, MANIFEST, EmbeddedBackend, verify
from scoring.demo_lm.training import Recipe, mean_nll_nats, save, train
from scoring.domain.backend import ScoringError, TokenText
from scoring.services.open_model import open_backend
from tests.scoring.demo_lm.overlap import answers, trespasses

CORPUS = read_corpus()
SENTENCES = [paragraph.sentences for paragraph in CORPUS]
ITEMS = pytest.mark.parametrize("entry", read_items(), ids=lambda entry: entry["key"])


@ITEMS
def test_corpus_and_literature_hold_no_text_and_no_finding_of_a_demo_item(entry):
    assert trespasses(SENTENCES, entry) == []
    assert trespasses([one.sentences for one in read_corpus(LITERATURE_DIR)], entry) == []


@ITEMS
def test_an_item_slipped_into_the_corpus_would_be_found(entry):
    for smuggled in (entry["finding"], *answers(entry), parse(entry["markup"]).altered):
        assert trespasses([["Neurons are cells.", smuggled]], entry) != []


def test_a_fact_in_other_words_and_a_passage_in_its_place_would_be_found():
    entry = {
        "key": "x",
        "subfield": "",
        "title": "Sleep",
        "finding": "Sleep spindles strengthen motor memories.",
        "markup": "We tested rats. After a nap the rats [[slowed, sped]] on the wheel.",
    }
    assert trespasses([["Memories that are motor: spindles of sleep strengthen those."]], entry)
    assert trespasses([["Old and tired, the rats sped on the way home."]], entry)
    assert trespasses([["Old and tired, the rats sped along on the way home."]], entry) == []


# Seconds rather than minutes; each value differs from the recipe's
SMALL = {"vocabulary": 300, "context": 32, "layers": 1, "heads": 2, "width": 16, "dropout": 0.1}
TEXTS = ["The cat sat on the mat.", "A dog ran to the door.", "The bird sang in the tree."]
PARAGRAPHS = [Paragraph("x", (text,)) for text in TEXTS]


def trained_files(folder: Path, seed: int) -> dict[str, bytes]:
    recipe = Recipe(seed=seed, steps=2, **SMALL)
    folder.mkdir()
    save(train(PARAGRAPHS[:2], PARAGRAPHS[2:], recipe), recipe, PARAGRAPHS, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model_copy(tmp_path):
    return Path(shutil.copytree(MODEL_FOLDER, tmp_path / "model"))


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(MODEL_FOLDER, local_files_only=True)


@pytest.fixture(scope="module")
def model():
    return AutoModelForCausalLM.from_pretrained(
        MODEL_FOLDER, dtype=torch.float32, local_files_only=True
    ).eval()


def logprobs(model, ids):
    """(T,) log p of each token given those before it, NaN first; float64 softmax in NumPy, not ours."""
    with torch.inference_mode():
        logits = model(torch.tensor(ids)[None]).logits[0].numpy().astype(np.float64)  # (T, V)
    shifted = logits - logits.max(axis=1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))  # (T, V)
    return np.concatenate([[math.nan], logp[np.arange(len(ids) - 1), ids[1:]]])


def test_the_shipped_files_are_those_of_the_manifest_and_smaller_than_5_mb():
    manifest = verify(MODEL_FOLDER)
    assert {path.name for path in MODEL_FOLDER.iterdir()} == {*FILES, MANIFEST}
    assert sum(path.stat().st_size for path in MODEL_FOLDER.iterdir()) < 5_000_000
    for name, facts in manifest["files"].items():
        assert facts["bytes"] == (MODEL_FOLDER / name).stat().st_size
    assert manifest["label"] == "demonstration only"
    assert manifest["licence"] == "Apache-2.0"


def test_the_shipped_model_was_made_from_this_corpus_with_the_commands_defaults():
    manifest = verify(MODEL_FOLDER)
    assert manifest["corpus"]["sha256"] == corpus_sha256()
    assert manifest["recipe"] == asdict(Recipe())
    losses = manifest["losses"]["held_out_by_step"]
    assert int(min(losses, key=losses.get)) == manifest["best_step"]


def test_the_held_out_loss_of_the_shipped_model_is_the_manifests(model, tokenizer):
    stated = verify(MODEL_FOLDER)["losses"]
    total, count, n_bytes = 0.0, 0, 0
    for paragraph in split(read_corpus())[1]:
        ids = tokenizer(paragraph.text)["input_ids"]
        total -= logprobs(model, ids)[1:].sum()
        count += len(ids) - 1
        n_bytes += len(paragraph.text.encode())
    assert count == stated["held_out_tokens"]
    assert total / count == pytest.approx(stated["held_out_nats_per_token"], abs=1e-4)
    assert total / math.log(2) / n_bytes == pytest.approx(
        stated["held_out_bits_per_byte"], abs=1e-4
    )


def test_the_same_seed_trains_the_same_bytes_and_another_seed_others(tmp_path):
    torch.manual_seed(123)  # what went on before in the process does not matter
    first = trained_files(tmp_path / "a", 7)
    torch.manual_seed(456)
    assert trained_files(tmp_path / "b", 7) == first
    other = trained_files(tmp_path / "c", 8)
    assert other["model.safetensors"] != first["model.safetensors"]
    assert other["tokenizer.json"] == first["tokenizer.json"]


def test_the_command_trains_as_asked(tmp_path):
    call_command("train_demo_lm", "--output", str(tmp_path), "--steps", "1", "--seed", "7", stdout=StringIO())  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, MANIFEST}
    assert verify(tmp_path)["recipe"] == asdict(Recipe(seed=7, steps=1))


def test_the_model_kept_is_the_one_with_the_lowest_held_out_loss():
    recipe = Recipe(steps=40, learning_rate=0.1, warmup_steps=1, evaluate_every=2, **SMALL)
    trained = train(PARAGRAPHS[:2], PARAGRAPHS[2:], recipe)
    losses = dict(trained.held_out_losses)
    assert trained.best_step == min(losses, key=losses.get) < recipe.steps
    ids = trained.tokenizer.encode(PARAGRAPHS[2].text).ids
    assert mean_nll_nats(trained.model, [ids]) == pytest.approx(min(losses.values()), abs=1e-6)
    assert trained.held_out_loss < losses[recipe.steps]


def test_the_embedded_backend_scores_as_the_plain_model_does(model, tokenizer):
    abstract = parse(read_items()[0]["markup"])
    group = [
        TokenText(version, np.array(tokenizer(getattr(abstract, version))["input_ids"]))
        for version in ("original", "altered")
    ]
    backend = open_backend("embedded", {"device": "cpu"})
    backend.prepare([group])
    for text, scored in zip(group, backend.score([group])[0], strict=True):
        np.testing.assert_allclose(scored, logprobs(model, text.ids), rtol=0, atol=2e-5)
    identity = backend.identity()
    assert (backend.kind, backend.context_tokens) == ("embedded", 512)
    assert (identity["model"], identity["label"]) == (NAME, "demonstration only")
    assert str(MODEL_FOLDER) not in json.dumps(identity)
    backend.close()


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_refused_in_one_sentence(model_copy, name):
    content = bytearray((model_copy / name).read_bytes())
    content[-2] ^= 1
    (model_copy / name).write_bytes(content)
    with pytest.raises(ScoringError, match=rf"{name} is not the file that .*train_demo_lm`\.$"):
        EmbeddedBackend({}, model_copy)


@pytest.mark.parametrize("content", ["{", "{}"])
def test_an_unreadable_manifest_is_refused_in_one_sentence(model_copy, content):
    (model_copy / MANIFEST).write_text(content)
    with pytest.raises(ScoringError, match=r"no readable manifest\.json"):
        EmbeddedBackend({}, model_copy)


def test_the_embedded_model_cannot_be_made_another_by_arguments():
    for name in ("pretrained", "tokenizer", "peft", "revision"):
        with pytest.raises(ScoringError, match=f"does not accept {name}"):
            open_backend("embedded", {name: "x"})
