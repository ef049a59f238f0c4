"""The arguments of a completions backend, read from the text that `--model_args` holds."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.backends.http.policy import RetryPolicy, read_number, read_policy
from scoring.domain.backend import ScoringError

NAMES = (
    "base_url",
    "model",
    "tokenizer",
    "revision",
    "concurrency",
    "timeout",
    "retry_seconds",
    "context_tokens",
)
REQUIRED = NAMES[:3]


@dataclass(frozen=True)
class Options:
    """What was asked for; `probing` is the policy for a server that has not been seen to work."""

    base_url: str
    model: str
    tokenizer: str
    revision: str | None
    concurrency: int
    scoring: RetryPolicy
    probing: RetryPolicy
    context_tokens: int | None


def read_options(args: Mapping[str, str]) -> Options:
    """Check and read the arguments.

    Raises:
        ScoringError: one is missing, unknown or not a number in its range.

    >>> read_options({"base_url": "http://localhost:8000", "model": "m", "tokenizer": "t"}).concurrency
    4
    """
    unknown = [name for name in args if name not in NAMES]
    if unknown:
        raise ScoringError(
            f"A completions server takes no argument “{unknown[0]}”: there are {', '.join(NAMES)}."
        )
    missing = [name for name in REQUIRED if not str(args.get(name, "")).strip()]
    if missing:
        raise ScoringError(
            f"A completions server needs {' and '.join(missing)}: "
            "--model_args base_url=http://HOST:PORT,model=NAME,tokenizer=FOLDER."
        )
    context = read_number(args, "context_tokens", 0, 2, 10**9)
    return Options(
        base_url=args["base_url"],
        model=args["model"],
        tokenizer=args["tokenizer"],
        revision=args.get("revision") or None,
        concurrency=int(read_number(args, "concurrency", 4, 1, 256)),
        scoring=read_policy(args, 120, 300),
        probing=read_policy(args, 30, 60),
        context_tokens=int(context) or None,
    )
