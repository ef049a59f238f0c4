"""A name for each request, by which its lines in the log are found: a participant can quote it, and it tells nothing of them."""

import re
import secrets
from contextvars import ContextVar

HEADER = "X-Request-ID"
KEY = "REQUEST_ID"  # in request.META
# As proxies make them, 32 hexadecimal digits or a UUID; recruitment sites' ids are shorter and never taken for one
_MADE = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

current: ContextVar[str] = ContextVar("request_id", default="")


def take_or_make(sent: str) -> str:
    """What the proxy sent, if it can be nothing else than such a name, else a new one.

    >>> take_or_make("0123456789abcdef0123456789abcdef")
    '0123456789abcdef0123456789abcdef'
    >>> len(take_or_make("5f1d3a9b8c7e6d5a4b3c2d1e"))
    32
    """
    return sent if _MADE.fullmatch(sent) else secrets.token_hex(16)
