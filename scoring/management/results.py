"""The outcome of `score`: as JSON, of one model or of several, and as lines for a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lib.commands import table_lines
from lib.shapes import Shape
from scoring.backends.reading import Reading
from scoring.domain.perplexity import CHANCE, NEAR_TIE_NATS
from scoring.management.scoring_command import Evaluation, unscored_rows
from scoring.models import UnscoredText
from scoring.services.summary import RunSummary, score_rows

_FIGURES: dict[str, Shape] = {
    "n_items": int,
    "n_correct": int,
    "n_ties": int,
    "accuracy": float | None,
    "sem": float | None,
    "near_ties": int,
    "tokens_per_s": float | None,
}
OF_ONE: dict[str, Shape] = {
    "model": str,
    **_FIGURES,
    "conditions": {
        str: {
            **_FIGURES,
            "run": int,
            "unscored": [{"name": str, "reason": str}],
            "within_item?": {"n_items": int, "accuracy": float, "sem": float},
            "max_length?": int | None,
            "overlong?": str,
        }
    },
    "scores": [
        {
            "item": str,
            "unit": int,
            "source": str,
            "doi": str,
            "condition": str,
            "prompt": str,
            "ppl_original": float,
            "ppl_altered": float,
            "nll_original": float | None,
            "nll_altered": float | None,
            "tokens_original": int | None,
            "tokens_altered": int | None,
        }
    ],
}


def as_json(scored: Sequence[Evaluation]) -> dict[str, Any]:
    """The figures of one evaluation; of several, `results` has them one by one, an `error` where one failed."""
    if len(scored) == 1:
        return _of_one(scored[0].summaries)
    results = [
        {
            "model": one.model.name,
            "model_args": dict(one.model.args),
            "prompt": one.prompt.kind,
            **({"error": one.error} if one.error else {}),
            **(_of_one(one.summaries) if one.summaries else {}),
        }
        for one in scored
    ]
    return {"results": results}


def unscored_of(scored: Sequence[Evaluation]) -> list[UnscoredText]:
    return [text for one in scored for summary in one.summaries for text in summary.unscored]


def _of_one(summaries: Sequence[RunSummary]) -> dict[str, Any]:
    """The figures of condition full, or of the first; then those of every condition, and every pair of texts."""
    main = next((s for s in summaries if s.run.condition == "full"), summaries[0])
    conditions = {}
    for summary in summaries:
        run, within = summary.run, summary.within_item
        conditions[run.condition] = {
            **_figures(summary),
            "run": run.pk,
            "unscored": unscored_rows(summary.unscored),
            **({} if within is None else {"within_item": asdict(within)}),
            **{k: v for k, v in run.identity.items() if k in ("max_length", "overlong")},
        }
    return {
        "model": main.run.language_model.name,
        **_figures(main),
        "conditions": conditions,
        "scores": [row for summary in summaries for row in score_rows(summary.run)],
    }


def _figures(summary: RunSummary) -> dict[str, Any]:
    accuracy = summary.counted.accuracy
    return {
        "n_items": accuracy.n,
        "n_correct": accuracy.n_correct,
        "n_ties": accuracy.n_ties,
        "accuracy": accuracy.value if accuracy.n else None,
        "sem": accuracy.sem if accuracy.n else None,
        "near_ties": summary.counted.near_ties,
        "tokens_per_s": summary.run.tokens_per_s,
    }


MAX_UNSCORED = 20
MAX_NAMES = 10
TEXTS = frozenset({"condition", "study", "model", "prompt", "status", "corpus", "kind", "adapter"})


def score_lines(scored: Sequence[Evaluation]) -> Iterator[str]:
    """A line of figures for each model, prompt and condition; below, what a person should look at."""
    has_prompts = len({one.prompt for one in scored}) > 1
    every = [(one, summary) for one in scored for summary in one.summaries]
    rows = []
    for one, summary in every:
        accuracy = summary.counted.accuracy
        row = {
            "model": one.model.label,
            **({"prompt": one.prompt.kind} if has_prompts else {}),
            "condition": summary.run.condition,
            "accuracy": share(accuracy.value if accuracy.n else None),
            "SEM": share(accuracy.known_sem),
            "chance": share(CHANCE),
            "items": str(accuracy.n),
            "near-ties": str(summary.counted.near_ties),
            "tokens/s": rate(summary.run.tokens_per_s),
        }
        rows.append(row)
    yield from table_lines(rows, TEXTS)
    for one, summary in every:
        about = [one.model.label] * (len(scored) > 1) + [one.prompt.kind] * has_prompts
        yield from _remarks(summary, ", ".join([*about, str(summary.run.condition)]))
    for one in scored:
        if one.error:
            yield f"{one.model.label}, failed: {one.error}"


def _remarks(summary: RunSummary, condition: str) -> Iterator[str]:
    within, names = summary.within_item, summary.near_tie_names
    if within is not None:
        yield (
            f"{condition}, averaged within each item first: {share(within.accuracy)} "
            f"(SEM {share(within.sem)}, {within.n_items} items)"
        )
    if names:
        listed = "; ".join(names[:MAX_NAMES])
        if len(names) > MAX_NAMES:
            listed += f"; {len(names) - MAX_NAMES} more, which the run's page lists"
        yield f"{condition}, near-ties (under {NEAR_TIE_NATS} nat apart): {listed}"
    # Settings that changed how texts were read
    run = summary.run
    reading, longest = Reading.of(run.model_args), run.identity.get("max_length")
    if reading.overlong == "rolling":
        yield f"{condition}: texts of more than {longest:,} tokens were read in rolling windows"
    elif reading.overlong == "truncate":
        yield f"{condition}: texts of more than {longest:,} tokens lost their beginning"
    if reading.batch_size is not None:
        yield f"{condition}: batches of up to {reading.batch_size} times the tokens of the longest text"
    yield from unscored_lines(f"{condition}, not scored", summary.unscored)


def unscored_lines(heading: str, unscored: Sequence[UnscoredText]) -> Iterator[str]:
    """A line for each text that could not be scored, up to a screenful."""
    for text in unscored[:MAX_UNSCORED]:
        yield f"{heading}: {text}"
    if len(unscored) > MAX_UNSCORED:
        yield f"{heading}: {len(unscored) - MAX_UNSCORED} more, which --json lists"


def run_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The runs as a table; below, why those failed that did."""
    if not rows:
        yield "There are no runs."
    cells = [
        {
            "run": str(row["run"]),
            "study": row["study"] or f"({row['corpus']})",
            "model": f"{row['model']} ({row['settings']})" if row["settings"] else row["model"],
            "condition": row["condition"] + ("" if row["seed"] is None else f" {row['seed']}"),
            "source": row["source"] or "all",
            "limit": "-" if row["limit"] is None else str(row["limit"]),
            "prompt": row["prompt"],
            "status": row["status"],
            "done": f"{row['done']}/{row['total']}",
            "accuracy": share(row["accuracy"]),
        }
        for row in rows
    ]
    yield from table_lines(cells, TEXTS)
    for row in rows:
        if row["error"]:
            yield f"run {row['run']}: {row['error']}"


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def rate(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
