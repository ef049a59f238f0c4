"""Failures of a model's server, as errors whose sentences can be shown, and the wait before a request is sent again. Opens no connection.

A server's own words are cleaned before they are shown: one line, without control characters, and short.
"""

import json
import os
import re
import socket
import ssl
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from tenacity import RetryCallState
from tenacity.wait import wait_exponential, wait_random_exponential

from scoring.backends.http import KEYS_VARIABLE
from scoring.domain.backend import NoAnswerError, ScoringError

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 507, 520, 521, 522, 523, 524, 529})
TOO_MANY = 429
SHOWN_CHARACTERS = 300
MEDIA_TYPE = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,60}")
SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
TOO_LONG = re.compile(
    r"context.{0,20}length|context window|maximum.{0,20}length|max_model_len|max_total_tokens"
    r"|longer than|too long|too many tokens|exceeds?\b.{0,40}\b(tokens|length|limit)",
    re.IGNORECASE,
)
# Types and codes of errors that stay, however often the request is sent
WRONG_REQUEST = re.compile(r"valid|authent|permission|not_found|context_length|content|policy|unsupported|safety")  # fmt: skip
# Statuses with which servers refuse a text for what it says, and their codes and words for that
MODERATING = (400, 403, 422, 451)
MODERATED = re.compile(
    r"content.?filter|content.?policy|content management policy|data.?inspection|moderation|responsible.?ai"
    r"|inappropriate content|content exists risk|safety (system|filter|setting)"
    r"|\b(input|prompt|content|request|message|text)s?\b.{0,60}\bflagged"
    r"|\b(input|prompt|content|request|message|text)s?\b.{0,60}\bviolat.{0,60}\b(polic|guideline|rule|term)",
    re.IGNORECASE,
)


class RefusedError(Exception):
    """The server answered that it will not: `status`, its reason as it may be shown, and its code for that.

    `words`: what it said in any form; they may be those of another service, so they decide what to do, and are not shown.
    """

    def __init__(self, status: int, message: str, code: str = "", words: str = "") -> None:
        self.status, self.message, self.code = status, message, code
        self.words = words or message
        super().__init__(f"{status}: {message}")


class ForbiddenError(ScoringError):
    """The server asks for a key, or for another; `refusal` is what it said. 403 may be about this request alone."""

    def __init__(self, sentence: str, refusal: RefusedError) -> None:
        self.refusal = refusal
        super().__init__(sentence)


class RetryableError(Exception):
    """An attempt failed in a way that may pass; the message continues after "the server".

    `status` is 0 where it did not answer, `said` its own words (cleaned), `retry_after_s` the pause that it asks for.
    `is_reached`: it had the request.
    """

    def __init__(
        self,
        what: str,
        status: int = 0,
        retry_after_s: float | None = None,
        said: str = "",
        is_reached: bool = True,
    ) -> None:
        self.status, self.retry_after_s, self.said = status, retry_after_s, said
        self.is_reached = is_reached
        super().__init__(what)

    @property
    def is_of_request(self) -> bool:
        """True if the server failed at this request; else it puts off all of them, or is not there."""
        return self.is_reached and self.retry_after_s is None and self.status != TOO_MANY


class GaveUpError(ScoringError):
    """The time for a request is over, or its tries are; `status` of the last answer, 0 where there was none.

    `is_of_request`: the server failed at this one, and may answer others.
    """

    def __init__(self, sentence: str, status: int, is_of_request: bool = False) -> None:
        self.status, self.is_of_request = status, is_of_request
        super().__init__(sentence)


@dataclass(frozen=True)
class RawReply:
    """An answer as it came; names of headers in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_inside: bool = False  # an error in an answer of status 200


def of_connection(error: httpx2.ConnectError, origin: str) -> Exception:
    """Why no connection could be made: an error to retry, or a final one."""
    # Libraries wrap what the system reported, several times
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        else:
            cause = cause.__cause__ or cause.__context__
    tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if isinstance(tls, ssl.SSLCertVerificationError):
        reason = clean(tls.verify_message)
        return ScoringError(f"The certificate of {origin} is not trusted: {reason}.")
    if tls is not None:
        return ScoringError(f"{origin} does not speak TLS: try http:// instead.")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return RetryableError("cannot be found: no machine has this name", is_reached=False)
    numbers = [cause.errno for cause in causes if isinstance(cause, OSError) and cause.errno]
    reason = os.strerror(numbers[-1]) if numbers else clean(str(error))
    return RetryableError(f"refused the connection: {reason.lower()}", is_reached=False)


def of_transport(error: httpx2.TransportError, *, answering: bool) -> RetryableError:
    """Why an exchange broke; `answering`: a status and headers had come."""
    if answering or not isinstance(error, httpx2.RemoteProtocolError):
        return RetryableError("dropped the connection")
    return RetryableError("closed the connection without an answer in HTTP")


def of_status(reply: RawReply, origin: str, *, has_key: bool, is_listed: bool = False) -> Exception:
    """The meaning of an answer other than 200; `is_listed`: the site's list has the server, and its key if there is one."""
    status, message = reply.status, error_message(reply)
    if status in RETRIED:
        pause_s = asked_pause_s(reply.headers)
        what = f"200 with the error {status}" if reply.is_inside else str(status)
        return RetryableError(f"answered {what} ({message})", status, pause_s, message)
    if 300 <= status < 400:
        return ScoringError(
            f"The server at {origin} redirects to {_origin(reply.headers.get('location', ''))}. Redirects are not followed, "
            "because texts go only to the hosts in SCORING_HOSTS. Give the final address as base_url."
        )
    if status in (401, 403):
        if is_listed:
            where = "the page Model servers"
            state = f"it does not accept the one of {where}" if has_key else f"{where} has none"
        elif has_key:
            state = f"it does not accept the one in {KEYS_VARIABLE}"
        else:
            state = f"{KEYS_VARIABLE} has none for {urlsplit(origin).netloc}"
        return ForbiddenError(
            f"The server at {origin} needs a key, but {state} ({status}: {message}).",
            _refusal(reply),
        )
    return _refusal(reply)


def inside(value: Any, reply: RawReply) -> RawReply | None:
    """The error that an answer of status 200 reports, as gateways pass on those of their providers; None where it reports none.

    Its status is the one that it names, else 502, which may pass, unless its type says that the request is wrong.

    >>> inside({"error": {"message": "Provider returned error", "code": 502}}, RawReply(200, {}, b"")).status
    502
    >>> inside({"error": {"message": "temperature", "type": "invalid_request_error"}}, RawReply(200, {}, b"")).status
    400
    """
    choices = value.get("choices") if isinstance(value, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    told = first if first is not None else value
    if not isinstance(told, dict) or error_in(told) is None:
        return None
    places = [place for place in (told.get("error"), told) if isinstance(place, dict)]
    codes = [str(place.get("code")) for place in places]
    kinds = [str(place.get(name)) for place in places for name in ("type", "error_type")]
    named = next((code for code in codes if re.fullmatch("[45][0-9][0-9]", code)), "")
    is_wrong = WRONG_REQUEST.search(" ".join([*codes, *kinds]).lower())
    status = int(named) if named else 400 if is_wrong else 502
    return RawReply(status, reply.headers, json.dumps(told).encode(), is_inside=True)


def _refusal(reply: RawReply) -> RefusedError:
    words = error_message(reply, words_in)
    try:
        value = json.loads(reply.body)
    except (ValueError, RecursionError):
        value = None
    # `error.code`, or `code`, as "content_filter"; empty where there is none
    error = value.get("error") if isinstance(value, dict) else None
    places = [place for place in (error, value) if isinstance(place, dict)]
    codes = (place["code"] for place in places if isinstance(place.get("code"), str))
    code = clean(next(codes, ""), 60)
    return RefusedError(reply.status, error_message(reply), code, words)


def of_content(reply: RawReply, origin: str) -> ScoringError:
    """The error for an answer that is no JSON; its words are not shown, because they may be those of another service."""
    return NoAnswerError(
        f"The server at {origin} answered with something that is not JSON ({_kind(reply)}); base_url may be wrong."
    )


def clean(text: str, limit: int = SHOWN_CHARACTERS) -> str:
    r"""One line without control and other invisible characters, cut at `limit` characters.

    >>> clean("out of\n\tmemory\x1b[31m"), clean("abcdef", 3)
    ('out of memory[31m', 'abc…')
    """
    text = text[: 20 * limit]  # enough to fill the limit; the rest is not worth reading
    spaced = "".join(" " if c.isspace() else c for c in text)
    visible = "".join(c for c in spaced if not unicodedata.category(c).startswith("C"))
    line = " ".join(visible.split())
    return line if len(line) <= limit else f"{line[:limit]}…"


def error_message(reply: RawReply, read: Callable[[Any], str | None] | None = None) -> str:
    """The message of a model's server about what went wrong, as `error_in` (or `read`) finds it in its JSON.

    Other words are not shown, because they may be those of another service: only what kind of answer it was.

    >>> error_message(RawReply(404, {}, b'{"error": {"message": "no such model"}}'))
    'no such model'
    >>> error_message(RawReply(500, {"content-type": "text/plain"}, b"root:x:0")), error_message(RawReply(500, {}, b""))
    ('8 bytes of text/plain', 'nothing')
    """
    try:
        said = (read or error_in)(json.loads(reply.body))
    except (ValueError, RecursionError):
        said = None
    return said or _kind(reply)


def _kind(reply: RawReply) -> str:
    kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    known = kind if MEDIA_TYPE.fullmatch(kind) else "an unnamed type"
    return f"{len(reply.body):,} bytes of {known}" if reply.body.strip() else "nothing"


def _origin(location: str) -> str:
    """Where a redirect leads, without the rest, which may hold secrets of who sent it."""
    try:
        parts = urlsplit(location)
        is_elsewhere = parts.scheme in ("http", "https") and parts.hostname
    except ValueError:
        is_elsewhere = None
    host = clean(parts.netloc.rpartition("@")[2], 100) if is_elsewhere else ""
    return f"{parts.scheme}://{host}" if host else "another path"


def is_too_long(message: str) -> bool:
    """True if a server refuses a text for its length, which each says in words of its own.

    >>> is_too_long("This model's maximum context length is 512 tokens"), is_too_long("no such model")
    (True, False)
    """
    return bool(TOO_LONG.search(message))


def is_moderated(refusal: RefusedError) -> bool:
    """True if a server refuses a text for what it says, which each tells in a code or in words of its own.

    >>> is_moderated(RefusedError(403, "Your input was flagged", "")), is_moderated(RefusedError(403, "Your account was flagged"))
    (True, False)
    """
    told = f"{refusal.code} {refusal.words}"
    return refusal.status in MODERATING and MODERATED.search(told) is not None


def error_in(answer: Any) -> str | None:
    """The sentence of a JSON answer that reports an error in the form of a model's server, cleaned; None in any other form.

    OpenAI, llama.cpp, Ollama and newer vLLM: `error.message`. SGLang and older vLLM: `message` beside `object: error`. Text
    Generation Inference: `error` beside `error_type`.

    >>> error_in({"object": "error", "message": "no such model"}), error_in({"error": "Overloaded", "error_type": "overloaded"})
    ('no such model', 'Overloaded')
    >>> error_in({"message": "user alice is unknown"}), error_in({"detail": "no row 7"}), error_in({"error": "denied"})
    (None, None, None)
    """
    if not isinstance(answer, dict):
        return None
    error, has_type = answer.get("error"), isinstance(answer.get("error_type"), str)
    found = error.get("message") if isinstance(error, dict) else error if has_type else None
    if answer.get("object") == "error":
        found = found or answer.get("message")
    return clean(found) if isinstance(found, str) and found.strip() else None


def words_in(answer: Any) -> str | None:
    """As `error_in`, and where any service could have said it: FastAPI's `detail`, a `message` or an `error` alone."""
    if not isinstance(answer, dict):
        return None
    for found in (answer.get("error"), answer.get("message"), answer.get("detail")):
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, str) and found.strip():
            return clean(found)
    return None


def asked_pause_s(headers: Mapping[str, str]) -> float | None:
    """Seconds of `retry-after-ms`, or else of `Retry-After`; None where a server asks for no pause.

    >>> asked_pause_s({"retry-after-ms": "1500", "retry-after": "2"}), asked_pause_s({})
    (1.5, None)
    """
    exact = headers.get("retry-after-ms", "").strip()
    if SECONDS.fullmatch(exact):
        return float(exact) / 1000
    return retry_after_s(headers.get("retry-after", ""), headers.get("date", ""))


def retry_after_s(value: str, date: str = "") -> float | None:
    """Seconds of a Retry-After header: a number, or the time until a moment; None where it is neither.

    Args:
        date: when the answer was sent, by the server's own clock, which the moment is by as well; else ours counts.

    >>> retry_after_s("7"), retry_after_s("soon"), retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None, 0.0)
    >>> retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:27:30 GMT")
    30.0
    """
    value = value.strip()
    if SECONDS.fullmatch(value):
        return float(value[:9])
    when = _moment(value)
    if when is None:
        return None
    return max(0.0, (when - (_moment(date) or datetime.now(UTC))).total_seconds())


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


# A random half to whole of 0.5, 1, 2 ... up to 30 seconds
BACKOFF = wait_exponential(multiplier=0.25, max=15) + wait_random_exponential(0.25, max=15)


def pause_s(state: RetryCallState) -> float:
    """Growing and random, but at least what the server asks for."""
    error = state.outcome.exception() if state.outcome else None
    asked_s = error.retry_after_s if isinstance(error, RetryableError) else None
    return max(BACKOFF(state), asked_s or 0.0)
