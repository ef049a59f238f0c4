"""The content of the page of a run."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator

from experiment.models import Study
from lib import formatting
from lib.csv import field
from lib.csv_lines import line
from lib.jobs import leases, workers
from lib.jobs.progress import progress
from lib.points import point
from scoring.backends.registry import kind_of
from scoring.domain.backend import ScoringError
from scoring.domain.perplexity import CHANCE, NEAR_TIE_NATS
from scoring.lab import words
from scoring.lab.models_page import dot, progress_percent, scale_for, source_label, ticks
from scoring.models import ScoringRun
from scoring.services.open_model import default_name
from scoring.services.summary import (
    IS_CORRECT,
    IS_NEAR_TIE,
    IS_TIE,
    count,
    score_rows,
    scores_in,
    unscored,
    within_item,
)

# What comes first, and its label; what is not listed comes after, under its own name
LABELS = {
    "model": "Model",
    "name": "Model",
    "label": "Note",
    "warnings": "Warnings",
    "numbers": "Numbers",
    "base_url": "Server",
    "server": "Server",
    "revision": "Revision",
    "weights_sha256": "Weights, SHA-256",
    "adapter": "Adapter",
    "adapter_sha256": "Adapter, SHA-256",
    "tokenizer_sha256": "Tokenizer, SHA-256",
    "architecture": "Architecture",
    "n_parameters": "Parameters",
    "dtype": "Number format",
    "quantization": "Quantization",
    "attention": "Attention",
    "rung": "Forward strategy",
    "rungs_refused": "Faster strategies refused",
    "probed_on": "Probed on",
    "head": "Output head",
    "context_tokens": "Window, tokens",
    "max_length": "Longest text read at once, tokens",
    "overlong": "Longer texts",
    "device": "Device",
    "libraries": "Libraries",
    "machine": "Machine",
    "harness": "Harness",
    "prompt": "Prompt as published",
    "units": "Sentences",
}
LEFT_OUT = ("backend", "files")  # shown elsewhere on the page
# Others who have the same test cases are not told these
OF_A_LAB = ("machine", "server", "base_url")


def lines(identity: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The known parts of an identity in their order, then whatever else it holds; empty parts are left out.

    Each is a label, and one value or several that are named themselves; `is_code` for hashes and the like.

    >>> [(line["label"], line["value"]) for line in lines({"zeal": 3, "n_parameters": 124000, "revision": ""})]
    [('Parameters', '124,000'), ('zeal', '3')]
    """
    order = [*(name for name in LABELS if name in identity), *sorted(identity.keys() - LABELS)]
    for name in order:
        value = identity[name]
        if name in LEFT_OUT or value in ("", None, {}, []):
            continue
        label = LABELS.get(name, name.replace("_", " "))
        if isinstance(value, Mapping):
            yield {"label": label, "values": [(str(k), _text(v)) for k, v in value.items()]}
        else:
            is_code = name.endswith("sha256")
            yield {"label": label, "value": _text(value), "values": (), "is_code": is_code}


def files(identity: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The files that an imported run's numbers were read from: name, SHA-256, shape.

    >>> files({"files": {"a/PPL.npy": {"sha256": "ab", "shape": [200, 2]}}})
    [('a/PPL.npy', 'ab', '200 x 2')]
    """
    found = identity.get("files") or {}
    return [
        (name, _text(facts.get("sha256", "")), " x ".join(map(str, facts.get("shape", []))))
        for name, facts in found.items()
    ]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(part) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_text(part)}" for key, part in value.items())
    return str(value)


MANAGE = (".venv/bin/python", "manage.py")


def resume_command(run: ScoringRun) -> str:
    """The command that goes on with exactly this run."""
    assert run.study is not None
    kind = kind_of(run.backend)
    parts = [*MANAGE, "score", "--model", kind.name if kind else run.backend]
    if run.model_args:
        parts += ["--model_args", ",".join(f"{k}={v}" for k, v in run.model_args.items())]
    by_default = ""
    with suppress(ScoringError):
        by_default = default_name(run.backend, run.model_args)
    if run.language_model.name != by_default:
        parts += ["--name", run.language_model.name]
    is_custom = run.prompt == ScoringRun.Prompt.CUSTOM
    parts += ["--study", run.study.slug, "--conditions", str(run.condition)]
    parts += ["--prompt", run.prompt_text if is_custom else str(run.prompt)]
    optional = {"source": run.source, "limit": run.limit, "seed": run.seed}
    optional["batch_tokens"] = run.batch_tokens
    for name, value in optional.items():
        if value not in ("", None):
            parts += [f"--{name}", str(value)]
    return shlex.join([*parts, "--resume"])


PAIRS_PER_PAGE = 40
MOST_NAMED = 100  # of what could not be scored; the file holds all
WHICH = {"": "All", "wrong": "Wrong", "near": "Near-ties"}
Status = ScoringRun.Status


def run_context(
    study: Study, run: ScoringRun, now: datetime, which: str = "", page: int | str = 1
) -> dict[str, Any]:
    """A run: its settings, how far it is, its results in this study, and what exactly was scored.

    Of one that another study asked for: nothing of its people, its machines and its other test cases.
    """
    is_own, kind = run.study == study, kind_of(run.backend)
    hidden = () if is_own else OF_A_LAB
    context = {
        "is_own": is_own,
        "part": "models",
        "run": run,
        "model": run.language_model,
        "is_published": _is_imported(run),
        "backend": (kind.run_label or kind.label) if kind else run.backend,
        "source_label": source_label(run.source),
        "model_args": ",".join(
            f"{name}={value}" for name, value in run.model_args.items() if name not in hidden
        ),
        "identity": list(lines({n: v for n, v in run.identity.items() if n not in hidden})),
        "files": files(run.identity),
        "updated_at": now,
        **_progress(run, now, is_own=is_own),
        **_result(run, study, is_own=is_own),
    }
    return context if run.is_open else context | _pairs(run, study, which, page)


def _is_imported(run: ScoringRun) -> bool:
    return run.backend == ScoringRun.Backend.IMPORTED


def _progress(run: ScoringRun, now: datetime, *, is_own: bool) -> dict[str, Any]:
    is_stale = (
        run.status == Status.RUNNING and leases.stale(ScoringRun.objects.filter(pk=run.pk)).exists()
    )
    beat = run.heartbeat_at
    silent_s = None if beat is None else max(0.0, (now - beat).total_seconds())
    # At the rate so far; none until there is one
    is_measured = run.status == Status.RUNNING and run.done and run.scoring_seconds
    left_s = None
    if is_measured and not is_stale:
        left_s = run.scoring_seconds * (run.total - run.done) / run.done
    return {
        "heading": "Published perplexities"
        if _is_imported(run)
        else words.state(run, is_stale=is_stale),
        "pace": words.pace(run, progress(run, now), left_s, silent_s),
        "is_stale": is_stale,
        "progress_percent": progress_percent(run),
        "is_taken": workers.is_taken(ScoringRun),
        "can_resume": run.status in (Status.FAILED, Status.CANCELLED),
        "resume_command": resume_command(run) if is_own and not _is_imported(run) else "",
    }


def _result(run: ScoringRun, study: Study, *, is_own: bool) -> dict[str, Any]:
    scores = scores_in(run, study)
    counted = count(scores)
    share, texts = counted.accuracy, unscored(run, study)
    ties = f", and {formatting.count(share.n_ties, 'tie')}" if share.n_ties else ""
    scale = scale_for([(share.value - share.sem, share.value + share.sem)] if share.n else [])
    is_by_sentence, averaged = run.condition == ScoringRun.Condition.ISOLATED, ""
    # Of sentences, a test case has several
    if is_by_sentence and not run.is_open and (within := within_item(scores)).n_items:
        sem = f" ± {formatting.percent(within.sem).removesuffix('%')}" if within.sem else ""
        averaged = (
            f"Accuracy, averaged first within each test case and then over the {within.n_items} test cases:"
            f" {formatting.percent(within.accuracy)}{sem}."
        )
    return {
        "counted": counted,
        "elsewhere": words.not_shown(
            run.item_scores.count() - share.n if is_own else 0, "scored", "more text", "of"
        ),
        "units": "Sentences" if is_by_sentence else "Test cases",
        "of_texts": f"of {share.n}{ties}",
        "dot": dot(share.value, share.sem, scale) if share.n else None,
        "chance_at": scale.percent(CHANCE),
        "ticks": ticks(scale),
        "near_tie_nats": NEAR_TIE_NATS,
        "averaged": averaged,
        "unscored": texts[:MOST_NAMED],
        "n_unscored": len(texts),
    }


def _pairs(run: ScoringRun, study: Study, which: str, page: int | str) -> dict[str, Any]:
    """A page of the pairs of texts; of all, or of those that went wrong or nearly so."""
    scores = scores_in(run, study).select_related("item").order_by("item__key", "unit")
    if which == "wrong":
        scores = scores.exclude(IS_CORRECT | IS_TIE)
    elif which == "near":
        scores = scores.filter(IS_NEAR_TIE)
    shown = Paginator(scores, PAIRS_PER_PAGE).get_page(page)
    return {
        "which": which,
        "whiches": WHICH,
        "shown": shown,
        "page_numbers": shown.paginator.page_range,
        "pairs": shown.object_list,
        "has_sentences": run.condition == ScoringRun.Condition.ISOLATED,
        "has_traces": run.condition == ScoringRun.Condition.FULL and not _is_imported(run),
    }


def scores_csv(run: ScoringRun, study: Study) -> str:
    """One line per pair of texts that the study shows, as the command's `--json` has them; numbers are whole. `correct`: its points."""
    rows = score_rows(run, study)
    names = ["run", "model", *(rows[0] if rows else ("item", "unit")), "correct"]
    lines = [line(map(field, names))]
    for row in rows:
        about = {"run": run.pk, "model": run.language_model.name, **row}
        about["correct"] = point(row["ppl_altered"] - row["ppl_original"])
        lines.append(line(field(about[name]) for name in names))
    return b"".join(lines).decode()
