"""The arguments of servers and of vLLM, and of how any generator writes, read from texts. Loads none of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scoring.backends import wrong
from scoring.domain.backend import ScoringError


@dataclass(frozen=True)
class RetryPolicy:
    """Seconds for one attempt, and for all attempts of a request with the pauses between them.

    tries: attempts that the server may fail at; None for no limit. One that it only puts off, or that does not reach it,
    is none.
    """

    attempt_s: float
    total_s: float
    tries: int | None = None


def read_policy(args: Mapping[str, str], attempt_s: float, total_s: float) -> RetryPolicy:
    """`timeout` and `retry_seconds`, or these defaults; `tries` where they are given.

    Raises:
        ScoringError: one is no number in its range.
    """
    one = read_number(args, "timeout", attempt_s, 0.01, 86_400, whole=False)
    # Who waits long for one answer wants at least that one
    total = read_number(args, "retry_seconds", max(one, total_s), 0, 864_000, whole=False)
    tries = int(read_number(args, "tries", 3, 1, 100)) if "tries" in args else None
    return RetryPolicy(one, total, tries)


# A server that is asked for the first time answers soon or not at all, however long its answers take later
FIRST_CONTACT = RetryPolicy(10, 20)
FIRST_ANSWER_S = 60


def first_contact(policy: RetryPolicy) -> RetryPolicy:
    """For a question that any server answers at once.

    >>> first_contact(RetryPolicy(180, 86_400))
    RetryPolicy(attempt_s=10, total_s=20, tries=None)
    """
    return RetryPolicy(
        min(policy.attempt_s, FIRST_CONTACT.attempt_s), min(policy.total_s, FIRST_CONTACT.total_s)
    )


def before_an_answer(policy: RetryPolicy) -> RetryPolicy:
    """Until a server has answered once: one that never does keeps a worker, and all who wait for it, a minute or one attempt.

    >>> before_an_answer(RetryPolicy(180, 86_400)).total_s, before_an_answer(RetryPolicy(5, 86_400)).total_s
    (180, 60)
    """
    return replace(policy, total_s=min(policy.total_s, max(policy.attempt_s, FIRST_ANSWER_S)))


def read_number(
    args: Mapping[str, str],
    name: str,
    default: float,
    least: float,
    most: float,
    *,
    whole: bool = True,
    kind: str = "a number of seconds",
) -> float:
    """An argument's number.

    Raises:
        ScoringError: it is none, or out of its range.

    >>> read_number({"concurrency": "8"}, "concurrency", 4, 1, MOST_AT_ONCE)
    8.0
    """
    if name not in args:
        return default
    try:
        value = float(args[name])
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != int(value)):
        expected = "a whole number" if whole else kind
        raise ScoringError(
            f"{name}={args[name]!r} cannot be used: expected {expected} from {least:g} to {most:,.0f}."
        )
    return value


def check_names(
    server: str, args: Mapping[str, str], names: Sequence[str], n_needed: int, example: str = ""
) -> None:
    """Refuse an argument that is none of these names, and the lack of one of the first `n_needed`.

    Raises:
        ScoringError: in one sentence, with an example where one is given.
    """
    unknown = [name for name in args if name not in names]
    if unknown:
        raise ScoringError(
            f"{server} does not accept the argument “{unknown[0]}”. Choose from {', '.join(names)}."
        )
    missing = [name for name in names[:n_needed] if not str(args.get(name, "")).strip()]
    if missing:
        raise ScoringError(f"{server} needs {' and '.join(missing)}{example}.")


WRITING = (
    *("max_tokens", "temperature", "top_p", "seed"),
    *("think_end_token", "enable_thinking", "reasoning_effort"),
)
CHAT_NAMES = ("base_url", "model", "concurrency", "timeout", "retry_seconds", "tries", *WRITING)
MAX_TOKENS = 4096
MOST_AT_ONCE = 512


@dataclass(frozen=True)
class Writing:
    """How an answer is drawn; None leaves it to the server, and means greedy for a model in this process.

    think_end_token: what closes a thought, as a text, or in this process as a token's number. enable_thinking and
    reasoning_effort are for the model's chat template, or for the server.
    """

    max_tokens: int
    temperature: float | None
    top_p: float | None
    seed: int | None
    think_end_token: str | None = None
    enable_thinking: bool | None = None
    reasoning_effort: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The settings that were given, by name.

        >>> Writing(100, 0.0, None, None).as_dict()
        {'max_tokens': 100, 'temperature': 0.0}
        """
        return {name: value for name in WRITING if (value := getattr(self, name)) is not None}

    @property
    def template_arguments(self) -> dict[str, Any]:
        """For a chat template: some ask for `enable_thinking`, others for `thinking`.

        >>> Writing(100, None, None, None, enable_thinking=False).template_arguments
        {'enable_thinking': False, 'thinking': False}
        """
        if self.enable_thinking is None:
            return {}
        return dict.fromkeys(("enable_thinking", "thinking"), self.enable_thinking)


@dataclass(frozen=True)
class ChatOptions:
    base_url: str
    model: str
    concurrency: int
    policy: RetryPolicy
    writing: Writing


def read_writing(args: Mapping[str, str]) -> Writing:
    """Check and read how answers are drawn.

    Raises:
        ScoringError: a number is none, or out of its range.

    >>> read_writing({"temperature": "0.7"}).temperature
    0.7
    """

    def number(name: str, most: float, whole: bool = False) -> float | None:
        if name not in args:
            return None
        return read_number(args, name, 0, 0, most, whole=whole, kind="a number")

    said, known = args.get("enable_thinking"), {"true": True, "false": False}
    if said is not None and said.lower() not in known:
        raise ScoringError(f"enable_thinking={said!r} cannot be used: expected True or False.")
    enable_thinking = None if said is None else known[said.lower()]
    seed = number("seed", 2**31 - 1, whole=True)
    return Writing(
        max_tokens=int(read_number(args, "max_tokens", MAX_TOKENS, 1, 1_000_000)),
        temperature=number("temperature", 2),
        top_p=number("top_p", 1),
        seed=None if seed is None else int(seed),
        think_end_token=args.get("think_end_token") or None,
        enable_thinking=enable_thinking,
        reasoning_effort=args.get("reasoning_effort") or None,
    )


def read_chat_options(args: Mapping[str, str]) -> ChatOptions:
    """Check and read the arguments of a chat server.

    Raises:
        ScoringError: one is missing, unknown or not a number in its range.

    >>> read_chat_options({"base_url": "http://localhost:8000", "model": "m"}).concurrency
    4
    """
    check_names("A chat server", args, CHAT_NAMES, 2)
    if args.get("think_end_token", "").isdigit():
        raise ScoringError(
            f"think_end_token={args['think_end_token']} cannot be used. For a server, give the text that ends a thought, "
            "not its number."
        )
    return ChatOptions(
        base_url=args["base_url"],
        model=args["model"],
        concurrency=int(read_number(args, "concurrency", 4, 1, MOST_AT_ONCE)),
        policy=read_policy(args, 180, 900),
        writing=read_writing(args),
    )


INSPECT_NAMES = (
    *("model", "base_url", "concurrency", "timeout", "retry_seconds", "tries"),
    *(name for name in WRITING if name != "enable_thinking"),
)
# Providers that Inspect reaches over HTTP. Its others load models, or start servers, in the place where they are asked
PROVIDERS = frozenset(
    [
        "anthropic",
        "azureai",
        "bedrock",
        "cloudflare",
        "deepseek",
        "fireworks",
        "google",
        "grok",
        "groq",
        "hf-inference-providers",
        "meta",
        "mistral",
        "mockllm",
        "moonshot",
        "openai",
        "openai-api",
        "openrouter",
        "perplexity",
        "sambanova",
        "together",
    ]
)
# Of these, those that are reached with an address and a key alone, through httpx or aiohttp, so that a request to another
# address than the given one can be stopped
WITH_ADDRESS = PROVIDERS.difference(["bedrock", "cloudflare", "grok", "hf-inference-providers"])
# A name may have another company's service between the provider and the model; some need more than an address and a key
SERVICES = frozenset({"azure", "bedrock", "vertex"})
SIGNED = ("bedrock", "vertex")


@dataclass(frozen=True)
class InspectOptions:
    """provider: to whom texts go, with the service that the name has, as in `openai/azure`."""

    model: str
    provider: str
    base_url: str
    concurrency: int
    policy: RetryPolicy
    writing: Writing


def inspect_provider(args: Mapping[str, str]) -> str:
    """To whom Inspect sends texts, as the setting SCORING_HOSTS names it after `inspect:`.

    >>> [inspect_provider({"model": name}) for name in ("openai/gpt-4o", "openai/azure/gpt-4o", "together/meta/llama")]
    ['openai', 'openai/azure', 'together']
    """
    parts = args.get("model", "").split("/")
    has_service = len(parts) > 2 and (parts[1] in SERVICES or parts[0] == "openai-api")
    return "/".join(parts[:2]) if has_service else parts[0]


def in_provider(provider: str, model: str) -> str:
    """A model's name with its provider, as Inspect has it.

    >>> in_provider("anthropic", "claude"), in_provider("anthropic", "anthropic/claude")
    ('anthropic/claude', 'anthropic/claude')
    """
    return model if model.startswith(f"{provider}/") else f"{provider}/{model}"


def read_inspect_options(args: Mapping[str, str]) -> InspectOptions:
    """Check and read the arguments of a provider's model that is asked through Inspect.

    Raises:
        ScoringError: one is missing, unknown or not a number in its range, or the provider is not known.

    >>> read_inspect_options({"model": "anthropic/claude"}).provider
    'anthropic'
    """
    example = ": --model_args model=PROVIDER/NAME"
    check_names("A provider's model", args, INSPECT_NAMES, 1, example)
    name, _, rest = args["model"].partition("/")
    if not rest or name not in PROVIDERS:
        raise ScoringError(
            f"model={args['model']!r} cannot be used: expected PROVIDER/NAME, with one of the providers "
            f"{', '.join(sorted(PROVIDERS))}."
        )
    provider, base_url = inspect_provider(args), args.get("base_url", "")
    if base_url and (name not in WITH_ADDRESS or provider.endswith(SIGNED)):
        raise ScoringError(
            f"base_url cannot be given for {provider}. Leave it out, and set the address in the environment, by the variable of "
            "that provider."
        )
    return InspectOptions(
        model=args["model"],
        provider=provider,
        base_url=base_url,
        concurrency=int(read_number(args, "concurrency", 4, 1, MOST_AT_ONCE)),
        policy=read_policy(args, 300, 900),
        writing=read_writing(args),
    )


COMPLETIONS_NAMES = (
    *("base_url", "model", "tokenizer", "revision"),
    *("concurrency", "timeout", "retry_seconds", "context_tokens"),
)


@dataclass(frozen=True)
class CompletionsOptions:
    """The settings of a completions server; `probing` is the policy for a server that has not been seen to work."""

    base_url: str
    model: str
    tokenizer: str
    revision: str | None
    concurrency: int
    scoring: RetryPolicy
    probing: RetryPolicy
    context_tokens: int | None


def read_completions_options(args: Mapping[str, str]) -> CompletionsOptions:
    """Check and read the arguments.

    Raises:
        ScoringError: one is missing, unknown or not a number in its range.

    >>> read_completions_options({"base_url": "http://localhost:8000", "model": "m", "tokenizer": "t"}).concurrency
    4
    """
    example = ": --model_args base_url=http://HOST:PORT,model=NAME,tokenizer=FOLDER"
    check_names("A completions server", args, COMPLETIONS_NAMES, 3, example)
    context = read_number(args, "context_tokens", 0, 2, 10**9)
    return CompletionsOptions(
        base_url=args["base_url"],
        model=args["model"],
        tokenizer=args["tokenizer"],
        revision=args.get("revision") or None,
        concurrency=int(read_number(args, "concurrency", 4, 1, MOST_AT_ONCE)),
        scoring=read_policy(args, 120, 300),
        probing=before_an_answer(read_policy(args, 30, 60)),
        context_tokens=int(context) or None,
    )


VLLM_READ: Mapping[str, Callable[[str], Any]] = {
    "pretrained": str,
    "revision": str,
    "tokenizer": str,
    "dtype": str,
    "quantization": str,
    "tensor_parallel_size": int,
    "pipeline_parallel_size": int,
    "max_model_len": int,
    "max_num_batched_tokens": int,
    "gpu_memory_utilization": float,
    "enforce_eager": {"True": True, "False": False}.__getitem__,
}


def engine_args(args: Mapping[str, str]) -> dict[str, Any]:
    """The arguments of `vllm.LLM`.

    A prompt's log-probabilities need the whole prompt computed, so that a cache of beginnings brings nothing and has
    been wrong; weights come from safetensors and code that comes with a model is never run.

    Raises:
        ScoringError: an argument is unknown, missing or not of its kind.

    >>> engine_args({"pretrained": "large", "tensor_parallel_size": "8"})["tensor_parallel_size"]
    8
    """
    if not args.get("pretrained", "").strip():
        raise ScoringError("--model vllm needs pretrained=… in --model_args.")
    values = {}
    for name, text in args.items():
        if name not in VLLM_READ:
            raise wrong(f"{name} is not known. vLLM accepts {', '.join(VLLM_READ)}")
        try:
            values[name] = VLLM_READ[name](text)
        except (KeyError, ValueError) as error:
            kind = {int: "a whole number", float: "a number"}.get(VLLM_READ[name], "True or False")  # type: ignore[call-overload]
            raise wrong(f"{name}={text}: expected {kind}") from error
    values["model"] = values.pop("pretrained")
    if "revision" in values and "tokenizer" not in values:
        values["tokenizer_revision"] = values["revision"]
    return values | {
        "enable_prefix_caching": False,
        "load_format": "safetensors",
        "trust_remote_code": False,
        "seed": 0,
    }
