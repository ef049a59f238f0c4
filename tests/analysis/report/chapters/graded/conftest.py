"""Graded answers that several chapters are tried on."""

from dataclasses import replace

import pytest

from analysis.data.dataset import SourceData
from analysis.data.graded.tables import GradedData
from tests.analysis.graded_made import make_graded


@pytest.fixture(scope="module")
def graded() -> GradedData:
    return make_graded(n_people=20, n_questions=200, n_templates=20)


@pytest.fixture(scope="module")
def data(small: SourceData, graded: GradedData) -> SourceData:
    return replace(small, graded=graded)
