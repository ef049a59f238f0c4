"""Functions that pages with a form share."""

from http import HTTPStatus

from django.http import HttpRequest
from django.views.decorators.http import require_http_methods
from rest_framework.throttling import BaseThrottle

# A form was understood, but something in it is missing or wrong: its page is shown again
UNPROCESSABLE = HTTPStatus.UNPROCESSABLE_ENTITY
# A page that is read, and takes its own form
either = require_http_methods(["GET", "HEAD", "POST"])


def row_number(text: str) -> int:
    """The number of a row that somebody sent; 0, which no row has, where it is none that a database holds.

    >>> row_number("12"), row_number("x"), row_number("9" * 5_000)
    (12, 0, 0)
    """
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def address_of(request: HttpRequest) -> str:
    """The address of the client; behind as many proxies as NUM_PROXIES says, what the outermost of them said."""
    return str(BaseThrottle().get_ident(request))  # type: ignore[arg-type]
