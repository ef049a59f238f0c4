"""A request as it came over the wire: its body is read whole or not at all, its charset and its cookies' names may be anything."""

from typing import Any

from django.core.exceptions import BadRequest
from django.core.handlers.wsgi import LimitedStream, WSGIHandler, WSGIRequest, get_str_from_wsgi
from django.http import parse_cookie
from django.utils.functional import cached_property

UNREADABLE = "unreadable"  # no charset's name


class WholeBody(LimitedStream):
    """Refuses a body that ends before the length it announced: its last value may be half of what was sent."""

    _pos: int
    limit: int

    def read(self, size: int | None = -1, /) -> bytes:
        missing = self.limit - self._pos
        wanted = missing if size is None or size < 0 else min(size, missing)
        try:
            data = super().read(size)
        except OSError:
            data = b""  # the connection broke instead of ending
        # Servers give less than was asked for only at the connection's end
        if len(data) < wanted:
            raise BadRequest("the connection ended before the whole body arrived")
        return data


class Request(WSGIRequest):
    def __init__(self, environ: dict[str, Any]) -> None:
        super().__init__(environ)
        announced: Any = self._stream
        whole: Any = WholeBody(environ["wsgi.input"], announced.limit)
        self._stream = whole

    @cached_property
    def COOKIES(self) -> dict[str, str]:  # type: ignore[override]
        """Without those whose name only looks like one of ours.

        Browsers guard names that begin with `__Host-`. Any host beside this one may set `\u2003__Host-...`, and Django takes all
        of Unicode's spaces away before it compares.
        """
        sent = get_str_from_wsgi(self.environ, "HTTP_COOKIE", "")
        return parse_cookie(";".join(filter(_has_plain_name, sent.split(";"))))

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        try:
            super()._set_content_type_params(meta)  # type: ignore[misc]
        except (ValueError, LookupError):
            # A NUL within the charset's name, or a codec of no text: config/middleware.py refuses it, with a page
            self._encoding = None
            self.content_type, self.content_params = "", {"charset": UNREADABLE}


def _has_plain_name(cookie: str) -> bool:
    """
    >>> [_has_plain_name(text) for text in (" __Host-a=1", "a=\u2003", "\u2003__Host-a=1", "__Host-a\x1f=1")]
    [True, True, False, False]
    """
    name = cookie.partition("=")[0]
    return name.isascii() and name.isprintable()


class Handler(WSGIHandler):
    request_class = Request
