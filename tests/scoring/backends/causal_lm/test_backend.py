"""The transformers backend on models saved to disk: right numbers, provenance, and one sentence for all that fails."""

import json
import shutil
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, GPT2Config

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.head import Backbone
from scoring.backends.model_files import weights_sha256
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError, TextError, TokenText
from scoring.services.open_model import open_backend
from tests.scoring.backends.causal_lm.architectures import expected_logprobs, perplexity_of
from tests.scoring.backends.causal_lm.saved_models import save_adapter, save_model, tiny_model
from tests.scoring.tiny_models import save_random
from tests.scoring.tokenizers_made import save_shuffled_demo

TEXTS = (
    (
        "Rats that slept after training remembered the maze better than rats kept awake.",
        "Rats that slept after training remembered the maze worse than rats kept awake.",
    ),
    (
        "Blocking the receptor in the amygdala abolished the response to the tone within minutes.",
        "Blocking the receptor in the amygdala doubled the response to the tone.",
    ),
    ("Short.", "Shorter."),
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, shared_dir):
    root = tmp_path_factory.mktemp("models")
    tokenizer = shared_dir / "tokenizers" / "gpt2"
    return {
        kind: save_model(root / kind, tokenizer, kind)
        for kind in ("gpt2", "llama", "mistral", "phi")
    }


def groups_of(backend, texts=TEXTS):
    return [
        [
            TokenText(f"item {n}, {version}", np.array(backend.tokenizer(text)["input_ids"]))
            for version, text in zip(("original", "altered"), pair, strict=True)
        ]
        for n, pair in enumerate(texts)
    ]


def scored(backend, groups, batch_tokens=None):
    backend.prepare(groups)
    results = [None] * len(groups)
    for batch in backend.plan(groups, batch_tokens):
        for n, result in zip(batch, backend.score([groups[n] for n in batch]), strict=True):
            results[n] = result
    return results


def assert_agree(results, groups, model):
    for group, result in zip(groups, results, strict=True):
        for text, logprobs in zip(group, result, strict=True):
            expected = expected_logprobs(model, text.ids)
            assert np.isnan(logprobs[0])
            assert len(logprobs) == len(text.ids)
            assert perplexity_of(logprobs) == pytest.approx(perplexity_of(expected), rel=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mistral", "phi"])
@pytest.mark.parametrize("strategy", ["", "single", "padded"])
def test_perplexities_agree_with_float64_at_any_batch_size(folders, kind, strategy):
    args = {"pretrained": str(folders[kind])} | ({"strategy": strategy} if strategy else {})
    backend = open_backend("hf", args)
    groups = groups_of(backend)
    model = AutoModelForCausalLM.from_pretrained(folders[kind])
    for batch_tokens in (1, 40, None):
        assert_agree(scored(backend, groups, batch_tokens), groups, model)
    assert backend.identity()["rung"] == (strategy or "packed")
    backend.close()


@pytest.mark.parametrize("kind", ["gpt2", "phi"])
def test_an_adapter_counts_when_it_is_on_and_only_then(folders, tmp_path, kind):
    targets = {"gpt2": ["c_attn", "c_fc"], "phi": ["q_proj", "fc1"]}[kind]
    adapter = save_adapter(tmp_path / "lora", kind, *targets)
    bare = open_backend("hf", {"pretrained": str(folders[kind])})
    tuned = open_backend("hf", {"pretrained": str(folders[kind]), "peft": str(adapter)})
    groups = groups_of(bare)
    without, with_it = scored(bare, groups), scored(tuned, groups)
    from peft import PeftModel

    base = AutoModelForCausalLM.from_pretrained(folders[kind])
    assert_agree(without, groups, base)
    merged = PeftModel.from_pretrained(base, adapter).merge_and_unload()
    assert_agree(with_it, groups, merged)
    assert perplexity_of(without[0][0]) != pytest.approx(perplexity_of(with_it[0][0]), rel=1e-3)
    assert tuned.identity()["adapter_sha256"] == weights_sha256(adapter, "adapter")
    assert "adapter" not in bare.identity()


def test_an_adapter_on_the_head_is_not_passed_over(folders, tmp_path):
    adapter = save_adapter(tmp_path / "lora", "phi", "lm_head", "q_proj")
    from peft import PeftModel

    backend = open_backend("hf", {"pretrained": str(folders["phi"]), "peft": str(adapter)})
    groups = groups_of(backend)
    results = scored(backend, groups)
    assert backend.identity()["head"] == "the model's own"
    base = AutoModelForCausalLM.from_pretrained(folders["phi"])
    assert_agree(results, groups, PeftModel.from_pretrained(base, adapter).merge_and_unload())


def test_what_decides_the_numbers_is_kept(folders):
    backend = open_backend("hf", {"pretrained": str(folders["gpt2"])})
    backend.prepare(groups_of(backend))
    identity = json.loads(json.dumps(backend.identity()))
    assert identity["dtype"] == "float32"
    assert identity["attention"] == "sdpa"
    assert identity["weights_sha256"] == weights_sha256(folders["gpt2"])
    assert identity["libraries"]["torch"] == version("torch")
    assert identity["architecture"] == "GPT2LMHeadModel"
    assert identity["n_parameters"] == sum(p.numel() for p in tiny_model().parameters())
    assert len(identity["tokenizer_sha256"]) == 64


def test_one_weight_changed_changes_the_hash(folders, tmp_path):
    copy = shutil.copytree(folders["gpt2"], tmp_path / "copy")
    before = weights_sha256(copy)
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "model.safetensors").write_bytes(data)
    assert weights_sha256(copy) != before


def test_a_text_beyond_the_window_is_named_and_the_rest_goes_on(folders):
    backend = open_backend("hf", {"pretrained": str(folders["gpt2"])})
    groups = groups_of(backend)
    long = TokenText("item 9, original", np.resize(groups[0][0].ids, 100_000))
    mixed = [groups[0], [long, groups[1][1]], groups[2]]
    backend.prepare(groups)
    results = backend.score(mixed)
    assert "has 100000 tokens, and the model's window holds 1024" in str(results[1][0])
    assert isinstance(results[1][1], TextError)
    alone = backend.score([groups[0], groups[2]])
    for got, expected in zip((results[0], results[2]), alone, strict=True):
        assert all(g.tobytes() == e.tobytes() for g, e in zip(got, expected, strict=True))


def test_a_nan_in_one_text_leaves_the_others_their_numbers(folders):
    backend = open_backend("hf", {"pretrained": str(folders["phi"])})  # its head is not tied
    groups = groups_of(backend)
    backend.prepare(groups)
    token = int(groups[1][0].ids[3])
    with torch.no_grad():
        backend.model.get_input_embeddings().weight[token] = float("nan")
    results = backend.score(groups)
    assert all(isinstance(text, TextError) for text in results[1])
    assert_agree(
        [results[0], results[2]],
        [groups[0], groups[2]],
        AutoModelForCausalLM.from_pretrained(folders["phi"]),
    )


def refused(args):
    with pytest.raises(ScoringError) as caught:
        open_backend("hf", args)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def test_a_model_that_is_nowhere_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "There is no folder" in refused({"pretrained": str(tmp_path / "nowhere")})
    assert "nobody/nothing is no folder here" in refused({"pretrained": "nobody/nothing"})
    assert "must name the model" in refused({})


def test_weights_in_a_format_that_can_run_code_are_refused_with_the_way_out(folders, tmp_path):
    copy = shutil.copytree(folders["gpt2"], tmp_path / "copy")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    sentence = refused({"pretrained": str(copy)})
    assert "pytorch_model.bin" in sentence
    assert "save_pretrained()" in sentence


def test_cut_off_or_missing_or_misfitting_weights_are_refused(folders, tmp_path):
    cut = shutil.copytree(folders["gpt2"], tmp_path / "cut")
    data = (cut / "model.safetensors").read_bytes()
    (cut / "model.safetensors").write_bytes(data[: len(data) // 2])
    assert "model.safetensors is not whole" in refused({"pretrained": str(cut)})
    deeper = shutil.copytree(folders["gpt2"], tmp_path / "deeper")
    config = json.loads((deeper / "config.json").read_text())
    (deeper / "config.json").write_text(json.dumps(config | {"n_layer": 3}))
    assert "weights are missing" in refused({"pretrained": str(deeper)})
    wider = shutil.copytree(folders["gpt2"], tmp_path / "wider")
    (wider / "config.json").write_text(json.dumps(config | {"n_embd": 64}))
    assert str(wider) in refused({"pretrained": str(wider)})
    (cut / "config.json").write_text("{")
    assert str(cut) in refused({"pretrained": str(cut)})


def test_code_that_comes_with_a_model_is_never_run(folders, tmp_path):
    copy = shutil.copytree(folders["gpt2"], tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    config |= {
        "model_type": "surprise",
        "auto_map": {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"},
    }
    (copy / "config.json").write_text(json.dumps(config))
    (copy / "code.py").write_text("raise SystemExit('ran')")
    assert "such code is never run here" in refused({"pretrained": str(copy)})


def test_adapters_that_do_not_fit_are_refused(folders, tmp_path):
    base = str(folders["gpt2"])
    assert "no such folder" in refused({"pretrained": base, "peft": str(tmp_path / "none")})
    other = save_adapter(tmp_path / "other", "phi", "q_proj")
    assert "Target modules" in refused({"pretrained": base, "peft": str(other)})
    same_names = save_adapter(tmp_path / "llama", "llama", "k_proj")
    assert "the adapter" in refused({"pretrained": str(folders["phi"]), "peft": str(same_names)})
    unsafe = shutil.copytree(other, tmp_path / "unsafe")
    (unsafe / "adapter_model.safetensors").rename(unsafe / "adapter_model.bin")
    assert "adapter_model.bin" in refused({"pretrained": str(folders["phi"]), "peft": str(unsafe)})


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"dtype": "float8"}, "choose one of float32, bfloat16"),
        ({"trust_remote_code": "True"}, "trust_remote_code is not known here"),
        ({"quantization": "2bit"}, "choose one of 8bit, 4bit"),
        ({"quantization": "4bit"}, "bitsandbytes, which is not installed"),
    ],
)
def test_arguments_that_make_no_sense_are_named(folders, args, said):
    assert said in refused({"pretrained": str(folders["gpt2"])} | args)


def test_an_encoder_decoder_is_refused(tmp_path, shared_dir):
    from transformers import T5Config, T5ForConditionalGeneration

    T5ForConditionalGeneration(
        T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2, vocab_size=99)
    ).save_pretrained(tmp_path / "t5")
    assert "encoder-decoder" in refused({"pretrained": str(tmp_path / "t5")})


def test_layers_that_the_configuration_leaves_out_are_refused(folders, tmp_path):
    cut = shutil.copytree(folders["llama"], tmp_path / "cut")
    config = json.loads((cut / "config.json").read_text())
    (cut / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
    assert "weights of layers that its configuration does not have" in refused(
        {"pretrained": str(cut)}
    )


def test_an_adapter_for_a_deeper_model_is_refused_and_not_half_applied(folders, tmp_path):
    adapter = save_adapter(tmp_path / "lora", "llama", "q_proj")
    from safetensors.torch import load_file, save_file

    weights = load_file(adapter / "adapter_model.safetensors")
    # Of the same shapes, for a layer more than the model has
    deeper = {
        name.replace("layers.1.", "layers.2."): value.clone() for name, value in weights.items()
    }
    save_file(weights | deeper, adapter / "adapter_model.safetensors")
    said = refused({"pretrained": str(folders["llama"]), "peft": str(adapter)})
    assert "have no place in this model" in said
    assert "layers.2." in said


def test_a_setting_that_changes_the_numbers_changes_the_identity(folders, tmp_path):
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    before = open_backend("hf", {"pretrained": str(folders["llama"])}).identity()["config_sha256"]
    assert open_backend("hf", {"pretrained": str(copy)}).identity()["config_sha256"] == before
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps(config | {"rms_norm_eps": 0.01}))
    assert open_backend("hf", {"pretrained": str(copy)}).identity()["config_sha256"] != before
    adapter = save_adapter(tmp_path / "lora", "llama", "q_proj")
    args = {"pretrained": str(folders["llama"]), "peft": str(adapter)}
    tuned = open_backend("hf", args).identity()["adapter_config_sha256"]
    settings = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(settings | {"lora_alpha": 80}))
    assert open_backend("hf", args).identity()["adapter_config_sha256"] != tuned


def test_a_text_over_which_memory_runs_out_is_named_and_the_rest_goes_on(folders, monkeypatch):
    backend = open_backend("hf", {"pretrained": str(folders["gpt2"])})
    groups = groups_of(backend)
    backend.prepare(groups)
    strategy = type(backend.choice.strategy)
    hidden = Backbone.hidden

    def scarce(self, **inputs):
        if inputs["input_ids"].numel() > 14:
            raise RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
            )
        return hidden(self, **inputs)

    monkeypatch.setattr(Backbone, "hidden", scarce)
    results = backend.score(groups)
    assert strategy.name == "packed"
    assert "memory runs out over them" in str(results[1][0])
    assert_agree([results[2]], [groups[2]], AutoModelForCausalLM.from_pretrained(folders["gpt2"]))


TEXT = "Rats slept for two hours after training, and their place cells fired again."


def warnings_of(model: Path, tokenizer: Path | None = None) -> list[str]:
    args = {"pretrained": str(model), "device": "cpu"}
    backend = TransformersBackend(args | ({"tokenizer": str(tokenizer)} if tokenizer else {}))
    ids = np.arange(3, 40)
    backend.prepare([[TokenText("text", ids), TokenText("text", ids + 1)]])
    return backend.identity().get("warnings", [])


@pytest.fixture(scope="module")
def shuffled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_shuffled_demo(tmp_path_factory.mktemp("shuffled"))


def test_the_models_own_tokenizer_is_not_warned_about_named_or_not() -> None:
    assert warnings_of(MODEL_FOLDER) == []
    assert warnings_of(MODEL_FOLDER, MODEL_FOLDER) == []


def test_a_tokenizer_with_more_tokens_than_the_model_knows_is(shared_dir: Path) -> None:
    (sentence,) = warnings_of(MODEL_FOLDER, shared_dir / "tokenizers" / "gpt2")
    assert "beyond the 3072 that the model knows" in sentence


def test_a_tokenizer_of_as_many_tokens_that_mean_others_is(shuffled: Path) -> None:
    (sentence,) = warnings_of(MODEL_FOLDER, shuffled)
    assert "with its own it does not" in sentence


def test_without_the_models_own_to_compare_with_it_is_too(tmp_path: Path, shuffled: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((MODEL_FOLDER / name).read_bytes())
    (sentence,) = warnings_of(tmp_path, shuffled)
    assert "or the model untrained" in sentence
    assert warnings_of(tmp_path, MODEL_FOLDER) == []


def test_a_model_with_random_weights_gives_no_false_alarm(tmp_path: Path) -> None:
    """It reads every tokenizer at chance, its own as well: another one is no worse."""
    model = save_random(
        tmp_path / "model", GPT2Config(vocab_size=3072, n_embd=32, n_layer=2, n_head=2)
    )
    assert warnings_of(model, MODEL_FOLDER) == []
    assert warnings_of(model) == []
