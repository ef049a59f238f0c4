"""What the tests of the models' side share: token-level records go to a folder of the test's own."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from experiment.models import Study
from tests.factories import make_study, make_user
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
