"""What lm-evaluation-harness says in its results of the code, the machine and the tokenizer."""

import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.conf import settings

from experiment.models.items import text_hash
from scoring.backends import is_true
from scoring.backends.tokenizers import load_tokenizer, tokenizer_hash
from scoring.demo_lm import MODEL_FOLDER
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun

TOKENS = ("pad", "eos", "bos")


@cache
def git_hash() -> str | None:
    """Of this project's own code, as `git describe --always --dirty` says it; None outside a repository."""
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
        return str(get_pretty_env_info())  # type: ignore[no-untyped-call]
    except Exception as error:  # noqa: BLE001 (it asks a dozen programs; no results are lost over one of them)
        return str(error)


def tokenizer_fields(runs: Sequence[ScoringRun]) -> dict[str, Any]:
    """Of the tokenizer of one model's runs, if it still is the one that they were scored with; else nothing."""
    tokenizer = _tokenizer(runs[0])
    if tokenizer is None:
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


def _tokenizer(run: ScoringRun) -> Any:
    args = run.model_args
    source = args.get("tokenizer") or args.get("pretrained")
    if run.backend == ScoringRun.Backend.EMBEDDED:
        source = str(MODEL_FOLDER)
    if not source:
        return None
    try:
        starts = is_true(args, "add_bos_token")
        tokenizer = load_tokenizer(source, args.get("revision"), add_bos_token=starts)
    except ScoringError:
        return None
    same = tokenizer_hash(tokenizer) == run.identity.get("tokenizer_sha256")
    return tokenizer if same else None
