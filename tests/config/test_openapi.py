"""docs/openapi.yaml is what the code says of itself, and what the site serves."""

from pathlib import Path

from django.test import Client

from lib.api.schema import description

COMMITTED = Path(__file__).resolve().parents[2] / "docs/openapi.yaml"
ANEW = "manage.py write_docs openapi"


def test_the_committed_description_is_current() -> None:
    assert COMMITTED.read_bytes() == description(), f"write it anew: {ANEW}"


def test_the_description_is_served_to_everyone(client: Client) -> None:
    response = client.get("/api/v1/schema/")
    assert (response.status_code, response.content) == (200, description())
