"""The description of the API is served as the code says it."""

from django.test import Client

from lib.api.schema import description


def test_the_description_is_served_to_everyone(client: Client) -> None:
    response = client.get("/api/v1/schema/")
    assert (response.status_code, response.content) == (200, description())
