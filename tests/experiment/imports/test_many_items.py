"""An import of many items: as many queries as for few, whatever was imported before."""

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from benchmarks.imports import write_items
from experiment.imports.read.brainbench import read_published
from experiment.imports.store.published import country_code, import_published
from experiment.models import Item


@pytest.mark.django_db
def test_many_items_take_no_more_queries_than_few(tmp_path):
    queries = []
    for n in (8, 30):  # each in one INSERT, also where a statement takes few values
        write_items(tmp_path / str(n), n)
        data = read_published(tmp_path / str(n), country_code)
        assert not data.problems
        assert sum(item.damage is not None for item in data.items) == 2
        with transaction.atomic():
            for created in (n + 2, 0):  # the damaged ones in two versions
                with CaptureQueriesContext(connection) as asked:
                    done = import_published(data, "many", Item.Texts.REPAIRED)
                assert done.created.items == created
                queries.append(len(asked))
            transaction.set_rollback(True)
    assert queries[:2] == queries[2:]
