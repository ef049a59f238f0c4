"""Single test cases as lm-evaluation-harness writes its samples, with whether a greedy model would say them.

A harness looks whether each token is the most likely one. The records hold the tokens' own probabilities alone; these
settle it nearly always: with V tokens in the vocabulary the most likely one has at least 1/V, one with more than 1/2 is
the most likely, and of two tokens in one place the less likely is not.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiment.models.items import text_hash
from scoring.backends.registry import EMBEDDED
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import Prompt
from scoring.lm_eval import ADDED_TO_SAMPLES
from scoring.models import ItemScore, ScoringRun
from scoring.services import token_store
from scoring.services.summary import item_scores
from scoring.services.texts import RunText, texts_of

Place = tuple[str, int, int]  # item, its version, unit
LESS = 1e-6  # relative; more than rounding


def greedy_texts(run: ScoringRun) -> dict[Place, dict[str, bool | None]]:
    """Place -> version of the text -> whether every counted token is the model's first choice; None where open."""
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

    size = vocabulary_size(run)
    found: dict[Place, dict[str, bool | None]] = {}
    for place, versions in texts.items():
        found[place] = {}
        for version, text in versions.items():
            others = (other for name, other in versions.items() if name != version)
            outdone = any(text.is_outdone(other) for other in others)
            settled = is_greedy(text.logprobs[text.counted], size)
            found[place][version] = False if outdone else settled
    return found


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
    folder = MODEL_FOLDER if run.backend == EMBEDDED.name else run.model_args.get("pretrained", "")
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
        """True if the other has a likelier token in the first place where they differ."""
        n = min(len(self.ids), len(other.ids))
        differs = np.flatnonzero(self.ids[:n] != other.ids[:n])
        if not differs.size or not self.counted[differs[0]]:
            return False
        at = differs[0]
        return bool(self.logprobs[at] < other.logprobs[at] - LESS)


HIGHER_IS_BETTER = {"acc": True, "near_tie": False, "ppl_original": False, "ppl_altered": False}
TARGET = "0"  # the original is the first of the two


def samples_of(run: ScoringRun) -> Iterator[dict[str, Any]]:
    """One dictionary for each pair of texts that was scored.

    Raises:
        ScoringError: the texts are no longer those that were scored.
    """
    texts = {text.place: text for text in texts_of(run).texts}
    prompt = Prompt(run.prompt, run.prompt_text)
    added: list[Mapping[tuple[int, int], Mapping[str, Any]]] = []
    for facts_of in ADDED_TO_SAMPLES:
        with suppress(ImportError):  # on a machine that lacks the packages for it
            added.append(facts_of(run))
    greedy = greedy_texts(run)
    for n, score in enumerate(item_scores(run)):
        text = texts.get((score.item_id, score.unit))
        if text is None:
            raise ScoringError(
                f"Run {run.pk} was not written, because the study's texts have changed since it was scored."
            )
        first_choice = greedy.get((score.item.key, score.item.version, score.unit), {})
        sample = _sample(n, run, score, text, prompt, first_choice)
        for fields in added:
            sample |= fields.get((score.item_id, score.unit), {})
        yield sample


def _sample(
    n: int,
    run: ScoringRun,
    score: ItemScore,
    text: RunText,
    prompt: Prompt,
    greedy: Mapping[str, bool | None],
) -> dict[str, Any]:
    doc = {
        "item": score.item.key,
        "version": score.item.version,
        "unit": score.unit,
        "source": score.item.source,
        "doi": score.item.doi,
        "subfield": score.item.subfield,
        **{version: marked.text for version, marked in zip(text.versions, text.texts, strict=True)},
    }
    # In mode paper the prompt counts as well, and nothing is given
    given = "" if prompt.counts_itself else prompt.before
    read = [prompt.fill(t.text) if prompt.counts_itself else t.text.strip() for t in text.texts]
    which = "all" if run.mode == "paper" else "text"
    sums = [getattr(score, f"nll_{which}_{version}_nats") for version in text.versions]
    # As strings: the sum, and whether the text was the model's first choice
    answers = [
        ["None" if nll is None else str(-nll), str(greedy.get(version))]
        for nll, version in zip(sums, text.versions, strict=True)
    ]
    decision = score.decision
    return {
        "doc_id": n,
        "doc": doc,
        "target": TARGET,
        "arguments": {f"gen_args_{i}": {"arg_0": given, "arg_1": r} for i, r in enumerate(read)},
        "resps": [[answer] for answer in answers],
        "filtered_resps": answers,
        "filter": "none",
        "metrics": list(HIGHER_IS_BETTER),
        "doc_hash": text_hash(json.dumps(doc, indent=2, ensure_ascii=False)),
        "prompt_hash": text_hash(given),
        "target_hash": text_hash(TARGET),
        "acc": decision.points,
        "near_tie": float(decision.is_near_tie),
        "ppl_original": score.ppl_original,
        "ppl_altered": score.ppl_altered,
    }


def task_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """The hash of all samples of a task, as the harness makes it."""
    return text_hash(
        "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    )
