"""The transformers backend on models saved to disk: right numbers, provenance, and one sentence for all that fails."""

import json
import shutil
from importlib.metadata import version

import numpy as np
import pytest
import torch
import transformers as hf
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.head import Backbone
from scoring.backends.model_files import weights_sha256
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError, TextError, TokenText
from scoring.services.open_model import open_backend
from tests.scoring.backends.causal_lm.architectures import expected_logprobs, perplexity_of
from tests.scoring.tiny_models import save_gpt2, save_lora, save_random
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
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 400,
    "max_position_embeddings": 1024,
}
CONFIGS = {
    "llama": hf.LlamaConfig(**SIZES, num_key_value_heads=1),
    "mistral": hf.MistralConfig(**SIZES, num_key_value_heads=1, sliding_window=64),
    "phi": hf.PhiConfig(**SIZES),
}
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    saved = {kind: save_random(root / kind, config) for kind, config in CONFIGS.items()}
    return saved | {"gpt2": save_gpt2(root / "gpt2")}


def opened(folder, **args):
    return open_backend("hf", {"pretrained": str(folder), **args})


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


# Every strategy of every kind is tried in test_strategies
@pytest.mark.parametrize(
    ("kind", "strategy"), [("gpt2", ""), ("gpt2", "padded"), ("mistral", ""), ("phi", "single")]
)
def test_perplexities_agree_with_float64_at_any_batch_size(folders, kind, strategy):
    backend = opened(folders[kind], **({"strategy": strategy} if strategy else {}))
    groups = groups_of(backend)
    model = AutoModelForCausalLM.from_pretrained(folders[kind])
    for batch_tokens in (1, 150, None):
        assert_agree(scored(backend, groups, batch_tokens), groups, model)
    assert backend.identity()["rung"] == (strategy or "packed")
    backend.close()


@pytest.mark.parametrize(
    ("kind", "targets"),
    [
        ("gpt2", ["c_attn", "c_fc"]),
        ("phi", ["q_proj", "fc1"]),
        ("phi", ["lm_head", "q_proj"]),  # which is not passed over
    ],
)
def test_an_adapter_counts_when_it_is_on_and_only_then(folders, tmp_path, kind, targets):
    adapter = save_lora(folders[kind], tmp_path / "lora", *targets)
    bare, tuned = opened(folders[kind]), opened(folders[kind], peft=str(adapter))
    groups = groups_of(bare)
    without, with_it = scored(bare, groups), scored(tuned, groups)
    base = AutoModelForCausalLM.from_pretrained(folders[kind])
    assert_agree(without, groups, base)
    merged = PeftModel.from_pretrained(base, adapter).merge_and_unload()
    assert_agree(with_it, groups, merged)
    assert perplexity_of(without[0][0]) != pytest.approx(perplexity_of(with_it[0][0]), rel=1e-3)
    assert tuned.identity()["adapter_sha256"] == weights_sha256(adapter, "adapter")
    assert "adapter" not in bare.identity()
    if "lm_head" in targets:
        assert tuned.identity()["head"] == "the model's own"


def changed(folder, file="config.json", **values):
    """The folder with other values in one of its files."""
    known = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps(known | values))
    return folder


class TestTheIdentity:
    def test_is_what_decides_the_numbers(self, folders):
        backend = opened(folders["gpt2"])
        backend.prepare(groups_of(backend))
        identity = json.loads(json.dumps(backend.identity()))
        assert identity["dtype"] == "float32"
        assert identity["attention"] == "sdpa"
        assert identity["weights_sha256"] == weights_sha256(folders["gpt2"])
        assert identity["libraries"]["torch"] == version("torch")
        assert identity["architecture"] == "GPT2LMHeadModel"
        assert identity["n_parameters"] == sum(p.numel() for p in backend.model.parameters())
        assert len(identity["tokenizer_sha256"]) == 64

    def test_changes_with_a_weight_or_a_setting_of_model_or_adapter(self, folders, tmp_path):
        copy = shutil.copytree(folders["llama"], tmp_path / "copy")
        adapter = save_lora(folders["llama"], tmp_path / "lora", "q_proj")

        def now():
            identity = opened(copy, peft=str(adapter)).identity()
            names = ("weights_sha256", "config_sha256", "adapter_config_sha256")
            return [identity[name] for name in names]

        first = now()
        assert first[:2] == [opened(folders["llama"]).identity()[n] for n in ("weights_sha256", "config_sha256")]  # fmt: skip
        data = bytearray((copy / WEIGHTS).read_bytes())
        data[-1] ^= 1
        (copy / WEIGHTS).write_bytes(data)
        changed(copy, rms_norm_eps=0.01)
        changed(adapter, "adapter_config.json", lora_alpha=80)
        assert all(one != other for one, other in zip(first, now(), strict=True))


class TestATextThatCannotBeScored:
    """It is named, and the rest goes on."""

    def test_beyond_the_window(self, folders):
        backend = opened(folders["gpt2"])
        groups = groups_of(backend)
        long = TokenText("item 9, original", np.resize(groups[0][0].ids, 100_000))
        backend.prepare(groups)
        results = backend.score([groups[0], [long, groups[1][1]], groups[2]])
        assert "has 100000 tokens, but the model's window has 1024" in str(results[1][0])
        assert isinstance(results[1][1], TextError)
        alone = backend.score([groups[0], groups[2]])
        for got, expected in zip((results[0], results[2]), alone, strict=True):
            assert all(g.tobytes() == e.tobytes() for g, e in zip(got, expected, strict=True))

    def test_a_text_for_which_the_model_gives_nan_fails_alone(self, folders):
        backend = opened(folders["phi"])  # its head is not tied
        groups = groups_of(backend)
        backend.prepare(groups)
        token = groups[1][0].ids[0]  # a capital that no other text has
        with torch.no_grad():
            backend.model.get_input_embeddings().weight[int(token)] = float("nan")
        results = backend.score(groups)
        assert all(isinstance(text, TextError) for text in results[1])
        model = AutoModelForCausalLM.from_pretrained(folders["phi"])
        assert_agree([results[0], results[2]], [groups[0], groups[2]], model)

    def test_over_which_memory_runs_out(self, folders, monkeypatch):
        backend = opened(folders["gpt2"])
        groups = groups_of(backend)
        backend.prepare(groups)
        hidden = Backbone.hidden

        def scarce(self, **inputs):
            if inputs["input_ids"].numel() > 14:
                raise RuntimeError(
                    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
                )
            return hidden(self, **inputs)

        monkeypatch.setattr(Backbone, "hidden", scarce)
        results = backend.score(groups)
        assert backend.choice.strategy.name == "packed"
        assert "memory is not sufficient" in str(results[1][0])
        model = AutoModelForCausalLM.from_pretrained(folders["gpt2"])
        assert_agree([results[2]], [groups[2]], model)


def refused(folder, **args):
    with pytest.raises(ScoringError) as caught:
        opened(folder, **args)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def test_a_model_that_is_nowhere_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert "There is no folder" in refused(tmp_path / "nowhere")
    assert "nobody/nothing is not a folder" in refused("nobody/nothing")
    with pytest.raises(ScoringError, match="must name the model"):
        open_backend("hf", {})


def of_pickle(folder):
    (folder / WEIGHTS).rename(folder / "pytorch_model.bin")


def with_code(folder):
    auto_map = {"AutoConfig": "code.C", "AutoModelForCausalLM": "code.M"}
    changed(folder, model_type="surprise", auto_map=auto_map)
    (folder / "code.py").write_text("raise SystemExit('ran')")


def cut_off(folder):
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: len(data) // 2])


DAMAGES = {
    "weights that can run code": ("gpt2", of_pickle, "pytorch_model.bin", "save_pretrained()"),
    "code": ("gpt2", with_code, "which this site never runs"),
    "weights cut off": ("gpt2", cut_off, f"{WEIGHTS} is incomplete"),
    "a layer too few": ("gpt2", lambda f: changed(f, n_layer=3), "weights are missing"),
    "a layer too many": ("llama", lambda f: changed(f, num_hidden_layers=1), "weights of layers that its configuration does not have"),
    "other shapes": ("gpt2", lambda f: changed(f, n_embd=64), "copy"),
    "no configuration": ("gpt2", lambda f: (f / "config.json").write_text("{"), "copy"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_folder_that_is_no_whole_and_safe_model_is_refused(folders, tmp_path, name):
    kind, damage, *words = DAMAGES[name]
    copy = shutil.copytree(folders[kind], tmp_path / "copy")
    damage(copy)
    said = refused(copy)
    assert all(part in said for part in words)


def deeper(adapter):
    """With weights of the same shapes for a layer more than the model has."""
    weights = load_file(adapter / "adapter_model.safetensors")
    more = {n.replace("layers.1.", "layers.2."): value.clone() for n, value in weights.items()}
    save_file(weights | more, adapter / "adapter_model.safetensors")


MISFITS = {
    "not there": ("gpt2", "gpt2", "c_attn", shutil.rmtree, "this folder does not exist"),
    "of other layers": ("gpt2", "phi", "q_proj", str, "Target modules"),
    "of other shapes": ("phi", "llama", "k_proj", str, "the adapter"),
    "deeper": ("llama", "llama", "q_proj", deeper, "do not fit this model", "layers.2."),
    "that can run code": (
        "phi", "phi", "q_proj",
        lambda f: (f / "adapter_model.safetensors").rename(f / "adapter_model.bin"), "adapter_model.bin",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
def test_an_adapter_that_does_not_fit_is_refused_and_not_half_applied(folders, tmp_path, name):
    base, made_for, target, change, *words = MISFITS[name]
    adapter = save_lora(folders[made_for], tmp_path / "lora", target)
    change(adapter)
    said = refused(folders[base], peft=str(adapter))
    assert all(part in said for part in words)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"dtype": "float8"}, "choose one of float32, bfloat16"),
        ({"trust_remote_code": "True"}, "trust_remote_code is not known"),
        ({"quantization": "2bit"}, "choose one of 8bit, 4bit"),
        ({"quantization": "4bit"}, "bitsandbytes, which is not installed"),
    ],
)
def test_arguments_that_make_no_sense_are_named(folders, args, said):
    assert said in refused(folders["gpt2"], **args)


def test_an_encoder_decoder_is_refused(tmp_path):
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    hf.T5ForConditionalGeneration(hf.T5Config(**sizes, vocab_size=99)).save_pretrained(tmp_path)
    assert "encoder-decoder" in refused(tmp_path)


def warnings_of(model, tokenizer=None):
    args = {"pretrained": str(model), "device": "cpu"}
    backend = TransformersBackend(args | ({"tokenizer": str(tokenizer)} if tokenizer else {}))
    ids = np.arange(3, 40)
    backend.prepare([[TokenText("text", ids), TokenText("text", ids + 1)]])
    return backend.identity().get("warnings", [])


def test_a_tokenizer_of_another_model_is_warned_about(tmp_path, shared_dir):
    bare, shuffled = tmp_path / "bare", save_shuffled_demo(tmp_path / "shuffled")
    bare.mkdir()
    for name in ("config.json", WEIGHTS):
        shutil.copy(MODEL_FOLDER / name, bare)
    for model, tokenizer, words in (
        (MODEL_FOLDER, shared_dir / "tokenizers" / "gpt2", "more than the model's 3072 tokens"),
        (MODEL_FOLDER, shuffled, "with its own tokenizer it is not"),
        (bare, shuffled, "or the model may be untrained"),  # without its own to compare with
    ):
        (sentence,) = warnings_of(model, tokenizer)
        assert words in sentence
    assert warnings_of(bare, MODEL_FOLDER) == []


def test_its_own_is_not_nor_any_of_a_model_with_random_weights(tmp_path):
    """That reads every tokenizer at chance, its own as well: another one is no worse."""
    untrained = save_gpt2(tmp_path / "model", vocab_size=3072)
    for model in (MODEL_FOLDER, untrained):
        assert warnings_of(model) == warnings_of(model, MODEL_FOLDER) == []
