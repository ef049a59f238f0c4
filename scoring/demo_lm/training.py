"""Trains the demonstration model from scratch, on a CPU, on this project's own corpus, and writes its folder. Knows no item."""

import copy
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import safetensors.torch
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from scoring.demo_lm import NAME
from scoring.demo_lm.corpus import Paragraph, corpus_sha256
from scoring.demo_lm.embedded import write_manifest
from scoring.domain.backend import ScoringError
from scoring.training.lm.tokenizer import END_ID, train_tokenizer, write_tokenizer


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, besides the corpus, the libraries and the processor."""

    seed: int = 1
    steps: int = 800
    vocabulary: int = 3072
    context: int = 512
    layers: int = 3
    heads: int = 4
    width: int = 128
    dropout: float = 0.2
    rows: int = 1
    learning_rate: float = 7e-4
    warmup_steps: int = 20
    weight_decay: float = 0.1
    evaluate_every: int = 20


@dataclass
class Trained:
    """The model as it was at its lowest held-out loss, and how it came about."""

    model: GPT2LMHeadModel
    tokenizer: Tokenizer
    best_step: int = 0
    # (step, nats per token)
    held_out_losses: list[tuple[int, float]] = field(default_factory=list)
    training_loss: float = math.nan
    held_out_tokens: int = 0
    held_out_bytes: int = 0

    @property
    def held_out_loss(self) -> float:
        return min((loss for _, loss in self.held_out_losses), default=math.inf)

    @property
    def held_out_bits_per_byte(self) -> float:
        """The same loss in a unit that does not depend on the vocabulary."""
        return self.held_out_loss / math.log(2) * self.held_out_tokens / self.held_out_bytes


def train(
    training: Sequence[Paragraph],
    held_out: Sequence[Paragraph],
    recipe: Recipe,
    on_step: Callable[[int], None] = lambda step: None,
) -> Trained:
    """Train tokenizer and model on `training`; return the model as it was when it predicted `held_out` best.

    The same corpus, recipe, libraries and kind of processor give the same bits, however many cores there are:
    one thread does the sums. Another processor or another torch may round them in another order, and give slightly
    different weights. `on_step` is called with the number of steps done.
    """
    tokenizer = train_tokenizer([p.text for p in training], recipe.vocabulary)
    training_ids = [tokenizer.encode(p.text).ids for p in training]  # each begins with BOS
    held_out_ids = [tokenizer.encode(p.text).ids for p in held_out]
    with _reproducible(recipe.seed):
        trained = Trained(GPT2LMHeadModel(config_of(recipe)), tokenizer)
        _learn(trained, Rows(training_ids, recipe), held_out_ids, recipe, on_step)
        trained.training_loss = mean_nll_nats(trained.model, training_ids)
    trained.held_out_tokens = sum(len(ids) - 1 for ids in held_out_ids)
    trained.held_out_bytes = sum(len(p.text.encode()) for p in held_out)
    return trained


def _learn(
    trained: Trained,
    rows: "Rows",
    held_out: Sequence[Sequence[int]],
    recipe: Recipe,
    on_step: Callable[[int], None],
) -> None:
    model = trained.model
    # Matrices decay, and vectors do not
    groups = [
        {
            "params": [p for p in model.parameters() if p.dim() >= 2],
            "weight_decay": recipe.weight_decay,
        },
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.learning_rate, betas=(0.9, 0.95))
    best = model.state_dict()
    for step in range(1, recipe.steps + 1):
        # The rate rises along a line, then falls along a cosine to a tenth
        rate = recipe.learning_rate * step / recipe.warmup_steps
        if step > recipe.warmup_steps:
            done = (step - recipe.warmup_steps) / (recipe.steps - recipe.warmup_steps)
            rate = recipe.learning_rate * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        drawn = rows.draw()
        model.train()
        logits = model(drawn[:, :-1]).logits.flatten(0, 1)  # (B * T, V)
        nll = functional.cross_entropy(logits, drawn[:, 1:].flatten())  # targets: (B * T,)
        optimizer.zero_grad(set_to_none=True)
        nll.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        on_step(step)
        if step % recipe.evaluate_every and step != recipe.steps:
            continue
        loss = mean_nll_nats(model, held_out)
        if loss < trained.held_out_loss:
            trained.best_step, best = step, copy.deepcopy(model.state_dict())
        trained.held_out_losses.append((step, loss))
    model.load_state_dict(best)


def config_of(recipe: Recipe) -> GPT2Config:
    return GPT2Config(
        vocab_size=recipe.vocabulary,
        n_positions=recipe.context,
        n_embd=recipe.width,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        embd_pdrop=recipe.dropout,
        resid_pdrop=recipe.dropout,
        attn_pdrop=0.0,  # drawing its random numbers would take as long as all matrix products
        bos_token_id=END_ID,
        eos_token_id=END_ID,
    )


class Rows:
    """Draws rows of random paragraphs, each behind its BOS, filled to the context's end: every position learns."""

    def __init__(self, paragraphs: Sequence[list[int]], recipe: Recipe) -> None:
        self.paragraphs, self.recipe = paragraphs, recipe
        self.rng = random.Random(recipe.seed)
        self.waiting: list[list[int]] = []

    def draw(self) -> Tensor:
        rows = []
        for _ in range(self.recipe.rows):
            row: list[int] = []
            while len(row) <= self.recipe.context:
                if not self.waiting:  # all paragraphs again, in a new order
                    self.waiting = self.rng.sample(self.paragraphs, len(self.paragraphs))
                row += self.waiting.pop()
            rows.append(row[: self.recipe.context + 1])
        return torch.tensor(rows)  # (B, T + 1)


def mean_nll_nats(model: GPT2LMHeadModel, texts: Sequence[Sequence[int]]) -> float:
    """Mean of -log p over all tokens but the BOS, in nats; each text (BOS first) is scored by itself."""
    model.eval()  # type: ignore[no-untyped-call]
    total, count = 0.0, 0
    with torch.inference_mode():
        for text in texts:
            ids = torch.tensor(text)  # (T,)
            logits = model(ids[None, :-1]).logits[0]  # (T - 1, V)
            nll = functional.cross_entropy(logits, ids[1:], reduction="none")  # (T - 1,)
            total += nll.double().sum().item()
            count += len(nll)
    return total / count


@contextmanager
def _reproducible(seed: int) -> Iterator[None]:
    """One seed, one thread, deterministic algorithms; afterwards the process is as it was."""
    threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(strict)
            torch.set_num_threads(threads)


LABEL = "demonstration only"
ABOUT = (
    "A very small language model, trained from scratch on about 900 sentences written for this project. It shows "
    "how scoring works; its results say nothing about language models."
)
LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors")


def ensure_writable(folder: Path) -> None:
    """Make the folder, and see that files can be made in it: before minutes of training rather than after.

    Raises:
        ScoringError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ScoringError(
            f"{folder} is not writable ({error.strerror}). Choose another --output."
        ) from error


def save(
    trained: Trained, recipe: Recipe, paragraphs: Sequence[Paragraph], folder: Path
) -> dict[str, Any]:
    """Write weights, configuration, tokenizer and, last, the manifest; return the manifest.

    Raises:
        ScoringError: the disk does not take them.
    """
    facts = {
        "name": NAME,
        "label": LABEL,
        "about": ABOUT,
        "licence": "Apache-2.0",
        "made_by": "manage.py train_demo_lm",
        "parameters": sum(p.numel() for p in trained.model.parameters()),
        "corpus": {
            "sha256": corpus_sha256(),
            "paragraphs": len(paragraphs),
            "sentences": sum(len(p.sentences) for p in paragraphs),
            "words": sum(len(p.text.split()) for p in paragraphs),
        },
        "recipe": asdict(recipe),
        "best_step": trained.best_step,
        "losses": {
            "held_out_nats_per_token": trained.held_out_loss,
            "held_out_bits_per_byte": trained.held_out_bits_per_byte,
            "held_out_tokens": trained.held_out_tokens,
            "training_nats_per_token": trained.training_loss,
            "held_out_by_step": {step: round(loss, 4) for step, loss in trained.held_out_losses},
        },
        # Weights may differ in their last bits where these do
        "versions": {name: version(name) for name in LIBRARIES},
        "processor": torch.backends.cpu.get_cpu_capability(),
    }
    # GPT-2 reads words by the same matrix as it writes them; it is stored once.
    weights = {k: v for k, v in trained.model.state_dict().items() if k != "lm_head.weight"}
    try:
        (folder / "model.safetensors").write_bytes(
            safetensors.torch.save(weights, metadata={"format": "pt"})
        )
        trained.model.config.save_pretrained(folder)
        write_tokenizer(trained.tokenizer, folder, model_max_length=recipe.context)
        return write_manifest(folder, facts)
    except OSError as error:
        raise ScoringError(f"The model could not be written to {folder}: {error}.") from error
