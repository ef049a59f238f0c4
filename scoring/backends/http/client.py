"""JSON over HTTP with one model's server: deadlines, size limits and retries.

httpx2 does the HTTP (the maintained successor of httpx, which transformers brings along anyway), tenacity the retries.
No redirect is followed (it could lead past the list of allowed hosts), no proxy or .netrc of the environment is used,
a key goes to its own server alone, nothing is unpacked, and a deadline holds for the whole of an attempt, however slowly a server drips.
"""

import asyncio
import json
import logging
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import httpcore2
import httpx2
from anyio.from_thread import start_blocking_portal

from lib import strict_json
from scoring.backends.http import errors
from scoring.backends.http.address import Address, allowed_servers, check_peer, key_of
from scoring.backends.http.attempts import Attempts
from scoring.backends.http.errors import RawReply, RetryableError
from scoring.backends.http.limits import Limits
from scoring.backends.options import RetryPolicy
from scoring.domain.backend import NoAnswerError, ScoringError

MAX_ERROR_BYTES = 100_000
SHORTEST_SECRET = 16  # characters of a key that no text holds by chance
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts no authority; takes no time to make

# Their debug messages repeat a server's headers, and those may repeat the key
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Reply:
    """A good answer: its JSON value and its headers (names in any case)."""

    value: Any
    headers: Mapping[str, str]


def ask_all(
    address: Address,
    concurrency: int,
    work: "Callable[[Client, Item], Awaitable[Result]]",
    items: Sequence[Item],
) -> list[Result]:
    """Do the work on each item, at most `concurrency` at a time; results in the items' order.

    The first error cancels all other requests and is raised.
    """

    async def run() -> list[Result]:
        slots = asyncio.Semaphore(concurrency)

        async def one(item: Item) -> Result:
            async with slots:
                return await work(client, item)

        async with Client(address) as client, asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
        return [task.result() for task in tasks]

    try:
        with start_blocking_portal() as portal:  # a thread: the caller's may have a loop of its own
            return portal.call(run)
    except BaseExceptionGroup as group:
        first = group.exceptions[0]
        raise first from first.__cause__


class Client:
    """Connections to one address; lives in one event loop, as an asynchronous context."""

    def __init__(self, address: Address) -> None:
        self.origin = address.origin
        self.limits = Limits()
        self._address, self._allowed = address, allowed_servers(address)
        self._key = key_of(address)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        self._http = httpx2.AsyncClient(
            base_url=address.origin,
            headers=headers,
            verify=ssl.create_default_context() if address.scheme == "https" else NO_TLS,
            follow_redirects=False,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None),
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(
        self,
        path: str,
        policy: RetryPolicy,
        max_bytes: int,
        payload: Any = None,
        *,
        answers_others: Callable[[], Awaitable[bool]] | None = None,
        read: Callable[[bytes], Any] = strict_json.loads,
        check: Callable[[Any], None] = lambda value: None,
        on_sent: Callable[[], None] = lambda: None,
    ) -> Reply:
        """POST the payload as JSON, or GET where there is none; attempts with growing pauses, within the policy's time.

        Args:
            path: begins at the server's root.
            max_bytes: longer answers are not read.
            answers_others: whether the server answers an easier request. Asked when it fails twice with the same words,
                numbers aside (500): if it does, it will fail on this one for ever, and is not asked again.
            read: makes a value of a good answer's bytes; a ValueError says that they cannot be read.
            check: raises RetryableError for a value that is no answer yet, and may be one when it is asked for again.
            on_sent: called for each attempt that reaches the server.
        Raises:
            RefusedError: the server will not.
            GaveUpError: it cannot be reached in time.
            ScoringError: its answer cannot be used.
        """
        body = None if payload is None else json.dumps(payload, separators=(",", ":")).encode()

        async def attempt(timeout_s: float) -> Reply:
            raw = await self._exchange(path, body, timeout_s, max_bytes, on_sent)
            self.limits.read(raw.headers)
            return self._read(raw, max_bytes, read, check)

        server = f"The server at {self.origin}"
        return await Attempts(attempt, policy, self.limits, server, answers_others).result()

    async def answers(self, path: str, payload: Any, timeout_s: float) -> bool:
        """True if the server answers this with 200, asked once."""
        body = json.dumps(payload).encode()
        try:
            raw = await self._exchange(path, body, timeout_s, MAX_ERROR_BYTES)
        except (RetryableError, ScoringError):
            return False
        return raw.status == 200

    def _read(
        self,
        raw: RawReply,
        max_bytes: int,
        read: Callable[[bytes], Any],
        check: Callable[[Any], None],
    ) -> Reply:
        if raw.status != 200:
            raise self._refused(raw)
        raw = replace(raw, headers=self._without_key(raw).headers)
        if len(raw.body) > max_bytes:
            raise NoAnswerError(
                f"The server at {self.origin} sent more than {max_bytes:,} bytes, the largest possible size of an answer."
            )
        try:
            value = self._masked(read(raw.body))
        except (ValueError, RecursionError) as error:
            raise errors.of_content(self._without_key(raw), self.origin) from error
        if (reported := errors.inside(value, raw)) is not None:
            raise self._refused(reported)
        check(value)
        return Reply(value, raw.headers)

    def _refused(self, raw: RawReply) -> Exception:
        told, is_listed = self._without_key(raw), self._address.listed is not None
        return errors.of_status(told, self.origin, has_key=bool(self._key), is_listed=is_listed)

    async def _exchange(
        self,
        path: str,
        body: bytes | None,
        timeout_s: float,
        max_bytes: int,
        on_sent: Callable[[], None] = lambda: None,
    ) -> RawReply:
        is_reached = False

        async def trace(event: str, told: Any) -> None:
            nonlocal is_reached
            if event == "connection.connect_tcp.complete":
                # Where it leads is looked at before anything is sent over it
                stream: httpcore2.AsyncNetworkStream = told["return_value"]
                try:
                    peer = stream.get_extra_info("server_addr")
                    check_peer(self._address, peer[0], self._allowed)
                except ScoringError:
                    await stream.aclose()
                    raise
            if event.endswith("send_request_headers.started"):
                is_reached = True
                on_sent()

        method, kind = ("POST", {"Content-Type": "application/json"}) if body else ("GET", {})
        # The deadline below holds for all of it: a timeout of httpx2 begins anew with every byte
        request = self._http.stream(
            method, path, content=body, headers=kind, timeout=None, extensions={"trace": trace}
        )
        response: httpx2.Response | None = None
        try:
            async with asyncio.timeout(timeout_s), request as response:
                limit = max_bytes if response.status_code == 200 else MAX_ERROR_BYTES
                content = bytearray()
                async for chunk in response.aiter_raw():
                    content += chunk
                    if len(content) > limit:
                        break
        except (TimeoutError, httpx2.ConnectTimeout) as error:  # the latter is the system's own
            said = "did not answer" if is_reached else "took no connection"
            raise RetryableError(
                f"{said} within {timeout_s:.3g} s", is_reached=is_reached
            ) from error
        except httpx2.ConnectError as error:
            raise errors.of_connection(error, self.origin) from error
        except httpx2.TransportError as error:
            raise errors.of_transport(error, answering=response is not None) from error
        return RawReply(response.status_code, response.headers, bytes(content[: limit + 1]))

    def _without_key(self, raw: RawReply) -> RawReply:
        """An error as it may be shown: some servers repeat the key that they refuse."""
        if not self._key:
            return raw
        headers = {name: value.replace(self._key, "…") for name, value in raw.headers.items()}
        body = raw.body.replace(self._key.encode(), "…".encode())
        with suppress(ValueError, RecursionError):  # JSON spells a character in several ways
            value = strict_json.loads(body)
            if (masked := _masked(value, self._key)) != value:
                body = json.dumps(masked).encode()
        return replace(raw, headers=headers, body=body)

    def _masked(self, value: Any) -> Any:
        """A good answer; a key that may be a word, as of a server of one's own, is no secret, and stands in texts."""
        return _masked(value, self._key) if len(self._key) >= SHORTEST_SECRET else value


def _masked(value: Any, key: str) -> Any:
    """JSON without the key in its strings."""
    if isinstance(value, str):
        return value.replace(key, "…")
    if isinstance(value, list):
        return [_masked(each, key) for each in value]
    if isinstance(value, dict):
        return {_masked(name, key): _masked(each, key) for name, each in value.items()}
    return value
