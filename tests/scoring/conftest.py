"""Fixtures that the tests of the models' side share: token-level records go to a folder of the test's own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from experiment.models import Study
from tests.factories import make_study, make_user
from tests.scoring.backends.chat.stub import ChatStub
from tests.storages import store_files_in


@pytest.fixture(autouse=True)
def own_storages(settings: Any, tmp_path: Path) -> None:
    store_files_in(settings, tmp_path)


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def ruth(client: Client, study: Study) -> Client:
    client.force_login(make_user("ruth", study))
    return client


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small GPT-2 with random weights, to be read."""
    from tests.scoring.tiny_models import save_gpt2  # loads torch

    return save_gpt2(tmp_path_factory.mktemp("models") / "tiny-gpt2")


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    """A chat server that says yes."""
    with ChatStub() as stub:
        yield stub
