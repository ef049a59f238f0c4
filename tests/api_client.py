"""A program that asks the API with a token."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client

from experiment.domain.roles import Scope
from experiment.models import Study
from experiment.services.rights import create_token


class Program:
    """Asks in the name of a user; without one, without a token."""

    def __init__(
        self, user: Any = None, scopes: Sequence[Scope] = tuple(Scope), study: Study | None = None
    ) -> None:
        self.client = Client(raise_request_exception=False)
        self.headers = {}
        if user is not None:
            self.secret = create_token(user, "test", scopes, study=study).secret
            self.headers["Authorization"] = f"Bearer {self.secret}"

    def get(self, path: str, **query: Any) -> HttpResponse:
        address = f"/api/v1/{path}?{urlencode(query, doseq=True)}".rstrip("?")
        return self.client.get(address, headers=self.headers)

    def post(self, path: str, body: Any = None) -> HttpResponse:
        address = f"/api/v1/{path}"
        return self.client.post(address, body, "application/json", headers=self.headers)

    def all_pages(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """The rows of every page, by the links between them."""
        rows: list[dict[str, Any]] = []
        response = self.get(path, **query)
        while True:
            page = response.json()
            rows += page["results"]
            if page["next"] is None:
                return rows
            response = self.client.get(page["next"], headers=self.headers)


def problem(response: HttpResponse) -> tuple[int, str]:
    """Status and code of a refusal, which must be a problem in whole."""
    assert response["Content-Type"] == "application/problem+json", response.content
    told = response.json()
    assert told["status"] == response.status_code
    assert {"type", "title", "detail"} <= set(told)
    return response.status_code, told["code"]


def named(response: HttpResponse) -> list[str]:
    """The parameters that a refusal names."""
    assert problem(response) == (400, "invalid")
    return [fault["name"] for fault in response.json()["errors"]]
