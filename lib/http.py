"""What pages with a form share."""

from http import HTTPStatus

from django.http import HttpRequest
from django.views.decorators.http import require_http_methods
from rest_framework.throttling import BaseThrottle

# A form was understood, but something in it is missing or wrong: its page is shown again
UNPROCESSABLE = HTTPStatus.UNPROCESSABLE_ENTITY
# A page that is read, and takes its own form
either = require_http_methods(["GET", "HEAD", "POST"])


def address_of(request: HttpRequest) -> str:
    """Of who asks; behind as many proxies as NUM_PROXIES says, what the outermost of them said."""
    return str(BaseThrottle().get_ident(request))  # type: ignore[arg-type]
