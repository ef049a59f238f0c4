"""What a completions server says of itself: `/v1/models`, its version and its headers."""

from dataclasses import asdict, dataclass
from typing import Any

from scoring.backends.http.client import Client, Reply
from scoring.backends.http.errors import RefusedError, clean
from scoring.backends.http.policy import RetryPolicy
from scoring.domain.backend import ScoringError

MAX_BYTES = 2**20
# A server that is asked for the first time answers soon or not at all
FIRST_CONTACT = RetryPolicy(10, 20)
OPTIONAL = RetryPolicy(3, 3)
MOST_NAMES_SHOWN = 5


@dataclass(frozen=True)
class ServerFacts:
    """The served model and the program that serves it, as far as known; texts are cleaned."""

    id: str | None = None
    root: str | None = None
    max_model_len: int | None = None
    server: str | None = None
    version: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def ask_facts(client: Client, path: str, model: str, policy: RetryPolicy) -> ServerFacts:
    """Ask what is served; what a server has no page for stays unknown.

    Args:
        path: of the API, ending in its version.
        model: must be among the served ones, where they are named.
    Raises:
        ScoringError: the server cannot be reached, or serves other models.
    """
    first = RetryPolicy(
        min(policy.attempt_s, FIRST_CONTACT.attempt_s), min(policy.total_s, FIRST_CONTACT.total_s)
    )
    try:
        reply = await client.ask(f"{path}/models", first, MAX_BYTES)
    except RefusedError:
        return ServerFacts(version=await _version(client, path))
    card = _card(reply, model, client.origin)
    length = card.get("max_model_len")
    is_length = isinstance(length, int) and not isinstance(length, bool) and length > 1
    return ServerFacts(
        id=_text(card.get("id")),
        root=_text(card.get("root")),
        max_model_len=length if is_length else None,
        server=_text(reply.headers.get("server")),
        version=await _version(client, path),
    )


def _card(reply: Reply, model: str, origin: str) -> dict[str, Any]:
    data = reply.value.get("data") if isinstance(reply.value, dict) else None
    cards = [card for card in data if isinstance(card, dict)] if isinstance(data, list) else []
    for card in cards:
        if card.get("id") == model:
            return card
    names = [name for card in cards if (name := _text(card.get("id")))]
    if names:
        shown = ", ".join(names[:MOST_NAMES_SHOWN])
        raise ScoringError(f"The server at {origin} has no model “{clean(model)}”; it has {shown}.")
    return {}


async def _version(client: Client, path: str) -> str | None:
    """vLLM's version is at `/version`, beside the API; a server may well have no such page."""
    try:
        reply = await client.ask(f"{path.rpartition('/')[0]}/version", OPTIONAL, MAX_BYTES)
    except (RefusedError, ScoringError):
        return None
    return _text(reply.value.get("version")) if isinstance(reply.value, dict) else None


def _text(value: Any) -> str | None:
    return clean(value, 200) if isinstance(value, str) and value.strip() else None
