"""A run's scores as lm-evaluation-harness 0.4 writes the samples of a task."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.module_loading import import_string

from experiment.models.items import text_hash
from scoring.domain.backend import ScoringError
from scoring.domain.prompts import Prompt
from scoring.lm_eval import ADDED_TO_SAMPLES
from scoring.lm_eval.greedy import greedy_texts
from scoring.models import ItemScore, ScoringRun
from scoring.services.summary import item_scores
from scoring.services.texts import RunText, texts_of

HIGHER_IS_BETTER = {"acc": True, "near_tie": False, "ppl_original": False, "ppl_altered": False}
TARGET = "0"  # the original is the first of the two


def samples_of(run: ScoringRun) -> Iterator[dict[str, Any]]:
    """One dictionary for each pair of texts that was scored.

    Raises:
        ScoringError: the texts are no longer those that were scored.
    """
    texts = {text.place: text for text in texts_of(run).texts}
    prompt = Prompt(run.prompt, run.prompt_text)
    added = [fields for path in ADDED_TO_SAMPLES if (fields := _added(path, run)) is not None]
    greedy = greedy_texts(run)
    for n, score in enumerate(item_scores(run)):
        text = texts.get((score.item_id, score.unit))
        if text is None:
            raise ScoringError(
                f"Run {run.pk} was not written: the study's texts are no longer those it scored."
            )
        first_choice = greedy.get((score.item.key, score.item.version, score.unit), {})
        sample = _sample(n, run, score, text, prompt, first_choice)
        for fields in added:
            sample |= fields.get((score.item_id, score.unit), {})
        yield sample


def _added(path: str, run: ScoringRun) -> Mapping[tuple[int, int], Mapping[str, Any]] | None:
    """What an app above knows of the run; None on a machine that lacks the packages for it."""
    try:
        found: Mapping[tuple[int, int], Mapping[str, Any]] = import_string(path)(run)
    except ImportError:
        return None
    return found


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
        "acc": float(decision.is_correct),
        "near_tie": float(decision.is_near_tie),
        "ppl_original": score.ppl_original,
        "ppl_altered": score.ppl_altered,
    }


def task_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """Of all samples of a task, as the harness makes it."""
    return text_hash(
        "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    )
