"""The description of the whole API, and the answer to what it does not have."""

from functools import cache
from typing import Any, ClassVar

from django.http import Http404, HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from rest_framework.request import Request

from lib.api.views import ApiView

MEDIA_TYPE = "application/vnd.oai.openapi"


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
        return HttpResponse(description(), content_type=MEDIA_TYPE)


class Nothing(ApiView):
    """Whatever has no address: a problem and no page."""

    access: ClassVar[str] = "public"
    schema = None

    def find(self, **kwargs: Any) -> None:
        raise Http404

    def get(self, request: Request, **kwargs: Any) -> HttpResponse:
        raise Http404

    post = put = patch = delete = get
    http_method_names = ["get", "post", "put", "patch", "delete", "head", "options"]
    options = get  # type: ignore[assignment]
