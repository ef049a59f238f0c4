"""Pages for what went wrong: always a sentence, a way on, and the right status. problem_words.py has the sentences."""

import logging
import re
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.template import loader
from django.utils.translation import get_language

from experiment.models import Study
from experiment.services.consenting import was_opened
from experiment.services.flow import Refusal
from experiment.services.problem_words import KINDS, Case, worded
from experiment.services.study_language import find_study, speaking, version_of
from lib.api.problems import is_of_api
from lib.api.problems import problem as api_problem
from lib.fast.kept import fill
from lib.monitoring.lines import KEY as REQUEST_ID
from lib.passing import is_passing

logger = logging.getLogger(__name__)
# For programs, whose requests fail before or beside the API's own views
API_DETAILS = {
    400: "The request is malformed.",
    404: "This address does not exist.",
    500: "An error occurred on the site. Its log has the details.",
    503: "The database or the disk is not available at the moment. Nothing was changed.",
}
ASK_AGAIN_S = 5


class BadLinkError(BadRequest):
    """An entry link with something in it that this site cannot use; `parameter` names what should hold an id."""

    def __init__(self, parameter: str = "", max_length: int = 0) -> None:
        self.parameter, self.max_length = parameter, max_length
        super().__init__(f"parameter {parameter}" if parameter else "simulated participant")


class UnknownChannelError(Http404):
    """An entry link that names a channel which the study does not have."""


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"


def problem(
    request: HttpRequest,
    name: str,
    *,
    study: Study | None = None,
    action_url: str = "",
    action_code: str = "",
    asks_code: bool = False,
    **told: Any,
) -> HttpResponse:
    """The page, or for a script the JSON, of one of `KINDS`; told: fields of its `Case`."""
    status, case = KINDS[name].status, Case(study=study, **told)
    if is_of_api(request):
        detail = API_DETAILS.get(status, "The request failed.")
        return api_problem(status, str(name), detail)
    if wants_json(request):
        found = worded(name, case)
        return JsonResponse({"title": found.title, "message": found.message}, status=status)
    is_failure = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    if request.path_info.startswith("/lab/") and not is_failure:
        shown = {"problem": worded(name, case)}
        html: str = loader.render_to_string("lab/problem.html", shown, request)
    else:
        own = {
            "action_url": action_url,
            "action_code": action_code,
            "csrf_token": get_token(request) if asks_code else "",
            "csp_nonce": str(getattr(request, "csp_nonce", "")),
            # So that a participant can say which line of the log it was
            "reference": request.META.get(REQUEST_ID, "") if is_failure else "",
        }
        html = kept_page(name, case, {name: own[name] for name in own if own[name]})
    return HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})


def kept_page(name: str, case: Case, own: Mapping[str, str]) -> str:
    """Rendered once: whoever sends thousands of bad requests a minute takes little from those who take part."""
    study = case.study
    key = ("problem", str(name), version_of(study) if study else "", get_language(), *own)

    def render(marks: Mapping[str, str]) -> str:
        page = {
            "study": study,
            "problem": worded(name, case),
            "asks_code": "csrf_token" in marks,
            "may_continue": name == Refusal.KNOWN_ID,
            **marks,
        }
        return loader.render_to_string("participant/problem.html", page)

    return fill((*key, case.parameter, case.max_length, case.was_sent), render, own)


def problem_of_study(request: HttpRequest, name: str) -> HttpResponse:
    """A page with the study's name, contact and way back, where the address is one of a study's."""
    found = re.match(r"/s/([-\w]+)/", request.path_info)
    study = find_study(found[1]) if found else None
    if study is None or not was_opened(study):
        return problem(request, name)
    with speaking(study):
        url = study.get_absolute_url()
        return problem(request, name, study=study, action_url=url, asks_code=True)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if isinstance(exception, BadLinkError):
        return problem(
            request, "bad_link", parameter=exception.parameter, max_length=exception.max_length
        )
    return problem(request, "bad_request")


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem(request, "permission_denied")


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    is_channel = isinstance(exception, UnknownChannelError)
    return problem_of_study(request, "unknown_channel" if is_channel else "not_found")


def server_error(request: HttpRequest) -> HttpResponse:
    """The database may be what failed: this page needs none. What passes is asked for again, by the browser itself."""
    is_unavailable = is_passing(sys.exc_info()[1])
    name = "unavailable" if is_unavailable else "server_error"
    was_sent = request.method == "POST"
    try:
        response = problem(request, name, was_sent=was_sent)
    except Exception:  # for one: no styles were collected
        logger.exception(
            "The page that says what went wrong cannot be made", extra={"request": request}
        )
        response = plain_problem(request, name, was_sent=was_sent)
    if is_unavailable:
        response["Retry-After"] = str(ASK_AGAIN_S)
        if request.method == "GET" and not wants_json(request) and not is_of_api(request):
            response["Refresh"] = str(ASK_AGAIN_S)
    return response


def plain_problem(request: HttpRequest, name: str, **told: Any) -> HttpResponse:
    """The same sentences on a page that needs nothing else."""
    page = {"problem": worded(name, Case(**told)), "reference": request.META.get(REQUEST_ID, "")}
    html = loader.render_to_string("participant/problem_plain.html", page)
    return HttpResponse(html, status=KINDS[name].status, headers={"Cache-Control": "no-store"})


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return problem_of_study(request, "csrf_failure")
