"""The base of the API's views: strict about parameters, never cached, limited by the minute, and described by its own code."""

import hashlib
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from rest_framework import exceptions, serializers
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from lib.api import files, pages, parameters
from lib.api.parameters import Strict
from lib.locks import snapshot


class TokenThrottle(SimpleRateThrottle):
    def get_rate(self) -> str:
        return f"{settings.API_REQUESTS_PER_MINUTE}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        return None if request.auth is None else f"api-token-{request.auth.pk}"


class AnonymousThrottle(SimpleRateThrottle):
    """By address, of which a hash is kept in memory: it slows down who guesses tokens."""

    def get_rate(self) -> str:
        return f"{settings.API_ANONYMOUS_PER_MINUTE}/minute"

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        if request.auth is not None:
            return None
        address = hashlib.sha256(self.get_ident(request).encode()).hexdigest()
        return f"api-anonymous-{address}"


OF_FORM = ("format", "limit", "cursor")
BLOCK = 2000  # rows of a file that are in memory at once


class OneRenderer(BaseContentNegotiation):
    """Only the parameter `format` chooses the format: clients send `Accept` unasked."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type

    def select_parser(self, request: Any, parsers: Any) -> Any:
        return next((p for p in parsers if p.media_type == request.content_type), None)


class ApiView(APIView):
    """`query_class` and `body_class` say all that may be asked; `result_class` what is answered, with `status`."""

    query_class: ClassVar[type[Strict]] = Strict
    body_class: ClassVar[type[Strict] | None] = None
    result_class: ClassVar[type[serializers.BaseSerializer[Any]] | None] = None
    status: ClassVar[int] = 200
    more_results: ClassVar[Mapping[int, type[serializers.BaseSerializer[Any]]]] = {}  # by status
    problems: ClassVar[tuple[int, ...]] = ()  # that it has beyond the usual ones
    access: ClassVar[str]

    permission_classes = ()  # `find` decides
    renderer_classes = (JSONRenderer,)  # and no page to browse
    parser_classes = (parameters.Json,)
    content_negotiation_class = OneRenderer
    throttle_classes = (TokenThrottle, AnonymousThrottle)
    metadata_class = None
    http_method_names = ["get", "post", "head"]

    @classmethod
    def as_view(cls, **options: Any) -> Any:
        view = super().as_view(**options)
        view.access = cls.access  # type: ignore[attr-defined]
        return view

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if not hasattr(self, str(request.method).lower()):
            self.http_method_not_allowed(request)
        if request.method == "POST" and self.body_class is not None:
            if request._request.content_type != parameters.Json.media_type:
                raise exceptions.UnsupportedMediaType(str(request._request.content_type))
            _ = request._request.body  # refused here where it is too large
        try:
            _ = request.user
        except exceptions.AuthenticationFailed:
            self.check_throttles(request)  # who guesses waits too
            raise
        super().initial(request, *args, **kwargs)
        self.find(**kwargs)
        _ = self.query

    def find(self, **kwargs: Any) -> None:
        """Find what the address names, and whether it may be asked for."""

    @cached_property
    def query(self) -> dict[str, Any]:
        return parameters.read(self.query_class, self.request._request.GET)

    def body(self) -> dict[str, Any]:
        """The fields that were sent."""
        assert self.body_class is not None
        sent = self.body_class(data=self.request.data)
        sent.is_valid(raise_exception=True)
        return dict(sent.validated_data)

    @property
    def default_response_headers(self) -> dict[str, str]:
        headers: dict[str, str] = super().default_response_headers
        return headers | {"Cache-Control": "no-store", "Vary": "Authorization"}


class TableQuery(Strict):
    """The parameters that all lists have; `lookups` names the columns that others are compared with."""

    lookups: ClassVar[Mapping[str, str]] = {}

    format = serializers.ChoiceField(
        choices=("json", *files.FORMATS),
        default="json",
        help_text="json is sent in pages; csv, jsonl, parquet and xlsx are one file with all rows.",
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=pages.MOST,
        help_text=f"Rows per page (usually {pages.USUAL}).",
    )
    cursor = serializers.CharField(
        required=False, help_text="Value of `next` from the previous page."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["format"] != "json" and (paged := {"limit", "cursor"} & attrs.keys()):
            raise serializers.ValidationError(
                dict.fromkeys(paged, "Only JSON has pages; a file contains every row.")
            )
        return attrs


class TableView(ApiView):
    """A list of flat rows, by pages or as a file. Its `query_class` is a TableQuery with `ordering`."""

    query_class: ClassVar[type[TableQuery]]
    result_class: ClassVar[type[serializers.Serializer[Any]]]

    def rows(self) -> pages.Rows:
        """The rows that the query selects, in any order."""
        raise NotImplementedError

    def wanted(self) -> dict[str, Any]:
        """The filters of the rows."""
        lookups = self.query_class.lookups.items()
        return {column: self.query[name] for name, column in lookups if name in self.query}

    def file_name(self) -> str:
        raise NotImplementedError

    def get(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        order, kind = self.query["ordering"], self.query["format"]
        if kind == "json":
            limit = self.query.get("limit", pages.USUAL)
            query = self.bound(self.asked())
            page = pages.page(self.rows(), order, self.query.get("cursor"), limit, query)
            return Response(
                {"results": self.serialise(page.rows), "next": self.next_page(page.next)}
            )

        def write(file: Any) -> None:
            with snapshot():
                rows = order.sort(self.rows())
                blocks = (self.serialise(block) for block in _blocks(rows))
                files.write(kind, self.result_class().fields, blocks, file)

        return files.send(kind, self.file_name(), write)

    def asked(self) -> str:
        """The request apart from its form: the same for all pages, and for no other list."""
        given = self.request._request.GET.lists()
        asked = sorted((name, values) for name, values in given if name not in OF_FORM)
        return f"{self.request.path}?{urlencode(asked, doseq=True)}"

    def bound(self, asked: str) -> str:
        """The request and the token's owner, with whom a cursor goes on: the trail says whose token began to read."""
        return f"{self.request.auth.pk} {asked}"

    def serialise(self, rows: list[Any]) -> list[dict[str, Any]]:
        return list(self.result_class(rows, many=True, context={"view": self}).data)

    def next_page(self, cursor: str | None) -> str | None:
        if cursor is None:
            return None
        query = self.request._request.GET.copy()
        query["cursor"] = cursor
        return self.request.build_absolute_uri(f"{self.request.path}?{query.urlencode()}")


def _blocks(rows: pages.Rows) -> Iterator[list[Any]]:
    stream = rows.iterator(chunk_size=BLOCK) if isinstance(rows, QuerySet) else iter(rows)
    while block := list(islice(stream, BLOCK)):
        yield block
