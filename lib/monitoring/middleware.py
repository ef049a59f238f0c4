"""Names each request, and notes how long it took; the outermost middleware, within the participant's every request."""

import logging
from collections.abc import Callable
from time import perf_counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from lib.monitoring import lines
from lib.monitoring.lines import STARTED

COUNT = "lib.monitoring.metrics.count"  # loaded where it is wanted
logger = logging.getLogger(__name__)


class Observe:
    """Middleware: the response says the request's name; a slow one is a line in the log."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.count = import_string(COUNT) if settings.METRICS_TOKEN else None
        self.slow_s = settings.SLOW_REQUEST_SECONDS or float("inf")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        meta, started = request.META, perf_counter()
        name = lines.take_or_make(meta.get("HTTP_X_REQUEST_ID", ""))
        meta[lines.KEY], meta[STARTED] = name, started
        before = lines.current.set(name)
        try:
            response = self.get_response(request)
        finally:
            lines.current.reset(before)
        response[lines.HEADER] = name
        duration_s = perf_counter() - started
        if self.count is not None:
            self.count(request, response.status_code, duration_s)
        if duration_s > self.slow_s:
            about = {"request": request, "status_code": response.status_code}
            logger.warning("A slow request: %.1f s", duration_s, extra=about)
        return response
