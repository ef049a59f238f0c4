"""Training by the Hugging Face Trainer, and where ours differs from it, against plain loops."""

import math
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional
from transformers import AutoModelForCausalLM, GPT2LMHeadModel

from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.tokenizers import load_tokenizer
from scoring.domain.backend import TokenText
from scoring.training.corpus.manifest import BuiltCorpus
from scoring.training.lm.models import Start, model_of
from scoring.training.lm.packing import Packed, Rows, pack
from scoring.training.lm.train import train
from scoring.training.lm.trainer import plan_of
from scoring.training.settings import Lora, Mode, TrainingError, TrainingSettings
from tests.scoring.tiny_models import save_gpt2
from tests.scoring.training.lm import made
from tests.scoring.training.lm.made import make_corpus

STILL = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
ADAPTER = Lora(rank=4, alpha=8, dropout=0.0, targets=("c_attn", "c_proj"))


def small(mode: Mode = "scratch", **changes: Any) -> TrainingSettings:
    """The random model's tokenizer has no end token."""
    return made.small(mode, packing="joined", **changes)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> BuiltCorpus:
    return make_corpus(tmp_path_factory.mktemp("corpora") / "demo")


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Start:
    """A random model without dropout."""
    return Start(pretrained=save_gpt2(tmp_path_factory.mktemp("models") / "base", **STILL))


def packed(corpus: BuiltCorpus, start: Start, settings: TrainingSettings) -> Packed:
    tokenizer = load_tokenizer(str(start.pretrained))
    return pack(corpus, tokenizer, settings.packing, settings.limit)


def mean_nll_nats(folder: Path, ids: np.ndarray[Any, Any], context: int) -> float:
    model = AutoModelForCausalLM.from_pretrained(folder)
    total = count = 0
    for begin in range(0, len(ids), context):
        row = torch.tensor(ids[begin : begin + context].astype(np.int64))
        if len(row) > 1:
            with torch.no_grad():
                logits = model(input_ids=row[None]).logits[0, :-1]
            total += functional.cross_entropy(logits, row[1:], reduction="sum").item()
            count += len(row) - 1
    return total / count


def test_steps_are_those_of_a_plain_loop_and_the_last_ones_rows_are_not_dropped(
    corpus: BuiltCorpus, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = small("full", limit=1, epochs=2, accumulation=3, batch_rows=1, warmup_share=0.4)
    read: list[Tensor] = []
    get: Callable[[Rows, int], dict[str, Tensor]] = Rows.__getitem__

    def note(rows: Rows, number: int) -> dict[str, Tensor]:
        if Path(rows.ids.filename).name == "train.bin":  # type: ignore[attr-defined]
            read.append(get(rows, number)["input_ids"])
        return get(rows, number)

    monkeypatch.setattr(Rows, "__getitem__", note)
    trained = train(settings, corpus, start, tmp_path / "on", tmp_path / "model")
    plan = plan_of(settings, trained.rows)
    assert trained.rows % 3, "the last step of an epoch has fewer rows than the others"
    assert len(read) == 2 * trained.rows

    model = model_of(settings, start, load_tokenizer(str(start.pretrained)))
    model.train()
    decayed = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups)
    epochs = [read[: trained.rows], read[trained.rows :]]
    batches = [rows[n : n + 3] for rows in epochs for n in range(0, trained.rows, 3)]
    assert len(batches) == plan.steps == trained.steps
    warmup = math.ceil(0.4 * plan.steps)
    for step, rows in enumerate(batches):
        share = (step - warmup) / (plan.steps - warmup)
        scale = step / warmup if step < warmup else 0.5 * (1 + math.cos(math.pi * share))
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * scale
        ids = torch.stack(rows)
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    last = load_file(tmp_path / "on" / f"step-{plan.steps:06d}" / "model.safetensors")
    for name, value in model.state_dict().items():
        # A bias of all keys changes no attention: its gradient is rounding, which Adam makes large
        if name in last and not name.endswith("c_attn.bias"):
            assert torch.allclose(value, last[name], atol=2e-6), name


def test_the_held_out_loss_is_the_mean_over_tokens_and_the_best_steps_weights_are_the_result(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    # Twice the same two documents, far too fast: what is learned does not hold for others
    settings = small("full", limit=2, epochs=12, learning_rate=3e-3, evaluations=8, context=48)
    trained = train(settings, corpus, start, tmp_path / "on", tmp_path / "model")
    ids = packed(corpus, start, settings).held_out.ids()
    assert len(ids) % 48 > 1, "the last row is shorter than the others"
    assert trained.held_out_tokens == len(ids)
    base = Path(str(start.pretrained))
    assert trained.untrained_held_out_loss == pytest.approx(mean_nll_nats(base, ids, 48), abs=1e-5)
    assert 0 < trained.best_step < trained.steps
    own = mean_nll_nats(tmp_path / "model", ids, 48)
    assert trained.held_out_loss == pytest.approx(own, abs=1e-5)
    last = mean_nll_nats(tmp_path / "on" / f"step-{trained.steps:06d}", ids, 48)
    assert trained.held_out_loss < last


def test_scoring_an_adapter_is_scoring_the_base_with_its_matrices_added(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    settings = small("lora", lora=ADAPTER, learning_rate=1e-2)
    train(settings, corpus, start, tmp_path / "on", tmp_path / "adapter")
    base = Path(str(start.pretrained))
    model = GPT2LMHeadModel.from_pretrained(base)
    tensors, changed = load_file(tmp_path / "adapter" / "adapter_model.safetensors"), 0.0
    for name, down in tensors.items():  # down: (r, in), up: (out, r)
        if not name.endswith("lora_A.weight"):
            continue
        up = tensors[name.replace("lora_A", "lora_B")]
        place = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
        delta = (up @ down).T * (ADAPTER.alpha / ADAPTER.rank)  # GPT-2 holds (in, out)
        model.get_submodule(place).weight.data += delta
        changed += delta.abs().sum().item()
    assert changed > 1
    model.save_pretrained(tmp_path / "merged")
    load_tokenizer(str(base)).save_pretrained(tmp_path / "merged")

    args = {"pretrained": str(base), "peft": str(tmp_path / "adapter")}
    adapted, merged, plain = (
        _scores(one)
        for one in (args, {"pretrained": str(tmp_path / "merged")}, {"pretrained": str(base)})
    )
    assert np.abs(adapted - merged).max() < 1e-6
    assert np.abs(adapted - plain).max() > 1e-2


def _scores(args: dict[str, str]) -> np.ndarray[Any, Any]:
    backend = TransformersBackend({**args, "dtype": "float64"})
    ids = np.array(
        backend.tokenizer("Sleep helps the brain to keep what it has learned.").input_ids
    )
    groups = [[TokenText("text", ids)]]
    backend.prepare(groups)
    (result,) = backend.score(groups)
    scored = result[0]
    assert isinstance(scored, np.ndarray)
    return scored[1:]


def test_a_full_disk_leaves_the_checkpoint_before_and_no_part_of_the_next(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    settings, limits = small("lora"), resource.getrlimit(resource.RLIMIT_FSIZE)
    folder = tmp_path / "on"

    def fill() -> None:
        if list(folder.glob("step-*")):  # from the first checkpoint on, no file of more than 8 kB
            resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, limits[1]))

    try:
        with pytest.raises(OSError, match="File too large"):
            train(settings, corpus, start, folder, tmp_path / "adapter", check=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in folder.iterdir() if "step" in path.name] == ["step-000001"]
    assert train(settings, corpus, start, folder, tmp_path / "adapter").best_step > 0


def test_a_stopped_training_goes_on_from_its_last_checkpoint(
    corpus: BuiltCorpus, start: Start, tmp_path: Path
) -> None:
    class StoppedError(Exception):
        pass

    def stop() -> None:
        if (tmp_path / "on" / "step-000003").exists():
            raise StoppedError

    settings = small("lora")
    with pytest.raises(StoppedError):
        train(settings, corpus, start, tmp_path / "on", tmp_path / "adapter", check=stop)
    other = small("lora", seed=2)
    with pytest.raises(TrainingError, match="contains other files"):
        train(other, corpus, start, tmp_path / "on", tmp_path / "adapter")
    told: list[int] = []
    train(
        settings, corpus, start, tmp_path / "on", tmp_path / "adapter",
        on_point=lambda point: told.append(point.step),
    )  # fmt: skip
    assert told[0] == 4
