"""The command that does the same as a page, ready to be copied."""

import shlex

from scoring.backends import ALIASES
from scoring.domain.backend import ScoringError
from scoring.models import ScoringRun
from scoring.services.open_model import default_name

MANAGE = (".venv/bin/python", "manage.py")
WORDS = {ours: word for word, ours in ALIASES.items()}


def resume_command(run: ScoringRun) -> str:
    """The command that goes on with exactly this run."""
    assert run.study is not None
    kind = str(run.backend)
    parts = [*MANAGE, "score", "--model", WORDS.get(kind, kind)]
    if run.model_args:
        parts += ["--model_args", ",".join(f"{k}={v}" for k, v in run.model_args.items())]
    if run.language_model.name != _default_name(run):
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


def _default_name(run: ScoringRun) -> str:
    try:
        return default_name(run.backend, run.model_args)
    except ScoringError:
        return ""
