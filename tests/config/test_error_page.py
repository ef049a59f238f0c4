"""The page that says what went wrong can always be made."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import path

from experiment.participant import problems


def fail(request: object) -> None:
    raise ValueError("ours")


urlpatterns = [path("fails/", fail)]
handler404, handler500 = problems.not_found, problems.server_error


@pytest.fixture
def client(settings: Any) -> Client:
    settings.ROOT_URLCONF = __name__
    return Client(raise_request_exception=False)


@pytest.fixture
def _without_manifest(settings: Any, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path
    hashed = {"BACKEND": "config.storage.HashedStaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": hashed}


@pytest.mark.usefixtures("_without_manifest")
@pytest.mark.parametrize("address", ["/fails/", "/nowhere/"])
def test_without_collected_static_files_the_page_is_still_a_page(
    client: Client, address: str
) -> None:
    answer = client.get(address)
    assert answer.status_code == 500
    assert answer["Content-Type"].startswith("text/html")
    assert answer["Content-Security-Policy"]
    assert "<h1>" in answer.content.decode()
    assert answer["X-Request-ID"] in answer.content.decode()
