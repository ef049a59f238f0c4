"""Requests that no browser sends are refused before anything reads them: the site's pages then meet none."""

import codecs
from collections.abc import Callable, Iterator

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.http import HttpRequest, HttpResponse

FORM = "application/x-www-form-urlencoded"


class RejectMalformedRequests:
    """Middleware: 400 for a foreign charset, a form that was cut off on its way, a body that is too large, and NUL characters."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_utf8(request):
            request.encoding = "utf-8"  # the page that says so reads the request too
            raise BadRequest("the charset is not UTF-8")
        if is_too_large(request):
            raise RequestDataTooBig("more than any page takes")
        if is_cut_off(request):
            raise BadRequest("the form is shorter than announced")
        # PostgreSQL's texts hold no NUL, whatever column they are compared with
        if any("\x00" in text for text in sent_texts(request)):
            raise BadRequest("a NUL character")
        return self.get_response(request)


def is_utf8(request: HttpRequest) -> bool:
    """Whether the body's charset is UTF-8 or unsaid; some of Python's other codecs yield no text at all."""
    try:
        charset = (request.content_params or {}).get("charset", "utf-8")
        return codecs.lookup(charset).name == "utf-8"
    except (LookupError, ValueError):
        return False


def is_too_large(request: HttpRequest) -> bool:
    """Whether more is announced than the largest file of any form; before the first byte of it is kept."""
    announced = request.META.get("CONTENT_LENGTH", "")
    return announced.isdecimal() and int(announced) > settings.UPLOAD_MAX_SIZE


def is_cut_off(request: HttpRequest) -> bool:
    """Whether the connection broke within a form: its last value may be half of what was typed."""
    if request.method != "POST" or request.content_type != FORM:
        return False
    announced = request.META.get("CONTENT_LENGTH", "")
    return announced.isdecimal() and len(request.body) < int(announced)


def sent_texts(request: HttpRequest) -> Iterator[str]:
    """Every name and value of the address, the form and the cookies."""
    for form in (request.GET, request.POST):
        for name, values in form.lists():
            yield name
            yield from values
    for name, value in request.COOKIES.items():
        yield name
        yield value
