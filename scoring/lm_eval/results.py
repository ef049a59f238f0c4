"""Finished runs as lm-evaluation-harness writes its results, with what it says about machine and versions.

A run is a task; the metrics are those of the task folder that export_lm_eval_task writes. What the harness would know
and a run does not know is null; what decides a run's numbers stands whole under `config.identity`.
"""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from django.conf import settings

from experiment.models.items import text_hash
from lib import disk
from lib.code import release
from lib.files import write_file
from scoring.backends import is_true
from scoring.backends.registry import EMBEDDED, kind_of
from scoring.backends.tokenizers import load_tokenizer, source_of, tokenizer_hash
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError
from scoring.lm_eval.samples import HIGHER_IS_BETTER, TARGET, samples_of, task_hash
from scoring.models import ScoringRun

TOKENS = ("pad", "eos", "bos")


@cache
def git_hash() -> str | None:
    """The commit of this project's own code, as `git describe --always --dirty` says it; None outside a repository."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        described = subprocess.run(
            command, cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None


@cache
def environment() -> str:
    """Versions and hardware of the machine that writes the file, as torch lists them."""
    try:
        from torch.utils.collect_env import get_pretty_env_info
    except ImportError:
        return "N/A (torch not installed)"
    try:
        return str(get_pretty_env_info())
    except Exception as error:  # noqa: BLE001 (it asks a dozen programs; no results are lost over one of them)
        return str(error)


def tokenizer_fields(runs: Sequence[ScoringRun]) -> dict[str, Any]:
    """Fields on the tokenizer of one model's runs, if it still is the one that they were scored with; else nothing."""
    run = runs[0]
    args = run.model_args
    if run.backend == EMBEDDED.name:
        args = args | {"pretrained": str(MODEL_FOLDER)}
    if not (args.get("tokenizer") or args.get("pretrained")):
        return {}
    try:
        starts = is_true(args, "add_bos_token")
        tokenizer = load_tokenizer(*source_of(args), add_bos_token=starts)
    except ScoringError:
        return {}
    if tokenizer_hash(tokenizer) != run.identity.get("tokenizer_sha256"):
        return {}
    fields: dict[str, Any] = {
        f"tokenizer_{name}_token": [
            getattr(tokenizer, f"{name}_token"),
            str(getattr(tokenizer, f"{name}_token_id")),
        ]
        for name in TOKENS
    }
    fields["eot_token_id"] = tokenizer.eos_token_id
    template = getattr(tokenizer, "chat_template", None)
    if template and any(run.prompt == ScoringRun.Prompt.CHAT for run in runs):
        fields |= {"chat_template": str(template), "chat_template_sha": text_hash(str(template))}
    return fields


VERSION = 1.0
# What the harness says of itself, and of what a run may not have
UNKNOWN = (
    *("lm_eval_version", "upper_git_hash", "eot_token_id"),
    *("tokenizer_pad_token", "tokenizer_eos_token", "tokenizer_bos_token"),
    *("system_instruction", "system_instruction_sha", "fewshot_as_multiturn"),
    *("chat_template", "chat_template_sha"),
)


def write_results(runs: Sequence[ScoringRun], directory: Path) -> list[Path]:
    """Write runs on studies' items, in a folder for each model; those on corpora have no such files.

    Raises:
        ScoringError: a run's texts are no longer there, or the files cannot be written.
    """
    by_model, written = dict[str, list[ScoringRun]](), list[Path]()
    for run in runs:
        if not run.corpus:
            key = json.dumps([run.language_model.name, run.backend, run.model_args], sort_keys=True)
            by_model.setdefault(key, []).append(run)
    try:
        for of_model in by_model.values():
            folder = directory / _sanitized(of_model[0].language_model.name)
            folder.mkdir(parents=True, exist_ok=True)
            tasks: dict[str, ScoringRun] = {}
            for run in of_model:
                assert run.study is not None
                prompt = "" if run.prompt == "paper" else run.prompt
                parts = [run.study.slug, run.condition, run.source, prompt]
                name = re.sub(r"\W", "_", "_".join(part for part in parts if part))
                tasks[f"{name}_run{run.pk}" if name in tasks else name] = run
            samples = {name: list(samples_of(run)) for name, run in tasks.items()}
            date = datetime.now(UTC).replace(tzinfo=None).isoformat(timespec="microseconds")
            date = date.replace(":", "-")
            results = json.dumps(_results(tasks, samples), indent=2, ensure_ascii=False)
            files = {folder / f"results_{date}.json": results}
            for name, rows in samples.items():
                lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
                files[folder / f"samples_{name}_{date}.jsonl"] = "".join(lines)
            for path, text in files.items():
                write_file(path, text)
            written += files
    except OSError as error:
        raise ScoringError(
            f"{directory} was not written: {disk.reason(error)}. The scores are stored. The same command with --resume "
            "writes the files."
        ) from error
    return written


def _sanitized(name: str) -> str:
    """A model's name as the harness spells it in names of folders."""
    return re.sub(r'["<>:/|\\?*\[\]]+', "__", name)


def _results(
    tasks: Mapping[str, ScoringRun], samples: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    first = next(iter(tasks.values()))
    name, kind, identity = first.language_model.name, kind_of(first.backend), first.identity
    word = kind.name if kind else first.backend
    results = {}
    for task in tasks:
        rows = samples[task]
        results[task] = {"name": task, "alias": task, "sample_len": len(rows)}
        # Means and, as the harness has them, standard errors from the sample's standard deviation (n - 1)
        for metric in HIGHER_IS_BETTER if rows else ():
            values = [row[metric] for row in rows]
            error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else "N/A"
            results[task] |= {f"{metric},none": fmean(values), f"{metric}_stderr,none": error}
    return {
        "results": results,
        "group_subtasks": {},
        "configs": {task: _task_config(task, run) for task, run in tasks.items()},
        "versions": dict.fromkeys(tasks, VERSION),
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {task: dict(HIGHER_IS_BETTER) for task in tasks},
        "n-samples": {
            task: {"original": run.total, "effective": len(samples[task])}
            for task, run in tasks.items()
        },
        "config": {
            "model": word,
            "model_args": first.model_args,
            "model_num_parameters": identity.get("n_parameters"),
            "model_dtype": identity.get("dtype"),
            "model_revision": identity.get("revision"),
            "model_sha": identity.get("weights_sha256"),
            "batch_size": first.batch_tokens,  # in tokens
            "batch_sizes": [],
            "device": identity.get("device"),
            "use_cache": None,
            "limit": first.limit,
            "bootstrap_iters": 0,
            "gen_kwargs": {},
            **dict.fromkeys(("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")),
            "identity": identity,
        },
        "date": (first.started_at or first.created_at).timestamp(),
        "transformers_version": identity.get("libraries", {}).get("transformers"),
        "brainbench_live_version": release(),
        "git_hash": git_hash(),
        "pretty_env_info": environment(),
        "max_length": identity.get("max_length") or identity.get("context_tokens"),
        "task_hashes": {task: task_hash(rows) for task, rows in samples.items()},
        "model_source": word,
        "model_name": name,
        "model_name_sanitized": _sanitized(name),
        "total_evaluation_time_seconds": str(sum(run.scoring_seconds for run in tasks.values())),
        **dict.fromkeys(UNKNOWN),
        **tokenizer_fields(list(tasks.values())),
    }


def _task_config(task: str, run: ScoringRun) -> dict[str, Any]:
    assert run.study is not None
    return {
        "task": task,
        "test_split": "test",
        "doc_to_target": int(TARGET),
        "description": "",
        "target_delimiter": "",
        "num_fewshot": 0,
        "metric_list": [
            {"metric": name, "aggregation": "mean", "higher_is_better": better}
            for name, better in HIGHER_IS_BETTER.items()
        ],
        "output_type": "multiple_choice",
        "repeats": 1,
        "should_decontaminate": False,
        "metadata": {
            "version": VERSION,
            "study": run.study.slug,
            "condition": run.condition,
            "source": run.source,
            "prompt": run.prompt,
            "prompt_text": run.prompt_text,
            "counted": "all" if run.mode == "paper" else "text",
            "seed": run.seed,
            "run": str(run.uuid),
        },
    }
