"""The walked study is made once for a module, and rolled back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.db import transaction
from django.test import Client

from analysis.report.services.make import make_report
from tests.analysis.report.one_accuracy.walked import DEFAULT, EVERY, Site, fill, points_of
from tests.factories import make_user
from tests.storages import store_files_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("walk")


@pytest.fixture(scope="module")
def site(folder: Path, django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with django_db_blocker.unblock(), transaction.atomic():
        study = fill()
        points = points_of()
        accuracies = {
            name: np.mean([p for key, p in own.items() if "human" in key])
            for name, own in points.items()
        }
        assert len(set(accuracies.values())) == len(EVERY)
        yield Site(study, points, make_report(study, replace(DEFAULT, resamples=50)), folder)
        transaction.set_rollback(True)


@pytest.fixture(autouse=True)
def own_files(settings: Any, folder: Path) -> None:
    settings.VAR_DIR = folder
    store_files_in(settings, folder)
    settings.JOB_EXECUTOR = "inline"


@pytest.fixture
def ruth(client: Client, site: Site) -> Client:
    client.force_login(make_user("ruth", site.study))
    return client
