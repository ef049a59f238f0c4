"""Requests that no browser sends are refused before anything reads them: the site's pages then meet none."""

import codecs
from collections.abc import Callable, Iterator

from django.conf import settings
from django.core.exceptions import BadRequest, RequestDataTooBig
from django.http import HttpRequest, HttpResponse


class RejectMalformedRequests:
    """Middleware: 400 for a foreign charset, a body that is cut off, of unsaid length or too large, and NUL characters."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_utf8(request):
            request.encoding = "utf-8"  # the page that says so reads the request too
            raise BadRequest("the charset is not UTF-8")
        if is_too_large(request):
            raise RequestDataTooBig("more than any page takes")
        if "HTTP_TRANSFER_ENCODING" in request.META:
            raise BadRequest("the request does not state the length of its body")
        if is_small(request):
            _ = (
                request.body
            )  # refused here where it was cut off, also by pages that would not look at it
        # PostgreSQL's texts hold no NUL, whatever column they are compared with
        if any("\x00" in text for text in sent_texts(request)):
            raise BadRequest("a NUL character")
        return self.get_response(request)


def is_utf8(request: HttpRequest) -> bool:
    """True if the body's charset is UTF-8 or unsaid; some of Python's other codecs yield no text at all."""
    try:
        charset = (request.content_params or {}).get("charset", "utf-8")
        return codecs.lookup(charset).name == "utf-8"
    except (LookupError, ValueError):
        return False


def is_too_large(request: HttpRequest) -> bool:
    """True if more is announced than the largest file of any form; asked before the first byte of it is kept."""
    announced = request.META.get("CONTENT_LENGTH", "")
    return announced.isdecimal() and int(announced) > settings.UPLOAD_MAX_SIZE


def is_small(request: HttpRequest) -> bool:
    """True if a page would read it into memory; files are read as they come."""
    announced = request.META.get("CONTENT_LENGTH", "")
    is_file = request.content_type == "multipart/form-data"
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    return not is_file and announced.isdecimal() and 0 < int(announced) <= limit


def sent_texts(request: HttpRequest) -> Iterator[str]:
    """Every name and value of the address, the form and the cookies."""
    for form in (request.GET, request.POST):
        for name, values in form.lists():
            yield name
            yield from values
    for name, value in request.COOKIES.items():
        yield name
        yield value
