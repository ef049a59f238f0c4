"""Things that libraries would do unasked and that change a score or an answer: the list is in docs/library-defaults.md."""

import importlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from peft import IA3Config, LoraConfig, get_peft_model
from transformers.integrations import hub_kernels
from transformers.utils.import_utils import is_env_variable_true

import scoring.backends
from scoring import demo_lm
from scoring.backends.causal_lm import loading
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.generator import TransformersGenerator
from scoring.backends.causal_lm.loading import load
from scoring.backends.opening import open_backend
from scoring.backends.token_vectors import TokenVectors
from scoring.backends.tokenizers import load_tokenizer
from scoring.backends.vllm import VllmBackend
from scoring.demo_lm.embedded import EmbeddedBackend
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Message
from scoring.domain.prompts import applied
from scoring.pairs import score_pairs
from scoring.training.lm.models import Start, tokenizer_of
from scoring.training.lm.models import model_of as training_model_of
from scoring.training.settings import TrainingError, of_preset
from tests.scoring.tiny_models import save_gpt2, save_lora, save_random

PAIRS = ["The cells [[gained, lost]] weight.", "The rats [[slept, woke]] in the dark."]
LLAMA = {
    "hidden_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "vocab_size": 400,
}
TEMPLATE = "{% for m in messages %}{{ m.content }}{% endfor %}"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gpt2(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_lora(base, tmp_path_factory.mktemp("adapter"))


@pytest.fixture(scope="module")
def both(base: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("x") / "both"
    shutil.copytree(base, folder)
    for path in adapter.glob("adapter_*"):
        shutil.copy(path, folder)
    return folder


def perplexities(folder: Path, **args: str) -> list[float]:
    scored = score_pairs(PAIRS, folder, prompt="none", device="cpu", **args)
    return [text.ppl for pair in scored for text in (pair.original, pair.altered)]


def changed(folder: Path, file: str, **values: Any) -> None:
    path = folder / file
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | values))


def sharded(base: Path, root: Path) -> Path:
    """The model as several files of weights and their index."""
    folder = Path(shutil.copytree(base, root / "sharded"))
    (folder / "model.safetensors").unlink()
    hf.GPT2LMHeadModel.from_pretrained(base).save_pretrained(folder, max_shard_size="50KB")
    assert (folder / "model.safetensors.index.json").exists()
    return folder


class TestAnAdapterBesideFullWeights:
    def test_is_refused_in_a_sentence_that_names_both_ways_to_go_on(self, both: Path) -> None:
        with pytest.raises(ScoringError) as refused:
            perplexities(both)
        assert str(refused.value) == (
            f"{both} contains an adapter (adapter_config.json) and full weights. peft={both} loads both, "
            "and adapter=ignore only the weights."
        )

    def test_is_left_alone_or_loaded_as_is_asked(
        self, base: Path, adapter: Path, both: Path
    ) -> None:
        alone, tuned = perplexities(base), perplexities(base, peft=str(adapter))
        assert perplexities(both, adapter="ignore") == alone != tuned
        assert perplexities(both, peft=str(both)) == tuned
        assert perplexities(both, peft=str(adapter)) == tuned

    def test_is_in_the_identity_where_it_was_loaded_and_only_there(
        self, base: Path, adapter: Path, both: Path
    ) -> None:
        identities = [
            load({"pretrained": str(base)}).provenance,
            load({"pretrained": str(both), "adapter": "ignore"}).provenance,
            load({"pretrained": str(base), "peft": str(adapter)}).provenance,
            load({"pretrained": str(both), "peft": str(both)}).provenance,
        ]
        assert len({identity["weights_sha256"] for identity in identities}) == 1
        hashes = [identity.get("adapter_sha256") for identity in identities]
        assert hashes[:2] == [None, None]
        assert hashes[2] == hashes[3] is not None
        assert identities[3]["adapter"] == str(both)

    def test_without_full_weights_is_no_model(self, adapter: Path, tmp_path: Path) -> None:
        shutil.copytree(adapter, tmp_path / "part")
        changed(tmp_path / "part", "config.json", model_type="gpt2")
        for folder in (adapter, tmp_path / "part"):
            with pytest.raises(ScoringError, match=r"contains an adapter without a model.*peft="):
                load({"pretrained": str(folder)})

    @pytest.mark.parametrize("args", [{"adapter": "yes"}, {"adapter": "ignore", "peft": "x"}])
    def test_is_ignored_in_no_other_words(self, base: Path, args: dict[str, str]) -> None:
        with pytest.raises(ScoringError, match=r"choose one of ignore|exclude each other"):
            open_backend("hf", {"pretrained": str(base), **args})

    def test_is_refused_by_whatever_opens_a_model(
        self, both: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tokenizer = hf.AutoTokenizer.from_pretrained(both)
        tokenizer.chat_template = TEMPLATE
        tokenizer.save_pretrained(tmp_path)
        demo = tmp_path / "demo"
        shutil.copytree(demo_lm.MODEL_FOLDER, demo)
        for path in both.glob("adapter_*"):
            shutil.copy(path, demo)
        monkeypatch.setitem(__import__("sys").modules, "vllm", object())
        writes = {"pretrained": str(both), "tokenizer": str(tmp_path)}
        openers: list[Callable[[], object]] = [
            lambda: open_backend("hf", {"pretrained": str(both)}),
            lambda: TransformersGenerator(writes),
            lambda: EmbeddedBackend({}, demo),
            lambda: VllmBackend({"pretrained": str(both)}),
            lambda: TokenVectors(both),
        ]
        for opener in openers:
            with pytest.raises(ScoringError, match="contains an adapter"):
                opener()

    def test_is_refused_where_a_training_starts(self, both: Path) -> None:
        settings, start = of_preset("tiny", "lora"), Start(both)
        tokenizer = tokenizer_of(settings, start)
        with pytest.raises(
            TrainingError, match=r"contains an adapter.*need weights without an adapter"
        ):
            training_model_of(settings, start, tokenizer)


class TestPrecision:
    def test_vectors_are_in_float32_whatever_the_checkpoint_says(self, tmp_path: Path) -> None:
        folder = save_random(tmp_path, hf.LlamaConfig(**LLAMA), torch.bfloat16)
        assert TokenVectors(folder)._model.dtype == torch.float32

    def test_an_adapter_is_in_float64_where_the_model_is(self, base: Path, adapter: Path) -> None:
        args = {"pretrained": str(base), "peft": str(adapter), "device": "cpu"}
        model = load({**args, "dtype": "float64"}).model
        assert {p.dtype for p in model.parameters()} == {torch.float64}

    def test_an_adapter_that_peft_keeps_in_another_precision_is_named(
        self, base: Path, adapter: Path
    ) -> None:
        args = {"pretrained": str(base), "peft": str(adapter), "device": "cpu"}
        assert load({**args, "dtype": "bfloat16"}).provenance["adapter_dtype"] == "float32"
        assert "adapter_dtype" not in load(args).provenance

    @pytest.mark.parametrize("kind", ["ia3", "a whole layer beside it"])
    def test_so_is_one_without_lora_weights_or_with_others(
        self, base: Path, tmp_path: Path, kind: str
    ) -> None:
        targets = {"target_modules": ["c_attn"], "fan_in_fan_out": True, "task_type": "CAUSAL_LM"}
        config = (
            IA3Config(feedforward_modules=[], **targets)
            if kind == "ia3"
            else LoraConfig(r=2, modules_to_save=["ln_f"], **targets)
        )
        adapted = get_peft_model(hf.GPT2LMHeadModel.from_pretrained(base), config)
        adapted.save_pretrained(tmp_path, save_embedding_layers=False)
        args = {"pretrained": str(base), "peft": str(tmp_path), "device": "cpu"}
        loaded = load({**args, "dtype": "bfloat16"})
        brought = {p.dtype for name, p in loaded.model.named_parameters() if "default" in name}
        named = loaded.provenance["adapter_dtype"].split(", ")
        assert named == sorted(str(d).removeprefix("torch.") for d in brought - {torch.bfloat16})
        assert "adapter_dtype" not in load(args).provenance


class TestWeights:
    def test_stored_quantized_are_named_and_quantized_no_second_time(self) -> None:
        config = hf.LlamaConfig(**LLAMA, quantization_config={"quant_method": "gptq", "bits": 4})
        assert loading.quantization(config, {}) == "gptq"
        with pytest.raises(ScoringError, match=r"stored quantized.*gptq"):
            loading.quantization(config, {"quantization": "8bit"})
        assert loading.quantization(hf.LlamaConfig(**LLAMA), {"quantization": "8bit"}) == "8bit"

    def test_that_a_configuration_ties_and_files_hold_twice_are_refused(
        self, tmp_path: Path
    ) -> None:
        folder = save_random(tmp_path, hf.LlamaConfig(**LLAMA, tie_word_embeddings=False))
        assert load({"pretrained": str(folder)}).model
        changed(folder, "config.json", tie_word_embeddings=True)
        with pytest.raises(ScoringError, match="ties the output layer to the embeddings"):
            load({"pretrained": str(folder)})

    def test_one_file_of_weights_beside_an_index_of_others_is_refused(
        self, base: Path, tmp_path: Path
    ) -> None:
        folder = sharded(base, tmp_path)
        alone = perplexities(folder)
        shutil.copy(save_gpt2(tmp_path / "other", seed=1) / "model.safetensors", folder)
        with pytest.raises(ScoringError) as refused:
            perplexities(folder)
        assert str(refused.value) == (
            f"{folder} contains two sets of weights: model.safetensors, and those that "
            "model.safetensors.index.json names. Move one of them out of the folder."
        )
        (folder / "model.safetensors").unlink()
        assert perplexities(folder) == alone

    def test_that_are_passed_over_are_told_from_those_that_are_read(
        self, base: Path, tmp_path: Path
    ) -> None:
        folder = sharded(base, tmp_path)
        alone = perplexities(folder)
        args = {"pretrained": str(folder), "device": "cpu"}
        shards = sorted(path.name for path in folder.glob("*.safetensors"))
        assert "weights_read" not in load(args).provenance
        other = save_gpt2(tmp_path / "other", seed=1) / "model.safetensors"
        shutil.copy(other, folder / "consolidated.safetensors")  # as Mistral's repositories have it
        assert perplexities(folder) == alone
        assert load(args).provenance["weights_read"] == shards

    def test_that_a_configuration_names_are_refused(self, base: Path, tmp_path: Path) -> None:
        folder = Path(shutil.copytree(base, tmp_path / "named"))
        shutil.copy(folder / "model.safetensors", folder / "other.safetensors")
        changed(folder, "config.json", transformers_weights="other.safetensors")
        with pytest.raises(ScoringError, match=r"names a file of weights.*other\.safetensors"):
            load({"pretrained": str(folder)})


class TestKernels:
    def test_the_attention_is_not_the_configurations_to_choose(self, tmp_path: Path) -> None:
        folder = save_random(tmp_path, hf.LlamaConfig(**LLAMA))
        changed(folder, "config.json", attn_implementation="eager")
        backend = TransformersBackend({"pretrained": str(folder), "device": "cpu"})
        assert backend.identity()["attention"] == "sdpa"
        asked = {"pretrained": str(folder), "device": "cpu", "attn": "eager"}
        assert TransformersBackend(asked).identity()["attention"] == "eager"

    def test_the_kernels_of_experts_are_not_chosen_by_the_configuration(
        self, tmp_path: Path
    ) -> None:
        experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "num_key_value_heads": 2}
        folder = save_random(tmp_path, hf.MixtralConfig(**LLAMA, **experts))
        args = {"pretrained": str(folder), "device": "cpu"}
        own = TransformersBackend(args).identity()["experts"]
        assert own != "batched_mm"
        changed(folder, "config.json", experts_implementation="batched_mm")
        assert TransformersBackend(args).identity()["experts"] == own
        assert TransformersBackend({**args, "dtype": "float64"}).identity()["experts"] == "eager"

    def test_none_is_fetched_from_a_hub(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert not hub_kernels._kernels_enabled
        monkeypatch.setenv("USE_HUB_KERNELS", "YES")
        monkeypatch.setenv("DISABLE_SAFETENSORS_CONVERSION", "NO")
        importlib.reload(scoring.backends)
        assert os.environ["USE_HUB_KERNELS"] == "NO"
        assert is_env_variable_true("DISABLE_SAFETENSORS_CONVERSION")
        with pytest.raises(ScoringError, match="never runs code from a hub"):
            load({"pretrained": str(base), "attn": "kernels-community/flash-attn"})

    def test_that_are_installed_are_in_the_identity(
        self, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        backend = TransformersBackend({"pretrained": str(base), "device": "cpu"})
        assert "kernels" not in backend.identity()
        assert "experts" not in backend.identity()
        monkeypatch.setattr("scoring.backends.causal_lm.backend._installed", lambda name: "1.0")
        assert backend.identity()["kernels"]["mamba-ssm"] == "1.0"


class TestTokenizers:
    def test_a_class_that_cuts_texts_otherwise_than_the_file_is_refused(
        self, base: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / "tokenizer"
        shutil.copytree(demo_lm.MODEL_FOLDER, folder)
        assert load_tokenizer(str(folder))
        changed(folder, "tokenizer_config.json", tokenizer_class="Qwen2Tokenizer")
        with pytest.raises(
            ScoringError, match=r"Qwen2Tokenizer.*differently from.*tokenizer\.json"
        ):
            load_tokenizer(str(folder))

    def test_one_that_is_converted_says_so(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        model = json.loads((demo_lm.MODEL_FOLDER / "tokenizer.json").read_text())["model"]
        (tmp_path / "vocab.json").write_text(json.dumps(model["vocab"]))
        merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in model["merges"]]
        (tmp_path / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]))
        changed(tmp_path, "tokenizer_config.json", tokenizer_class="GPT2Tokenizer")
        load_tokenizer(str(tmp_path))
        assert "does not have a tokenizer.json, so transformers converted" in caplog.text


class TestChatTemplates:
    def test_are_written_on_the_same_day_always(self, base: Path) -> None:
        tokenizer = load_tokenizer(str(base))
        tokenizer.chat_template = (
            "{% macro day() %}{{ strftime_now('%d %b %Y') }}{% endmacro %}"
            "{{ day() }}, {{ strftime_now('%Y-%m-%d %H:%M') }}"
        )
        turns = [{"role": "user", "content": "And?"}]
        assert applied(tokenizer, turns) == "26 Jul 2024, 2024-07-26 00:00"


class TestGeneration:
    @pytest.mark.parametrize(
        "drawn", [{}, {"temperature": "1", "seed": "3"}], ids=["greedy", "drawn"]
    )
    def test_takes_nothing_but_ends_from_the_models_own_defaults(
        self, tmp_path: Path, drawn: dict[str, str]
    ) -> None:
        tokenizer = hf.AutoTokenizer.from_pretrained(save_gpt2(tmp_path))
        tokenizer.chat_template = TEMPLATE
        tokenizer.save_pretrained(tmp_path)

        def written() -> str:
            args = {"pretrained": str(tmp_path), "device": "cpu", "max_tokens": "12", **drawn}
            generator = TransformersGenerator(args)
            return generator.generate([Message("user", "The cells gained weight.")]).text

        own = written()
        defaults: dict[str, Any] = {
            "repetition_penalty": 9.0,
            "no_repeat_ngram_size": 1,
            "suppress_tokens": list(range(40, 60)),
            "forced_eos_token_id": 7,
            "min_new_tokens": 3,
            **({"top_k": 1, "typical_p": 0.1} if drawn else {}),
        }
        changed(tmp_path, "generation_config.json", **defaults)
        assert written() == own

    def test_draws_from_all_tokens_where_top_p_says_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """transformers alone would draw from the 50 likeliest."""
        tokenizer = hf.AutoTokenizer.from_pretrained(save_gpt2(tmp_path))
        tokenizer.chat_template = TEMPLATE
        tokenizer.save_pretrained(tmp_path)
        args = {"pretrained": str(tmp_path), "device": "cpu", "temperature": "2", "seed": "1"}
        generator = TransformersGenerator({**args, "max_tokens": "60"})
        prompt = generator.prompt_ids([Message("user", "The cells gained weight.")])
        (ids,) = generator._written([prompt], 60, 0)
        at = len(prompt) - 1
        with torch.inference_mode():
            logits = generator.model(torch.tensor([prompt + ids])).logits[0, at:-1]
        ranks = [int((row > row[i]).sum()) for row, i in zip(logits, ids, strict=True)]
        assert max(ranks) >= 50

    def test_spaces_are_not_tidied(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shutil.copytree(demo_lm.MODEL_FOLDER, tmp_path / "model")
        changed(
            tmp_path / "model",
            "tokenizer_config.json",
            clean_up_tokenization_spaces=True,
            chat_template=TEMPLATE,
        )
        generator = TransformersGenerator({"pretrained": str(tmp_path / "model"), "device": "cpu"})
        text = "The cells , it seems , did n't grow ."
        ids = generator.tokenizer(text, add_special_tokens=False)["input_ids"]
        monkeypatch.setattr(generator, "_written", lambda prompts, *_: [ids])
        assert generator.generate([Message("user", "And?")]).text == text
