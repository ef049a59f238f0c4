"""How a request that the site does not take is sent, and what its refusal has to look like."""

import re

from django.http import HttpResponse

FORM = "application/x-www-form-urlencoded"
LONG = "x" * 65_536
HUGE = "9" * 5_000


def assert_refused(response: HttpResponse, *statuses: int) -> None:
    """A refusal that a person can read."""
    assert response.status_code in (statuses or range(400, 500)), response.status_code
    text = response.text
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response["Cache-Control"].find("no-store") >= 0
    assert re.search(r"<title>[^<]*\w[^<]*</title>", text)
    assert "<h1" in text
    assert re.search(r"<p[ >]", text)


def assert_page(response: HttpResponse, status: int, *sentences: str) -> None:
    """A page of this status that says these sentences."""
    text = response.text
    assert response.status_code == status, text
    assert "<h1" in text
    for sentence in sentences:
        assert sentence in text
