"""Whether a text is what the model itself would have written, as far as its tokens' log-probabilities prove it.

A harness looks whether each token is the most likely one. The records hold the tokens' own probabilities alone; these
settle it nearly always: with V tokens in the vocabulary the most likely one has at least 1/V, one with more than 1/2 is
the most likely, and of two tokens in one place the less likely is not.
"""

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scoring.demo_lm import MODEL_FOLDER
from scoring.models import ScoringRun
from scoring.services import token_store

Place = tuple[str, int, int]  # item, its version, unit
LESS = 1e-6  # relative; more than rounding


def greedy_texts(run: ScoringRun) -> dict[Place, dict[str, bool | None]]:
    """Place -> version of the text -> whether every counted token is the model's first choice; None where open."""
    size = vocabulary_size(run)
    return {place: _of_pair(versions, size) for place, versions in _texts(run).items()}


def is_greedy(counted: npt.NDArray[np.float64], size: int | None) -> bool | None:
    """From a text's counted log-probabilities (T,), and the vocabulary's size if it is known.

    >>> [is_greedy(np.log([0.9, p]), 100) for p in (0.6, 0.3, 0.001)]
    [True, None, False]
    """
    if counted.size and counted.min() > math.log(0.5):
        return True
    if size and counted.size and counted.min() < -math.log(size) - LESS:
        return False
    return None


def vocabulary_size(run: ScoringRun) -> int | None:
    """As the configuration in the model's folder says; None of a server's model, or one of the Hub's."""
    folder = MODEL_FOLDER if run.backend == "embedded" else run.model_args.get("pretrained", "")
    try:
        values = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    sizes = [values.get("vocab_size"), (values.get("text_config") or {}).get("vocab_size")]
    return max((size for size in sizes if isinstance(size, int)), default=None)


class _Text:
    """A text's tokens (T,), their log-probabilities (NaN first) and which of them count."""

    def __init__(
        self,
        ids: npt.NDArray[np.int64],
        logprobs: npt.NDArray[np.float64],
        counted: npt.NDArray[np.bool_],
    ) -> None:
        self.ids, self.logprobs = ids, logprobs
        self.counted = counted & ~np.isnan(logprobs)

    def is_outdone(self, other: "_Text") -> bool:
        """Whether the other has a likelier token in the first place where they differ."""
        n = min(len(self.ids), len(other.ids))
        differs = np.flatnonzero(self.ids[:n] != other.ids[:n])
        if not differs.size or not self.counted[differs[0]]:
            return False
        at = differs[0]
        return bool(self.logprobs[at] < other.logprobs[at] - LESS)


def _of_pair(versions: Mapping[str, _Text], size: int | None) -> dict[str, bool | None]:
    found = {}
    for version, text in versions.items():
        others = (other for name, other in versions.items() if name != version)
        outdone = any(text.is_outdone(other) for other in others)
        found[version] = False if outdone else is_greedy(text.logprobs[text.counted], size)
    return found


def _texts(run: ScoringRun) -> dict[Place, dict[str, _Text]]:
    table = token_store.read_tokens(run)
    names = ("item", "item_version", "unit", "version")
    about = [table[name].to_pylist() for name in names]
    ids, logprobs = table["token_id"].to_numpy(), table["logprob"].to_numpy()
    counted = table["in_text"].to_numpy(zero_copy_only=False) | (run.mode == "paper")
    starts = np.flatnonzero(table["position"].to_numpy() == 0).tolist()
    texts: dict[Place, dict[str, _Text]] = {}
    for start, stop in pairwise([*starts, table.num_rows]):
        item, number, unit, version = (column[start] for column in about)
        text = _Text(ids[start:stop], logprobs[start:stop], counted[start:stop])
        texts.setdefault((item, number, unit), {})[version] = text
    return texts
