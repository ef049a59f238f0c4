"""Ends sign-ins that are too old (experiment/services/people/sessions.py), before anybody asks whose they are."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from experiment.services.people.sessions import keep_or_end


class EndOldSessions:
    """Middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Participants' pages look at no session, unless they ask whether a member looks
        is_lab = not request.path_info.startswith("/s/")
        if is_lab and settings.SESSION_COOKIE_NAME in request.COOKIES:
            keep_or_end(request.session, is_asked=not request.path_info.endswith("/live/"))
        return self.get_response(request)
