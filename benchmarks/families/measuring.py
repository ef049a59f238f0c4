"""Scores texts with a random model of a family as a run would, and beside it by the plain loop in float64."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel

from benchmarks.families.families import WINDOW, Family
from benchmarks.scoring.models import encode_pairs, read_pairs
from scoring.backends.causal_lm.backend import TransformersBackend
from scoring.backends.causal_lm.layout import Ids
from scoring.backends.causal_lm.loading import quiet
from scoring.backends.causal_lm.probe import Verdicts
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import LogProbs, ScoringError, TextError, TokenText

N_PAIRS = 7
WEIGHT_SCALE = 4  # random weights as transformers draws them hardly look at what came before
# Larger, these make a model chaotic: its own rounding would hide what is looked for
LEFT_AS_DRAWN = re.compile(
    r"norm|A_log|conv|dt_proj|x_proj|mixer.in_proj|rg_lru|time_|q_b_proj|kv_b_proj|indexer"
)
Groups = Sequence[Sequence[Ids]]
Pair = tuple[float, float]  # perplexities of the original and the altered version


@dataclass(frozen=True)
class Measured:
    """The scores of a family beside the plain loop; for a family that is refused, why.

    Errors are relative, of a perplexity: `worst_error` of ours; `rounding` of the plain loop in float32, which shares
    nothing; `eager_error` of transformers' own eager attention beside its default, None where there is one only.
    """

    family: Family
    seconds: float
    architecture: str = ""
    strategy: str = ""
    reference: str = ""  # precision of the plain loop
    worst_error: float = 0.0
    rounding: float = 0.0
    decisions_changed: int = 0
    eager_error: float | None = None
    refused: str = ""
    has_crashed: bool = False  # `refused` is then no sentence of ours


def texts() -> list[list[Ids]]:
    """Token ids of demo pairs, as the demonstration model's tokenizer reads them.

    The first and the last are shorter than a window, as a run's may be: what holds for them must not be taken for true
    of the long ones between.
    """
    tokenizer = AutoTokenizer.from_pretrained(MODEL_FOLDER)
    first, *between, last = encode_pairs(tokenizer, read_pairs(None)[:N_PAIRS])
    return [_shortened(first), *between, _shortened(last)]


def _shortened(pair: Sequence[Ids]) -> list[Ids]:
    """A few tokens around where the versions first differ."""
    at = int(np.flatnonzero([a != b for a, b in zip(*pair, strict=False)])[0])
    return [ids[max(0, at - WINDOW // 2) : at + WINDOW // 4] for ids in pair]


def sweep(families: Iterable[Family], groups: Groups) -> Iterator[Measured]:
    """Measure families in turn, on one thread."""
    tokenizer = AutoTokenizer.from_pretrained(MODEL_FOLDER)
    for family in families:
        with TemporaryDirectory() as folder, _one_thread(), quiet():
            tokenizer.save_pretrained(folder)
            yield measure(family, Path(folder), groups)


def measure(family: Family, folder: Path, groups: Groups) -> Measured:
    """Save a random model of the family in the folder, which holds a tokenizer, and score the groups with it."""
    started = perf_counter()
    try:
        save_model(family, folder)
        backend = TransformersBackend({"pretrained": str(folder), "device": "cpu"})
        backend.verdicts = Verdicts({})  # an earlier sweep's would be believed
        ours = _scored(backend, groups)
    except ScoringError as error:
        said = str(error).replace(str(folder), "the model")
        return Measured(family, perf_counter() - started, refused=said)
    except Exception as error:  # noqa: BLE001 (what should have been a sentence is shown as what it was)
        said = f"{type(error).__name__}: {error}"
        return Measured(family, perf_counter() - started, refused=said, has_crashed=True)
    identity = backend.identity()
    backend.close()
    rounded, _ = _plain(folder, groups, torch.float32)
    try:
        exact, dtype = _plain(folder, groups, torch.float64)
    except RuntimeError:  # code of the architecture's own insists on float32
        exact, dtype = rounded, "float32"
    return Measured(
        family,
        seconds=perf_counter() - started,
        architecture=str(identity["architecture"]),
        strategy=str(identity["rung"]),
        reference=dtype,
        worst_error=largest_error(ours, exact),
        rounding=largest_error(rounded, exact),
        decisions_changed=sum(
            (a < b) != (c < d) for (a, b), (c, d) in zip(ours, exact, strict=True)
        ),
        eager_error=_eager_error(folder, groups, getattr(torch, dtype)),
    )


def save_model(family: Family, folder: Path) -> None:
    """A random model whose weights are large enough for a wrongly seen token to matter; of a pair with an encoder, nothing."""
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(0)
        config = family.config()
        if config.is_encoder_decoder:  # its configuration alone decides
            config.save_pretrained(folder)
            save_file({}, folder / "model.safetensors")  # whole, and empty
            return
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and not LEFT_AS_DRAWN.search(name):
                parameter.data.mul_(WEIGHT_SCALE)
        model.save_pretrained(folder)


def _scored(backend: TransformersBackend, groups: Groups) -> list[Pair]:
    named = [[TokenText(f"text {n}", ids) for ids in group] for n, group in enumerate(groups)]
    backend.prepare(named)
    found: dict[int, Pair] = {}
    for batch in backend.plan(named, None):
        for n, result in zip(batch, backend.score([named[n] for n in batch]), strict=True):
            found[n] = _pair(result)
    return [found[n] for n in range(len(groups))]


def _pair(result: Sequence[LogProbs | TextError]) -> Pair:
    perplexities = []
    for logprobs in result:
        if isinstance(logprobs, TextError):
            raise ScoringError(f"A text {logprobs}.")
        perplexities.append(float(np.exp(-logprobs[1:].mean())))
    original, altered = perplexities
    return original, altered


def _plain(
    folder: Path, groups: Groups, dtype: torch.dtype, **loading: str
) -> tuple[list[Pair], str]:
    """Each text alone, and a log-softmax over the whole vocabulary."""
    if dtype == torch.float64:  # the grouped kernel for experts has no such precision
        loading["experts_implementation"] = "eager"
    with quiet():
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **loading)
    model.eval()  # type: ignore[no-untyped-call]
    pairs = [_pair([_logprobs(model, ids) for ids in group]) for group in groups]
    return pairs, str(dtype).removeprefix("torch.")


def _logprobs(model: PreTrainedModel, ids: Ids) -> LogProbs:
    with torch.inference_mode():
        logits = model(input_ids=torch.from_numpy(ids)[None], use_cache=False).logits[0]
        table = torch.log_softmax(logits[:-1].double(), dim=-1)
        picked = table.gather(1, torch.from_numpy(ids[1:])[:, None])[:, 0]
    return np.concatenate([[np.nan], picked.numpy()])


def _eager_error(folder: Path, groups: Groups, dtype: torch.dtype) -> float | None:
    long = [max(groups, key=lambda group: len(group[0]))]
    try:
        default, _ = _plain(folder, long, dtype, attn_implementation="sdpa")
        eager, _ = _plain(folder, long, dtype, attn_implementation="eager")
    except (RuntimeError, ValueError):
        return None
    return largest_error(eager, default)


def largest_error(got: Sequence[Pair], expected: Sequence[Pair]) -> float:
    """Largest |got / expected - 1| of all perplexities."""
    pairs = zip(got, expected, strict=True)
    return max(abs(g / e - 1) for a, b in pairs for g, e in zip(a, b, strict=True))


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
