"""A process in Inspect's own Python that `scoring.backends.inspect_models` starts: it asks one model of a provider, through Inspect.

Run as a file, since it needs nothing of this project. Lines of JSON come and go: first which model, then questions with a
number, in any order and many at a time; each has one line that answers it. Retries are the business of whoever asks.
"""

import asyncio
import ipaddress
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

LONGEST = 2**24  # bytes of a line
SAID = 2000  # characters of an error
SHORTEST_SECRET = 16  # characters: a shorter one, such as "none", is in texts and in the names of a line by chance
REDIRECTS = frozenset([300, 301, 302, 303, 305, 307, 308])
# The SDKs of these send a request again by themselves unless they are told not to
TOLD_NOT_TO_RETRY = frozenset(
    [
        "anthropic",
        "deepseek",
        "fireworks",
        "openai",
        "openai-api",
        "openrouter",
        "perplexity",
        "sambanova",
        "together",
    ]
)
# Of the answers to one question: what they say of limits
_headers: ContextVar[dict[str, str]] = ContextVar("headers")


class ElsewhereError(Exception):
    """A request would have left for another server than the one that is allowed."""


class RedirectedError(Exception):
    """A server redirects. Some SDKs would follow, and send the key along."""


def main() -> None:
    # What libraries print is no answer
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    begin = json.loads(sys.stdin.readline())
    # The key, and the values of variables that are named as keys are
    words = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    named = [v for n, v in os.environ.items() if any(word in n for word in words)]
    secrets = [each for each in (begin["api_key"], *named) if len(each) >= SHORTEST_SECRET]

    def send(line: Mapping[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False)
        for secret in secrets:
            text = text.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "…")
        # Halves of surrogate pairs, which some models write, are in no UTF-8
        print(text.encode("utf-8", "replace").decode(), file=answers, flush=True)

    asyncio.run(_work(begin, send))


async def _work(begin: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
    try:
        model = _open(begin)
    except Exception as error:  # noqa: BLE001 (theirs, whatever it is)
        send({"error": _failure(None, error)})
        return
    send({"inspect_ai": version("inspect_ai")})
    reader = asyncio.StreamReader(limit=LONGEST)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    under_way = set()

    async def answer(line: bytes) -> None:
        question = json.loads(line)
        said = await _answer(model, question)
        send({"id": question["id"], "headers": _headers.get(), **said})

    while line := await reader.readline():
        task = asyncio.create_task(answer(line))
        under_way.add(task)
        task.add_done_callback(under_way.discard)


def _open(begin: Mapping[str, Any]) -> Any:
    from inspect_ai.model import GenerateConfig, get_model

    _keep_to(begin["base_url"])
    _send_once()
    # To write a provider's cache costs more than to read a prompt
    config = GenerateConfig(
        max_retries=0,
        max_connections=begin["concurrency"],
        adaptive_connections=False,
        cache_prompt=False,
    )
    provider = begin["model"].partition("/")[0]
    if provider == "bedrock" and begin["api_key"]:
        os.environ["AWS_BEARER_TOKEN_BEDROCK"] = begin[
            "api_key"
        ]  # else its SDK signs, by AWS_ACCESS_KEY_ID
    options = {"max_retries": 0} if provider in TOLD_NOT_TO_RETRY else {}
    return get_model(
        begin["model"],
        config=config,
        base_url=begin["base_url"] or None,
        api_key=begin["api_key"] or None,
        memoize=False,
        **options,
    )


async def _answer(model: Any, question: Mapping[str, Any]) -> dict[str, Any]:
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        ResponseSchema,
    )

    kinds = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    _headers.set({})
    try:
        config = GenerateConfig(**question["config"])
        if question["schema"]:
            config.response_schema = ResponseSchema(
                name="answer", json_schema=question["schema"], strict=True
            )
        turns = [kinds[turn["role"]](content=turn["content"]) for turn in question["turns"]]
        async with asyncio.timeout(question["timeout"]):
            output = await model.generate(turns, config=config)
    except TimeoutError:
        return {"error": {"kind": "TimeoutError"}}
    except Exception as error:  # noqa: BLE001 (a provider's, whatever it is)
        return {"error": _failure(model, error)}
    return {"output": output.model_dump(mode="json", exclude_none=True)}


def _failure(model: Any, error: Exception) -> dict[str, Any]:
    """A provider's error in the parts that decide what becomes of it."""
    cause: BaseException = error
    if last := getattr(error, "last_attempt", None):  # tenacity's
        cause = last.exception() or error
    inner = cause.__cause__
    if type(cause).__name__ == "ModelGenerateError" and isinstance(inner, Exception):
        cause = inner
    names = {kind.__name__ for kind in type(cause).__mro__}
    response, code = getattr(cause, "response", None), getattr(cause, "code", None)
    if isinstance(response, dict):  # botocore's
        code = response.get("Error", {}).get("Code")
        status_code = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        status_code = getattr(cause, "status_code", None)
    told = (status_code, getattr(response, "status_code", None), code)
    status = next((n for n in told if isinstance(n, int)), 0)
    decision = model.api.should_retry(cause) if model is not None else False
    _note(getattr(response, "headers", None) or {})
    _note(_pause_in_body(cause))
    stopped = _stopped(cause)
    return {
        "kind": type(stopped or cause).__name__,
        "status": status,
        "code": code if isinstance(code, str) else "",
        "says": (str(stopped) if stopped else _said(cause))[:SAID],
        "is_transient": bool(decision),
        "is_connection": any("Connect" in name for name in names),
    }


def _said(error: BaseException) -> str:
    """The provider's own words, where its SDK keeps them apart."""
    response, body = getattr(error, "response", None), getattr(error, "body", None)
    if isinstance(response, dict):  # botocore's
        return str(response.get("Error", {}).get("Message") or error)
    if isinstance(body, str):  # Mistral's
        with suppress(ValueError):
            body = json.loads(body)
    for place in (body.get("error"), body) if isinstance(body, dict) else ():
        if isinstance(place, dict) and isinstance(place.get("message"), str):
            return str(place["message"])
    inner = getattr(getattr(error, "error", None), "message", None)  # Azure's
    return str(inner or getattr(error, "message", "") or error)


def _stopped(error: BaseException | None) -> BaseException | None:
    """The error by which a request was stopped here, under those that SDKs make of it."""
    while error is not None and not isinstance(error, ElsewhereError | RedirectedError):
        error = error.__cause__ or error.__context__
    return error


def _pause_in_body(error: BaseException) -> Mapping[str, str]:
    """The pause that Google asks for, as a header: it has none for it."""
    told = getattr(error, "details", None)
    told = told.get("error", told) if isinstance(told, dict) else {}
    for detail in told.get("details") or ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return {"retry-after": delay[:-1]}
    return {}


def _note(headers: Mapping[str, str]) -> None:
    told = {str(name).lower(): str(value) for name, value in headers.items()}
    found = {n: v for n, v in told.items() if "ratelimit" in n or n.startswith("retry-after")}
    if found:
        _headers.get({}).update(found, date=told.get("date", ""))


def _send_once() -> None:
    """Let the SDKs of Bedrock and Azure AI send a request once, who are not told so by the options of a model."""
    os.environ["AWS_MAX_ATTEMPTS"] = "1"
    with suppress(ImportError):
        import_module("azure.core.pipeline.policies").AsyncRetryPolicy.is_retry = lambda *_: False


def _keep_to(base_url: str) -> None:
    """No redirect is followed, and where an address is given, no request leaves for another; whatever SDK asks."""
    for name in ("httpx", "httpx2"):
        with suppress(ImportError):
            http = import_module(name)
            allowed = _origin(http.URL(base_url)) if base_url else None
            http.AsyncClient.send = _kept(http.AsyncClient.send, allowed)
            http.Client.send = _refused if base_url else _kept_at_once(http.Client.send)
    with suppress(ImportError):
        session = import_module("aiohttp").ClientSession
        allowed = _origin(import_module("yarl").URL(base_url)) if base_url else None
        session._request = _kept_in_session(session._request, allowed)
    socket.getaddrinfo = _outside(socket.getaddrinfo, urlsplit(base_url).hostname)


def _origin(url: Any) -> tuple[str, str, int | None]:
    ports = {"http": 80, "https": 443}
    return url.scheme, url.host, url.port or ports.get(url.scheme)


def _kept(send: Any, allowed: Any) -> Any:
    @wraps(send)
    async def kept(self: Any, request: Any, **options: Any) -> Any:
        if allowed is not None and _origin(request.url) != allowed:
            raise ElsewhereError(request.url.host)
        response = await send(self, request, **options | {"follow_redirects": False})
        _note(response.headers)
        _check_answered(response.status_code)
        return response

    return kept


def _kept_at_once(send: Any) -> Any:
    @wraps(send)
    def kept(self: Any, request: Any, **options: Any) -> Any:
        response = send(self, request, **options | {"follow_redirects": False})
        _check_answered(response.status_code)
        return response

    return kept


def _kept_in_session(request: Any, allowed: Any) -> Any:
    """As `_kept`, in aiohttp, by which Google's, Azure's and Amazon's SDKs ask."""

    @wraps(request)
    async def kept(self: Any, method: str, url: Any, **options: Any) -> Any:
        whole = self._build_url(url)
        if allowed is not None and _origin(whole) != allowed:
            raise ElsewhereError(whole.host)
        response = await request(self, method, url, **options | {"allow_redirects": False})
        _note(response.headers)
        _check_answered(response.status)
        return response

    return kept


def _check_answered(status: int) -> None:
    if status in REDIRECTS:
        raise RedirectedError(str(status))


def _refused(self: Any, request: Any, **options: Any) -> Any:
    raise ElsewhereError(request.url.host)


def _outside(find: Any, only: str | None) -> Any:
    """No name but the given one is looked up. None leads to this machine or its local link, as in `check_peer`; an address is no name."""

    @wraps(find)
    def found(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host or ""
        if only and name.lower() != only:
            raise ElsewhereError(name)
        places = find(host, *args, **options)
        try:
            ipaddress.ip_address(name.partition("%")[0])
        except ValueError:
            if name != "localhost":
                for place in places:
                    address = ipaddress.ip_address(str(place[4][0]).partition("%")[0])
                    address = getattr(address, "ipv4_mapped", None) or address
                    if address.is_loopback or address.is_link_local or address.is_unspecified:
                        raise ElsewhereError(name) from None
        return places

    return found


if __name__ == "__main__":
    main()
