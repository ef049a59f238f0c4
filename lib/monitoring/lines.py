"""Lines of the log, as JSON or as text: UTC, one record a line, and nothing in them that identifies a participant."""

import json
import logging
import re
import secrets
from contextvars import ContextVar
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from lib.names import printed

STARTED = "REQUEST_STARTED"  # in request.META: when it came, of `perf_counter`


class ShortenRefusals(logging.Filter):
    """Drops the traceback of a refused request, whose sentence says what was wrong, and forgotten fields altogether."""

    def filter(self, record: logging.LogRecord) -> bool:
        status = getattr(record, "status_code", 0)
        if 400 <= status < 500:
            record.exc_info = None
        # 422: a participant left a field empty, which no operator needs to know
        return status != 422


class JsonLine(logging.Formatter):
    """An object a line: time, level, logger, message, and what is known of the request."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(_fields(record) | _traceback(record))


class TextLine(logging.Formatter):
    """For people: the request's name in brackets, a traceback on indented lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        name = f" [{fields['request_id']}]" if "request_id" in fields else ""
        first = f"{fields['time']} {record.levelname} {one_line(record.name)}{name}: {fields['message']}"
        # A line that somebody put into an error's text does not begin as a record does
        lines = _traceback(record).get("exception", "").splitlines()
        return "\n".join([first, *(f"    {one_line(line)}" for line in lines)])


def one_line(text: str) -> str:
    return printed(text, keep="")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    request = getattr(record, "request", None)
    meta: dict[str, Any] = getattr(request, "META", {})  # gunicorn's and runserver's are others
    fields: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname,
        "logger": record.name,
        "message": one_line(scrub(_message(record, request if meta else None))),
    }
    if name := meta.get(KEY) or current.get():
        fields["request_id"] = name
    if meta:
        fields |= {"method": one_line(str(request.method)[:20]), "route": route_of(request)}  # type: ignore[union-attr]
    if STARTED in meta:
        fields["duration_ms"] = round(1000 * (perf_counter() - meta[STARTED]))
    if isinstance(status := getattr(record, "status_code", None), int):
        fields["status"] = status
    return fields


def _message(record: logging.LogRecord, request: Any) -> str:
    """The line's message, with the request's path as `shown_path` has it."""
    if request is not None and isinstance(record.args, tuple):
        paths = [request.path, request.path_info, request.get_full_path()]
        paths += [path.encode("unicode_escape").decode() for path in paths]  # as Django writes them
        args = tuple(shown_path(request) if arg in paths else arg for arg in record.args)
        return str(record.msg) % args if args else str(record.msg)
    return record.getMessage()


def _traceback(record: logging.LogRecord) -> dict[str, str]:
    if not record.exc_info or record.exc_info[0] is None:
        return {}
    return {"exception": scrub(logging.Formatter().formatException(record.exc_info))}


HEADER = "X-Request-ID"
KEY = "REQUEST_ID"  # in request.META
# As proxies make them, 32 hexadecimal digits or a UUID; recruitment sites' ids are shorter and never taken for one
_MADE = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

current: ContextVar[str] = ContextVar("request_id", default="")


def take_or_make(sent: str) -> str:
    """The name that the proxy sent, if it can be nothing else than such a name, else a new one.

    >>> take_or_make("0123456789abcdef0123456789abcdef")
    '0123456789abcdef0123456789abcdef'
    >>> len(take_or_make("5f1d3a9b8c7e6d5a4b3c2d1e"))
    32
    """
    return sent if _MADE.fullmatch(sent) else secrets.token_hex(16)


_QUERY = re.compile(r"\?[^\s\"']+")
# PostgreSQL shows the rows that it refuses
_ROW = re.compile(r"(DETAIL|CONTEXT):[^\n]*")
_ADDRESS = re.compile(r"\bip=\S+")
LONGEST = 8_000  # characters of a message or a traceback


def scrub(text: str) -> str:
    """Return `text` without query strings, rows of the database and network addresses.

    >>> scrub("GET /s/x/?PROLIFIC_PID=5a from ip=10.0.0.7")
    'GET /s/x/?... from ip=...'
    """
    text = _QUERY.sub("?...", text)
    text = _ROW.sub(r"\1: ...", text)
    text = _ADDRESS.sub("ip=...", text)
    if len(text) <= LONGEST:
        return text
    # The end of a traceback says what it was
    return f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def route_of(request: Any) -> str:
    """The name of the view; never the path, which holds links that are secret."""
    match = request.resolver_match
    return match.view_name if match else "unresolved"


def shown_path(request: Any) -> str:
    """The path, with names where it has values; of one that leads nowhere, the beginning."""
    match = request.resolver_match
    if match:
        return f"/{match.route}"
    parts = request.path.split("/")
    return "/".join(parts[:2]) + ("/..." if len(parts) > 2 else "")
