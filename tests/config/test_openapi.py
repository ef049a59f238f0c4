"""The description of the API is valid, names every address, and is served as the code says it."""

import re

import yaml
from django.test import Client
from drf_spectacular.validation import validate_schema

from experiment.lab.routes import routes
from lib.api.schema import description

HEAD = "api/v1/"
NOT_DESCRIBED = {"", "<path:rest>", "schema/"}  # no such address, and the description itself


def test_the_description_is_served_to_everyone(client: Client) -> None:
    response = client.get("/api/v1/schema/")
    assert (response.status_code, response.content) == (200, description())


def test_the_description_is_valid_and_has_each_address_with_its_methods() -> None:
    described = yaml.safe_load(description())
    validate_schema(described)
    found = {
        re.sub(r"{\w+}", "{}", path.removeprefix(f"/{HEAD}")): {*map(str.upper, operations)}
        for path, operations in described["paths"].items()
    }
    ours = {r.address.removeprefix(HEAD): r for r in routes() if r.address.startswith(HEAD)}
    assert found == {
        re.sub(r"<\w+:\w+>", "{}", address): set(route.methods)
        for address, route in ours.items()
        if address not in NOT_DESCRIBED
    }
