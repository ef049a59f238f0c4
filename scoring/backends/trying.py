"""Tries a server of models out: one harmless question, asked in the ways that studies ask, with the limits of a first contact.

Each finding is a line for a reader: what was tried, whether it works, and what came.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from lib import strict_json
from scoring.backends.chat import ChatGenerator
from scoring.backends.http.address import Address, allowed_address, allowed_provider
from scoring.backends.http.client import Client, ask_all
from scoring.backends.http.errors import GaveUpError, RefusedError, clean
from scoring.backends.inspect_models import InspectGenerator
from scoring.backends.options import FIRST_CONTACT, RetryPolicy, in_provider
from scoring.backends.registry import CHAT, COMPLETIONS, INSPECT
from scoring.backends.remote import Remote
from scoring.domain.backend import ScoringError
from scoring.domain.generating import Finish, Generated, Message

QUESTION = "Which is larger, 2 or 3? Answer with one digit."
NAMED = Message("user", f'{QUESTION} Write it as JSON: {{"larger": 3}}')
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"larger": {"type": "integer"}},
    "required": ["larger"],
    "additionalProperties": False,
}
SENTENCE = "The capital of France is Paris."
MAX_BYTES = 2**22
MOST_LISTED = 500
SHOWN = 80  # characters of an answer
# A page waits for it
LISTING = RetryPolicy(5, 5, tries=1)
ONCE = RetryPolicy(FIRST_CONTACT.attempt_s, FIRST_CONTACT.total_s, tries=1)


@dataclass(frozen=True)
class Tried:
    """One thing that was tried. works: None where it could not be found out."""

    name: str
    works: bool | None
    said: str


def model_names(address: Address, policy: RetryPolicy = LISTING) -> list[str]:
    """Names of the models that a server lists.

    Raises:
        ScoringError: it cannot be reached, refuses, or has no such list.
    """

    async def ask(client: Client, path: str) -> Any:
        return (await client.ask(path, policy, MAX_BYTES)).value

    try:
        [value] = ask_all(address, 1, ask, [f"{address.path}/models"])
    except RefusedError as error:
        raise ScoringError(
            f"The server at {address.origin} does not list its models: {error}."
        ) from error
    rows = value.get("data") if isinstance(value, dict) else None
    names = [row.get("id") for row in rows or () if isinstance(row, dict)]
    found = {clean(name, 200) for name in names if isinstance(name, str) and name.strip()}
    return sorted(found)[:MOST_LISTED]


def try_server(kind: str, base_url: str, model: str = "") -> list[Tried]:
    """A line for each thing that a server can do; the first of its models is asked where none is named.

    base_url: for a model of a provider, the provider's name.

    Raises:
        ScoringError: texts may not be sent there, or Inspect cannot open the model.
    """
    if kind == INSPECT.name:
        return _try_provider(base_url, model)
    address, names, why = (
        allowed_address(base_url),
        list[str](),
        "The server does not name a model.",
    )
    try:
        names = model_names(address, FIRST_CONTACT)
    except GaveUpError as error:
        if not error.status:
            return [Tried("Reached", False, str(error))]
        why = str(error)
    except ScoringError as error:
        why = str(error)
    is_listed = bool(names)
    tried = [
        Tried("Reached", True, f"The server at {address.origin} answers."),
        Tried("List of models", is_listed, _listed(names) if is_listed else why),
    ]
    if not (model := model or next(iter(names), "")):
        return [*tried, Tried("Answers", None, "Name a model to ask.")]
    ways = {CHAT.name: _try_chat, COMPLETIONS.name: _try_completions}
    return [*tried, *ways[kind](address, base_url, model)] if kind in ways else tried


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{len(names)}: {shown}, …" if len(names) > 5 else shown


def _try_chat(address: Address, base_url: str, model: str) -> list[Tried]:
    return _try_messages(ChatGenerator, {"base_url": base_url, "model": model})


def _try_provider(provider: str, model: str) -> list[Tried]:
    allowed_provider(provider)
    if not model:
        return [Tried("Answers", None, "Name a model to ask: providers' libraries list none.")]
    return _try_messages(InspectGenerator, {"model": in_provider(provider, model)})


def _try_messages(
    open_it: Callable[[Mapping[str, str]], Remote], at: Mapping[str, str]
) -> list[Tried]:
    """Each way at the same time, so that a page waits no longer than for one."""
    args = {
        **at,
        "max_tokens": "1024",
        "timeout": f"{ONCE.attempt_s:g}",
        "retry_seconds": f"{ONCE.total_s:g}",
        "tries": "1",
    }
    with (
        closing(open_it(args)) as plain,
        closing(open_it(args)) as with_tokens,
        closing(open_it(args)) as with_schema,
        closing(open_it(args | {"temperature": "0"})) as at_zero,
        ThreadPoolExecutor(4) as threads,
    ):
        question = [Message("user", QUESTION)]
        answers = threads.submit(_answer, plain.generate, question)
        tokens = threads.submit(_answer, with_tokens.generate, question, None, wants_tokens=True)
        schema = threads.submit(_answer, with_schema.generate, [NAMED], SCHEMA)
        zero = threads.submit(_answer, at_zero.generate, question)
        answer = answers.result()
        if isinstance(answer, str):
            return [Tried("Answers", False, answer)]
        return [
            _said(at["model"], answer),
            _gives_tokens(tokens.result()),
            _keeps_schema(schema.result(), takes=with_schema.takes_schema),
            _takes_zero(zero.result()),
            _reasons(answer),
        ]


def _answer(ask: Callable[..., Generated], *args: Any, **options: Any) -> Generated | str:
    """The answer, or why there is none."""
    try:
        return ask(*args, **options)
    except ScoringError as error:
        return str(error)


def _said(model: str, answer: Generated) -> Tried:
    if answer.finish == Finish.STOP:
        return Tried("Answers", True, f"{model} says “{clean(answer.text, SHOWN)}”.")
    ended = answer.detail or answer.finish.value
    return Tried("Answers", False, f"{model} gave no complete answer ({clean(ended, SHOWN)}).")


def _gives_tokens(answer: Generated | str) -> Tried:
    name = "Token probabilities"
    if isinstance(answer, str):
        return Tried(name, False, answer)
    if answer.tokens:
        return Tried(name, True, "Come with the answer.")
    return Tried(
        name, False, "Do not come with the answer. A choice is then read from the text alone."
    )


def _keeps_schema(answer: Generated | str, *, takes: bool) -> Tried:
    name = "JSON schema"
    if isinstance(answer, str):
        return Tried(name, False, answer)
    if not takes:
        return Tried(name, False, "Is refused. Answers are then read from the text.")
    try:
        fits = isinstance(strict_json.loads(answer.text)["larger"], int)
    except (ValueError, KeyError, TypeError):
        fits = False
    if fits:
        return Tried(name, True, "Is accepted, and the answer follows it.")
    return Tried(name, False, "Is accepted, but the answer does not follow it.")


def _takes_zero(answer: Generated | str) -> Tried:
    if isinstance(answer, str):
        return Tried("Temperature 0", False, answer)
    return Tried("Temperature 0", True, "Is accepted.")


def _reasons(answer: Generated) -> Tried:
    n = answer.usage.thought_tokens if answer.usage else 0
    if answer.thought or n:
        told = f" ({n:,} tokens)" if n else ""
        return Tried("Reasoning", True, f"The model reasons before it answers{told}.")
    return Tried("Reasoning", False, "No reasoning came with the answer.")


def _try_completions(address: Address, base_url: str, model: str) -> list[Tried]:
    async def ask(client: Client, payload: Mapping[str, Any]) -> Any:
        return (await client.ask(f"{address.path}/completions", ONCE, MAX_BYTES, payload)).value

    payload = {"model": model, "prompt": SENTENCE, "max_tokens": 1, "echo": True, "logprobs": 1}
    try:
        [value] = ask_all(address, 1, ask, [payload])
    except (RefusedError, ScoringError) as error:
        return [Tried("Answers", False, f"The server at {address.origin} says: {error}")]
    try:
        found = value["choices"][0]["logprobs"]["token_logprobs"]
        n = sum(isinstance(each, float | int) for each in found)
    except (LookupError, TypeError):
        n = 0
    if n > 1:
        return [
            Tried("Answers", True, f"{model} reads a sentence."),
            Tried("Token probabilities", True, "Come for each token of the text."),
        ]
    return [
        Tried("Answers", True, f"{model} reads a sentence."),
        Tried(
            "Token probabilities",
            False,
            "Do not come for the tokens of the text, so that this server cannot score test cases.",
        ),
    ]
