"""Rows of models in dot plots."""

from analysis.charts.rows import rows_of
from analysis.data.dataset import ModelName


def test_models_with_the_same_name_keep_rows_of_their_own():
    rows = rows_of([ModelName(name, "Model", "Model") for name in "abc"], ["All judgments"])
    assert len(set(rows.domain)) == len(rows.domain) == 3 + 1 + 2
