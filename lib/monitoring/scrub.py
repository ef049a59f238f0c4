"""What must never reach a log: participants' ids and addresses, links that are secret, and lines that others wrote."""

import re
from typing import Any

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
