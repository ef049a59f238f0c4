"""Errors as problem details (RFC 9457), whatever goes wrong: `errors` names each parameter or field that is wrong."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, JsonResponse
from rest_framework import exceptions, serializers

ROOT = "/api/"
MEDIA_TYPE = "application/problem+json"
MOST_NAMED = 20  # of what is wrong, so that no small request has a large answer
LONGEST_NAME, LONGEST_REASON = 200, 2000
WHOLE = "non_field_errors"  # rest_framework's name for what is wrong with no field in particular


class Problem(exceptions.APIException):
    """A refusal with a code that programs can tell apart, and members of its own."""

    def __init__(
        self, status: int, code: str, detail: str, *, wait: int | None = None, **members: Any
    ) -> None:
        """`wait`: seconds after which to ask again."""
        super().__init__(detail, code)
        self.status_code = status
        self.wait = wait
        self.members = members


class FaultSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The parameter or field; if empty, the whole request.")
    reason = serializers.CharField()


class ProblemSerializer(serializers.Serializer[Any]):
    type = serializers.CharField(help_text="Always about:blank; `code` distinguishes problems.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField()
    detail = serializers.CharField()
    errors = FaultSerializer(many=True, required=False)  # type: ignore[assignment]


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **members: Any
) -> JsonResponse:
    title = HTTPStatus(status).phrase
    about = {"type": "about:blank", "title": title, "status": status, "code": code}
    content = about | {"detail": detail} | members
    return JsonResponse(content, status=status, content_type=MEDIA_TYPE, headers=headers)


def handle(error: Exception, context: Mapping[str, Any]) -> JsonResponse | None:
    """rest_framework's EXCEPTION_HANDLER; None for what nobody expected, which the site logs."""
    match error:
        case Http404():
            return problem(404, "not_found", "This address does not exist.")
        case PermissionDenied():
            return problem(403, "permission_denied", "This is not allowed.")
        case RequestDataTooBig():
            return problem(413, "too_large", "The request's body is too large.")
        case serializers.ValidationError():
            found = _faults(error.detail)
            faults = list(islice(found, MOST_NAMED))
            if more := sum(1 for _ in found):
                faults.append({"name": "", "reason": f"{more} more errors are not listed."})
            sentences = (
                f"{f['name']}: {f['reason']}" if f["name"] else f["reason"] for f in faults
            )
            return problem(400, "invalid", " ".join(sentences), errors=faults)
        case exceptions.APIException():
            members = error.members if isinstance(error, Problem) else {}
            code = str(error.get_codes())
            headers = _headers(error)
            return problem(error.status_code, code, str(error.detail), headers, **members)
    return None


def is_of_api(request: HttpRequest) -> bool:
    """True if a program asked, which a page would not help."""
    return request.path_info.startswith(ROOT)


def _headers(error: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if challenge := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = challenge
    if (wait := getattr(error, "wait", None)) is not None:
        headers["Retry-After"] = str(int(wait) + 1)
    return headers


def _faults(detail: Any, name: str = "") -> Iterator[dict[str, str]]:
    """Every sentence of a validation's tree of them, with the place that it is about."""
    if isinstance(detail, Mapping):
        for key, inner in detail.items():
            yield from _faults(inner, name if key == WHOLE else f"{name}.{key}".lstrip("."))
    elif isinstance(detail, Sequence) and not isinstance(detail, str):
        for inner in detail:
            yield from _faults(inner, name)
    else:
        yield {"name": name[:LONGEST_NAME], "reason": str(detail)[:LONGEST_REASON]}
