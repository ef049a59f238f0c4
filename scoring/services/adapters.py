"""Past runs that may have read an adapter which lay beside full weights, when nothing said so.

Their hash of weights is over all safetensors of the folder, the adapter's included; one of today is over the model's.
Knows only folders that this machine still has: what the others held cannot be known.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from scoring.backends.registry import HF
from scoring.models import (
    AnsweringRun,
    DraftingRun,
    GradingRun,
    ReviewingRun,
    ScoringRun,
    Training,
)
from scoring.services.training.create import base_args

APPLIED = "applied: the folder contains an adapter and the weights that were read"


def runs_with_adapters() -> Iterator[dict[str, Any]]:
    """Runs of models in the process that read an adapter unasked, and those of which it cannot be known.

    Of each its model's folder or name, and what is known of an adapter.
    """
    written = (
        kind.objects.filter(generator=HF.name)
        for kind in (AnsweringRun, GradingRun, DraftingRun, ReviewingRun)
    )
    scored = ScoringRun.objects.filter(backend=HF.stored_as)
    known: dict[tuple[str, str], str] = {}
    runs: Iterable[Any] = chain(scored, *written, Training.objects.all())
    for run in runs:
        args = base_args(run) if isinstance(run, Training) else run.model_args
        name, weights = args.get("pretrained", ""), run.identity.get("weights_sha256")
        if not name or not weights or "adapter" in args:
            continue
        if (name, weights) not in known:
            known[name, weights] = _adapter(Path(name), weights)
        if adapter := known[name, weights]:
            kind = str(run._meta.verbose_name)
            yield {"kind": kind, "run": run.pk, "model": name, "adapter": adapter}


def _adapter(folder: Path, weights: str) -> str:
    from scoring.backends.model_files import ADAPTER_CONFIG, weights_sha256

    if not folder.is_dir():
        return "unknown: its files are not in a folder on this machine"
    if weights == weights_sha256(folder, "all"):
        return APPLIED if (folder / ADAPTER_CONFIG).exists() else ""
    is_alone = weights == weights_sha256(folder)
    return "" if is_alone else "unknown: the folder's files have changed since"
