"""Pages for what went wrong: always a sentence, a way on, and the right status."""

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader

from experiment.models import Study


def wants_json(request: HttpRequest) -> bool:
    return request.headers.get("Accept", "") == "application/json"


def problem(
    request: HttpRequest,
    status: int,
    title: str,
    message: str,
    *,
    study: Study | None = None,
    action_url: str = "",
    action_label: str = "",
    template: str = "participant/problem.html",
) -> HttpResponse:
    if wants_json(request):
        return JsonResponse({"title": title, "message": message}, status=status)
    context = {
        "study": study,
        "title": title,
        "message": message,
        "action_url": action_url,
        "action_label": action_label,
    }
    response = HttpResponse(loader.render_to_string(template, context, request), status=status)
    response["Cache-Control"] = "no-store"
    return response


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    said = str(exception) if exception is not None and str(exception).startswith("The link") else ""
    message = (
        said or "The address or the form is not one that this site can read. Nothing was changed."
    )
    return problem(request, 400, "This request cannot be read", message)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem(
        request,
        403,
        "This page is not yours to see",
        "You may need to sign in with another account.",
    )


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return problem(
        request,
        404,
        "There is no such page",
        "Please check the address, or use the link you were given.",
    )


def server_error(request: HttpRequest) -> HttpResponse:
    # The database may be what failed: this page needs none.
    message = "The mistake is ours. Answers that you have already sent are kept; please try again in a minute."
    return problem(request, 500, "Something went wrong", message)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    message = (
        "Your browser did not send back the cookie that protects this form. Please allow cookies for this site, "
        "reload the page and try again. Answers that you have already given are kept."
    )
    return problem(request, 403, "The form could not be checked", message)
