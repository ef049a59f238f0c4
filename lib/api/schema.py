"""The OpenAPI description, from what views say of themselves; and the answer to what the API does not have."""

from functools import cache
from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.renderers import OpenApiYamlRenderer
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request

from lib.api.problems import MEDIA_TYPE, ProblemSerializer
from lib.api.views import ApiView, TableView
from lib.code import release
from lib.table_files import CONTENT_TYPES

WORDS = {
    400: "A parameter or field is unknown or has an invalid value; `errors` names it.",
    401: "The token is missing or not valid.",
    403: "The token's scopes or its owner's role do not allow it.",
    404: "It does not exist, or the token does not give access to it.",
    409: "The action is not possible in the current state; `code` gives the reason.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    503: "A worker is to write the file. Ask again after `Retry-After` seconds; `code` says if no worker is running.",
    429: "Too many requests. Wait for `Retry-After` seconds.",
}


class Schema(AutoSchema):
    view: Any

    def get_operation_id(self) -> str:
        words = "".join(f"_{c.lower()}" if c.isupper() else c for c in type(self.view).__name__)
        return words.lstrip("_")

    def get_tags(self) -> list[str]:
        return [type(self.view).__module__.split(".")[-1].replace("_", " ")]

    def get_override_parameters(self) -> list[Any]:
        return [self.view.query_class] if self.view.query_class().fields else []

    def get_request_serializer(self) -> Any:
        return self.view.body_class

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # pages have an object around them

    def get_response_serializers(self) -> Any:
        view, status = self.view, str(self.view.status)
        found: dict[Any, Any] = {}
        if isinstance(view, TableView):
            row = view.result_class
            name = row.__name__.removesuffix("Serializer")
            next_page = serializers.URLField(
                allow_null=True, help_text="The next page; null on the last one."
            )
            fields = {"results": row(many=True), "next": next_page}
            found[200, "application/json"] = inline_serializer(f"{name}Page", fields)
            for kind, content_type in CONTENT_TYPES.items():
                binary, media_type = kind in ("parquet", "xlsx"), content_type.partition(";")[0]
                found[200, media_type] = OpenApiTypes.BINARY if binary else OpenApiTypes.STR
        else:
            found[status, "application/json"] = view.result_class or OpenApiTypes.OBJECT
        found |= {(code, "application/json"): result for code, result in view.more_results.items()}
        with_body = (413, 415) if view.body_class else ()
        for code in sorted({400, 401, 403, 404, 429, *with_body, *view.problems}):
            found[code, MEDIA_TYPE] = OpenApiResponse(ProblemSerializer, WORDS[code])
        return found


def add_version(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """The description with the version of this project; addresses begin with their own, /api/v1/."""
    result["info"]["version"] = release()
    return result


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "experiment.api.access.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


OPENAPI = "application/vnd.oai.openapi"


@cache
def description() -> bytes:
    """As YAML; the same as long as the code is."""
    schema = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    renderer = OpenApiYamlRenderer()
    text: bytes = renderer.render(schema, renderer_context={})  # type: ignore[no-untyped-call]
    return text


class Description(ApiView):
    """The OpenAPI description of these addresses."""

    access: ClassVar[str] = "public"
    schema = None  # it does not describe itself

    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(description(), content_type=OPENAPI)


class Nothing(ApiView):
    """The answer where there is no such address: a problem and no page."""

    access: ClassVar[str] = "public"
    schema = None

    def find(self, **kwargs: Any) -> None:
        raise Http404

    def get(self, request: Request, **kwargs: Any) -> HttpResponse:
        raise Http404

    post = put = patch = delete = get
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]
    options = get  # type: ignore[assignment]
