"""What the command `score` came to, as JSON: of one model, or of several."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from scoring.management.scoring_command import Evaluation, unscored_rows
from scoring.models import UnscoredText
from scoring.services.summary import RunSummary, score_rows


@dataclass(frozen=True)
class Scored:
    """A model with a prompt, and what its runs came to; without any where it failed at once."""

    evaluation: Evaluation
    summaries: Sequence[RunSummary]


def as_json(scored: Sequence[Scored]) -> dict[str, Any]:
    """Of one evaluation its figures; of several, `results` has them one by one, an `error` where one failed."""
    if len(scored) == 1:
        return _of_one(scored[0].summaries)
    return {"results": [_of_several(one) for one in scored]}


def unscored_of(scored: Sequence[Scored]) -> list[UnscoredText]:
    return [text for one in scored for summary in one.summaries for text in summary.unscored]


def _of_several(one: Scored) -> dict[str, Any]:
    asked = one.evaluation.model
    about: dict[str, Any] = {
        "model": asked.name,
        "model_args": dict(asked.args),
        "prompt": one.evaluation.prompt.kind,
    }
    figures = _of_one(one.summaries) if one.summaries else {}
    error = {"error": one.evaluation.error} if one.evaluation.error else {}
    return {**about, **error, **figures}


def _of_one(summaries: Sequence[RunSummary]) -> dict[str, Any]:
    """The figures of condition full, or of the first; then those of every condition, and every pair of texts."""
    main = next((s for s in summaries if s.run.condition == "full"), summaries[0])
    return {
        "model": main.run.language_model.name,
        **_figures(main),
        "conditions": {summary.run.condition: _condition(summary) for summary in summaries},
        "scores": [asdict(row) for summary in summaries for row in score_rows(summary.run)],
    }


def _condition(summary: RunSummary) -> dict[str, Any]:
    within = {} if summary.within_item is None else {"within_item": asdict(summary.within_item)}
    unscored = unscored_rows(summary.unscored)
    asked = {k: v for k, v in summary.run.identity.items() if k in ("max_length", "overlong")}
    return {**_figures(summary), "run": summary.run.pk, "unscored": unscored, **within, **asked}


def _figures(summary: RunSummary) -> dict[str, Any]:
    accuracy = summary.counted.accuracy
    return {
        "n_items": accuracy.n,
        "n_correct": accuracy.n_correct,
        "accuracy": accuracy.value if accuracy.n else None,
        "sem": accuracy.sem if accuracy.n else None,
        "near_ties": summary.counted.near_ties,
        "tokens_per_s": summary.run.tokens_per_s,
    }
